//! The players' colours, sets of them, and what a square can hold.

use std::fmt;

use crate::names::vocabulary;

/// A player's colour. The order is the turn order.
///
/// ```
/// use reversi_rules::Color;
/// assert_eq!(Color::ALL.map(Color::letter), ['B', 'W', 'R', 'G']);
/// assert_eq!("white".parse(), Ok(Color::White));
/// assert_eq!("w".parse(), Ok(Color::White));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Color {
    Black = 1,
    White = 2,
    Red = 3,
    Green = 4,
}

vocabulary!(Color, "colour",
    Black => "black" | "b",
    White => "white" | "w",
    Red => "red" | "r",
    Green => "green" | "g",
);

impl Color {
    /// The letter in a board's text: `B`, `W`, `R` or `G`.
    pub const fn letter(self) -> char {
        match self {
            Self::Black => 'B',
            Self::White => 'W',
            Self::Red => 'R',
            Self::Green => 'G',
        }
    }

    /// The colour of this letter, which is upper case.
    pub(crate) fn from_letter(letter: char) -> Option<Self> {
        Self::ALL.into_iter().find(|color| color.letter() == letter)
    }

    pub(crate) const fn index(self) -> usize {
        self as usize - 1
    }
}

/// A set of colours.
///
/// ```
/// use reversi_rules::{Color, ColorSet};
/// let set: ColorSet = [Color::Red, Color::Black].into_iter().collect();
/// assert!(set.contains(Color::Red));
/// assert_eq!(set.iter().collect::<Vec<_>>(), [Color::Black, Color::Red]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ColorSet(u8);

impl ColorSet {
    /// The set of no colour.
    pub const EMPTY: Self = Self(0);

    /// The first `players` colours in turn order.
    pub(crate) const fn of_players(players: u8) -> Self {
        Self(((1u16 << players) - 1) as u8)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) fn from_bits(bits: u8) -> Option<Self> {
        (bits < 16).then_some(Self(bits))
    }

    /// Adds a colour; says whether it is new.
    pub fn insert(&mut self, color: Color) -> bool {
        let new = !self.contains(color);
        self.0 |= 1 << color.index();
        new
    }

    /// Whether the colour is in the set.
    pub const fn contains(self, color: Color) -> bool {
        self.0 & (1 << color.index()) != 0
    }

    /// How many colours, 0 to 4.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The colours that are here but not there.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The colours in turn order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Color> + Clone {
        Color::ALL.into_iter().filter(move |color| self.contains(*color))
    }
}

impl FromIterator<Color> for ColorSet {
    fn from_iter<I: IntoIterator<Item = Color>>(colors: I) -> Self {
        let mut set = Self::EMPTY;
        for color in colors {
            set.insert(color);
        }
        set
    }
}

impl fmt::Debug for ColorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// What a square holds.
///
/// ```
/// use reversi_rules::{Cell, Color};
/// assert_eq!(Cell::Disc(Color::Green).character(), 'G');
/// assert_eq!(Cell::from_character('#'), Some(Cell::Blocked));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// Nothing, and a disc may come.
    Empty,
    /// A player's disc.
    Disc(Color),
    /// A disc that is nobody's.
    Neutral,
    /// Nothing, and no disc may come.
    Blocked,
    /// No square of this board.
    Outside,
}

impl Cell {
    /// The character in a board's text: `-`, `B W R G`, `N`, `#` or `_`.
    pub const fn character(self) -> char {
        match self {
            Self::Empty => '-',
            Self::Disc(color) => color.letter(),
            Self::Neutral => 'N',
            Self::Blocked => '#',
            Self::Outside => '_',
        }
    }

    /// What the character of a board's text stands for.
    pub fn from_character(character: char) -> Option<Self> {
        Some(match character {
            '-' => Self::Empty,
            'N' => Self::Neutral,
            '#' => Self::Blocked,
            '_' => Self::Outside,
            letter => Self::Disc(Color::from_letter(letter)?),
        })
    }
}
