//! Where a disc outflanks and what it flips, on plain sets of squares.
//!
//! Nothing here knows of boards, turns or colours: `own` are the mover's discs and `others`
//! everyone else's, neutral ones included. Squares that are blocked or outside are in no set, so
//! every line stops there.

use crate::square::PITCH;
use crate::{Square, SquareSet};

/// Steps to the next square in the four directions of growing bits; the other four are their
/// inverses.
const STEPS: [u32; 4] = [1, PITCH as u32 - 1, PITCH as u32, PITCH as u32 + 1];

/// The empty squares from which a disc would outflank at least one line of others.
pub(crate) fn outflanking(own: SquareSet, others: SquareSet, empty: SquareSet) -> SquareSet {
    let (own, others) = (own.0, others.0);
    let mut found = 0;
    for step in STEPS {
        // A line holds at most eight discs between two squares of a row of ten: one step, doubled
        // once, then three times two more.
        let mut up = others & (own << step);
        let mut down = others & (own >> step);
        up |= others & (up << step);
        down |= others & (down >> step);
        let pairs = others & (others << step);
        let (two_up, two_down) = (pairs, pairs >> step);
        for _ in 0..3 {
            up |= two_up & (up << (2 * step));
            down |= two_down & (down >> (2 * step));
        }
        found |= (up << step) | (down >> step);
    }
    SquareSet(found) & empty
}

/// The discs that a disc of `own` placed on the square would flip: every outflanked line.
pub(crate) fn flips(own: SquareSet, others: SquareSet, square: Square) -> SquareSet {
    let mut flips = 0;
    for step in STEPS {
        flips |= line(own.0, others.0, square.bit(), |bit| bit << step);
        flips |= line(own.0, others.0, square.bit(), |bit| bit >> step);
    }
    SquareSet(flips)
}

/// The discs outflanked along one direction.
fn line(own: u128, others: u128, from: u128, next: impl Fn(u128) -> u128) -> u128 {
    let mut outflanked = 0;
    let mut bit = next(from);
    while bit & others != 0 {
        outflanked |= bit;
        bit = next(bit);
    }
    if bit & own != 0 { outflanked } else { 0 }
}

/// The empty squares that touch a disc, by a side or a corner.
pub(crate) fn touching(discs: SquareSet, empty: SquareSet) -> SquareSet {
    let across = discs.0 | discs.0 << 1 | discs.0 >> 1;
    SquareSet(across | across << PITCH | across >> PITCH) & empty
}
