//! The macro behind the crate's small vocabularies: enums whose members have a stable number and a
//! name.

use std::fmt;

/// A name that is none of a vocabulary's.
///
/// ```
/// use reversi_rules::Board;
/// let error = "9x9".parse::<Board>().unwrap_err();
/// assert_eq!(error.to_string(), "unknown board, one of: 6x6, 8x8, 10x10, octagon, cross-board");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName {
    /// What was to be named, such as `board`.
    pub what: &'static str,
    /// The names there are.
    pub names: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}, one of: {}", self.what, self.names.join(", "))
    }
}

impl std::error::Error for UnknownName {}

/// Gives an enum with discriminants `ALL`, `number`, `from_number`, `name`, `Display` and
/// `FromStr`. Names are read case-insensitively, aliases too, and written as they stand.
macro_rules! vocabulary {
    (
        $type:ident, $what:literal,
        $($variant:ident => $name:literal $(| $alias:literal)*),+ $(,)?
    ) => {
        impl $type {
            /// Every one of them, in the order of their numbers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            const NAMES: &'static [&'static str] = &[$($name),+];

            /// The stable number, from 1; stored and hashed, so it never changes.
            pub const fn number(self) -> u8 {
                self as u8
            }

            /// The one with this number, if there is one.
            pub fn from_number(number: u8) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.number() == number)
            }

            /// The name, in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::names::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(
                    if [$name $(, $alias)*].iter().any(|name| name.eq_ignore_ascii_case(text)) {
                        return Ok(Self::$variant);
                    }
                )+
                Err($crate::names::UnknownName { what: $what, names: Self::NAMES })
            }
        }
    };
}

pub(crate) use vocabulary;
