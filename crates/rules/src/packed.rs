//! The crate's byte forms: the position's own, and what all share.
//!
//! Each form begins with a version byte. Bytes outlive releases: a new form gets a new version, and
//! the old one stays readable. For every value there is exactly one encoding, and decoding refuses
//! any other.

use std::fmt;

use crate::{Cell, Color, ColorSet, Fault, Position, Rules, Square, SquareSet};

/// The version byte with which every form begins today.
pub(crate) const VERSION: u8 = 1;

/// Bytes that are no encoding of what they should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The version byte is of no form that this release knows.
    Version(u8),
    /// Too short, too long, or holding a value that no encoding holds.
    Malformed,
    /// Well-formed, but what it says breaks the rules.
    Faults(Vec<Fault>),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "unknown version {version}"),
            Self::Malformed => f.write_str("malformed bytes"),
            Self::Faults(faults) => {
                for (index, fault) in faults.iter().enumerate() {
                    write!(f, "{}{fault}", if index == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<Vec<Fault>> for DecodeError {
    fn from(faults: Vec<Fault>) -> Self {
        Self::Faults(faults)
    }
}

/// A cursor over an encoding.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts after the version byte, which must be known.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes {
            [VERSION, rest @ ..] => Ok(Self(rest)),
            [version, ..] => Err(DecodeError::Version(*version)),
            [] => Err(DecodeError::Malformed),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.0.split_first().ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(DecodeError::Malformed)?;
        self.0 = rest;
        Ok(u64::from_be_bytes(*first))
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DecodeError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(DecodeError::Malformed),
        }
    }

    pub(crate) fn square(&mut self) -> Result<Square, DecodeError> {
        let (file, rank) = (self.u8()?, self.u8()?);
        Square::new(file, rank).ok_or(DecodeError::Malformed)
    }

    /// A value by its number, such as `Board::from_number`.
    pub(crate) fn number<T>(&mut self, from: impl Fn(u8) -> Option<T>) -> Result<T, DecodeError> {
        from(self.u8()?).ok_or(DecodeError::Malformed)
    }

    /// Refuses bytes left over.
    pub(crate) fn end(self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(DecodeError::Malformed) }
    }
}

/// Writes a square as two bytes: file, then rank, from 0.
pub(crate) fn put_square(bytes: &mut Vec<u8>, square: Square) {
    bytes.extend([square.file(), square.rank()]);
}

impl Position {
    /// The stored form, without the rules: a version byte, the number of the colour to move (0:
    /// nobody), a bit for each colour that resigned (1 for black, 2, 4, 8), then the playable
    /// squares row by row, three a byte in base six (0 empty, 1 to 4 a colour's number, 5 neutral;
    /// the first weighs most). At most 37 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let to_move = self.to_move().map_or(0, Color::number);
        let mut bytes = vec![VERSION, to_move, self.resigned().bits()];
        let mut digits =
            self.rules().board().playable().iter().map(|square| match self.cell(square) {
                Cell::Disc(color) => color.number(),
                Cell::Neutral => 5,
                Cell::Empty | Cell::Blocked | Cell::Outside => 0,
            });
        while let Some(first) = digits.next() {
            let mut next = || digits.next().unwrap_or(0);
            bytes.push(first * 36 + next() * 6 + next());
        }
        bytes
    }

    /// Reads what [`Position::to_bytes`] wrote of a position by these rules.
    ///
    /// # Errors
    ///
    /// Any other bytes; where they are well-formed but break the rules, every fault.
    pub fn from_bytes(rules: &Rules, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes)?;
        let to_move = match reader.u8()? {
            0 => None,
            number => Some(Color::from_number(number).ok_or(DecodeError::Malformed)?),
        };
        let resigned = reader.number(ColorSet::from_bits)?;
        let start = Self::start(rules);
        let mut discs = [SquareSet::EMPTY; 5];
        let mut squares = rules.board().playable().iter();
        while squares.len() > 0 {
            let byte = reader.u8()?;
            for digit in [byte / 36, byte / 6 % 6, byte % 6] {
                let square = squares.next();
                match (digit, square) {
                    (0, _) => {}
                    (1..=5, Some(square)) if start.cell(square) != Cell::Blocked => {
                        discs[usize::from(digit) - 1].insert(square);
                    }
                    _ => return Err(DecodeError::Malformed),
                }
            }
        }
        reader.end()?;
        Ok(Self::claimed(rules, discs, to_move, resigned, None)?)
    }
}
