//! Sets of squares, as bits of one number.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub, SubAssign};

use crate::Square;

/// A set of squares. `|`, `&` and `-` are union, intersection and difference.
///
/// ```
/// use reversi_rules::{Board, SquareSet};
/// let ring = Board::B8x8.central_area() - Board::B8x8.centre().into_iter().collect::<SquareSet>();
/// assert_eq!(ring.len(), 12);
/// assert_eq!(ring.iter().next().unwrap().to_string(), "c3");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SquareSet(pub(crate) u128);

impl SquareSet {
    /// The set of no square.
    pub const EMPTY: Self = Self(0);

    /// The squares of a rectangle.
    pub(crate) const fn rectangle(file: u8, rank: u8, width: u8, height: u8) -> Self {
        let mut bits = 0;
        let mut y = rank;
        while y < rank + height {
            let mut x = file;
            while x < file + width {
                bits |= Square::at(x, y).bit();
                x += 1;
            }
            y += 1;
        }
        Self(bits)
    }

    pub(crate) const fn of(square: Square) -> Self {
        Self(square.bit())
    }

    /// Whether the square is in the set.
    pub const fn contains(self, square: Square) -> bool {
        self.0 & square.bit() != 0
    }

    /// Adds a square; says whether it is new.
    pub fn insert(&mut self, square: Square) -> bool {
        let new = !self.contains(square);
        self.0 |= square.bit();
        new
    }

    /// Takes a square out; says whether it was there.
    pub fn remove(&mut self, square: Square) -> bool {
        let there = self.contains(square);
        self.0 &= !square.bit();
        there
    }

    /// How many squares.
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The squares row by row from the top, left to right.
    pub fn iter(self) -> Squares {
        Squares(self.0)
    }
}

/// The squares of a set, row by row from the top, left to right.
#[derive(Clone, Debug)]
pub struct Squares(u128);

impl Iterator for Squares {
    type Item = Square;

    fn next(&mut self) -> Option<Square> {
        if self.0 == 0 {
            return None;
        }
        let square = Square::of_lowest_bit(self.0);
        self.0 &= self.0 - 1;
        Some(square)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Squares {}

impl IntoIterator for SquareSet {
    type Item = Square;
    type IntoIter = Squares;

    fn into_iter(self) -> Squares {
        self.iter()
    }
}

impl FromIterator<Square> for SquareSet {
    fn from_iter<I: IntoIterator<Item = Square>>(squares: I) -> Self {
        Self(squares.into_iter().fold(0, |bits, square| bits | square.bit()))
    }
}

impl BitOr for SquareSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for SquareSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for SquareSet {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitAndAssign for SquareSet {
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl Sub for SquareSet {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl SubAssign for SquareSet {
    fn sub_assign(&mut self, other: Self) {
        self.0 &= !other.0;
    }
}

impl fmt::Debug for SquareSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
