//! Squares and their names.

use std::fmt;
use std::str::FromStr;

/// Bits from one row to the next: ten files and one that is always empty, so that a step off either
/// side of the board never lands on it.
pub(crate) const PITCH: u8 = 11;

/// Files, and ranks, of the largest board.
pub(crate) const SIDE: u8 = 10;

/// A square of the largest board, whether or not a given board has it.
///
/// Files are letters from the left, ranks numbers from the top. The order is row by row from the
/// top, left to right. Names are read case-insensitively and written in lower case.
///
/// ```
/// use reversi_rules::Square;
/// let square: Square = "D3".parse()?;
/// assert_eq!((square.file(), square.rank()), (3, 2));
/// assert_eq!(square.to_string(), "d3");
/// assert!("k1".parse::<Square>().is_err());
/// # Ok::<(), reversi_rules::ParseSquareError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Square(u8);

impl Square {
    /// The square at this file and rank, both from 0 to 9.
    pub const fn new(file: u8, rank: u8) -> Option<Self> {
        if file < SIDE && rank < SIDE { Some(Self(rank * PITCH + file)) } else { None }
    }

    /// As [`Square::new`], for constants; a square that does not exist does not compile.
    pub(crate) const fn at(file: u8, rank: u8) -> Self {
        assert!(file < SIDE && rank < SIDE);
        Self(rank * PITCH + file)
    }

    /// The file, 0 at the left.
    pub const fn file(self) -> u8 {
        self.0 % PITCH
    }

    /// The rank, 0 at the top.
    pub const fn rank(self) -> u8 {
        self.0 / PITCH
    }

    pub(crate) const fn bit(self) -> u128 {
        1 << self.0
    }

    /// The square of the lowest bit, which must be one of a square.
    pub(crate) const fn of_lowest_bit(bits: u128) -> Self {
        Self(bits.trailing_zeros() as u8)
    }
}

impl fmt::Display for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", char::from(b'a' + self.file()), self.rank() + 1)
    }
}

impl fmt::Debug for Square {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is no square's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseSquareError;

impl fmt::Display for ParseSquareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a square: a file from a to j, then a rank from 1 to 10")
    }
}

impl std::error::Error for ParseSquareError {}

impl FromStr for Square {
    type Err = ParseSquareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::parse_prefix(text.as_bytes()) {
            Some((square, length)) if length == text.len() => Ok(square),
            _ => Err(ParseSquareError),
        }
    }
}

impl Square {
    /// The square that the text begins with, the longest such, and how many bytes name it.
    pub(crate) fn parse_prefix(text: &[u8]) -> Option<(Self, usize)> {
        let file = text.first()?.to_ascii_lowercase().wrapping_sub(b'a');
        let (rank, length) = match text.get(1..)? {
            [b'1', b'0', ..] => (9, 3),
            [digit @ b'1'..=b'9', ..] => (digit - b'1', 2),
            _ => return None,
        };
        Some((Self::new(file, rank)?, length))
    }
}
