//! Counting the lines of play, by which programs compare their move generation.

use crate::{Position, Square};

/// How many lines of play of `depth` plies there are. A forced pass is a ply of its own, and a
/// finished game one line at every greater depth.
///
/// ```
/// use reversi_rules::{Position, Rules, perft};
/// assert_eq!(perft(&Position::start(&Rules::default()), 5), 1396);
/// ```
pub fn perft(position: &Position, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let legal = position.legal_moves();
    if legal.is_empty() {
        return 1;
    }
    if depth == 1 {
        return legal.len().into();
    }
    legal.iter().map(|square| perft_after(position, square, depth)).sum()
}

/// [`perft`] for each first move: they add up to it, if `depth` is not 0 and the game is not over.
///
/// ```
/// use reversi_rules::{Position, Rules, perft_divide};
/// let divided: Vec<_> = perft_divide(&Position::start(&Rules::default()), 4).collect();
/// assert_eq!(divided.len(), 4);
/// assert_eq!(divided.iter().map(|(_, lines)| lines).sum::<u64>(), 244);
/// ```
pub fn perft_divide(position: &Position, depth: u32) -> impl Iterator<Item = (Square, u64)> + '_ {
    let legal = position.legal_moves();
    legal.iter().map(move |square| (square, perft_after(position, square, depth)))
}

/// The lines that begin with this legal move.
fn perft_after(position: &Position, square: Square, depth: u32) -> u64 {
    let mut after = position.clone();
    let played = after.play(square).expect("the move is a legal one");
    perft(&after, depth.saturating_sub(1 + played.passed.len() as u32))
}
