//! What the fuzz targets share: rules of every kind from a few bytes.

use reversi_rules::{BlockedSetup, Board, Objective, Opening, Rules, Setup};

/// The claims of a setup, as a fuzzer can make them up.
pub type Claims = (u8, u8, u8, u8, u8, bool, Option<BlockedClaims>);

/// The claims of blocked squares.
pub type BlockedClaims = (Option<u32>, Option<u64>, Vec<String>, Option<String>);

/// The setup of some claims; most of its numbers are in or near their range.
pub fn setup((board, players, objective, opening, corners, multicolor, blocked): Claims) -> Setup {
    Setup {
        board: Board::ALL[usize::from(board) % 5],
        players: u32::from(players % 6),
        objective: Objective::ALL[usize::from(objective) % 2],
        opening: Opening::from_number(opening % 4),
        handicap_corners: u32::from(corners % 6),
        multicolor,
        blocked: blocked.map(|(count, seed, squares, layout_id)| BlockedSetup {
            count,
            seed,
            squares,
            layout_id,
        }),
    }
}

/// The rules of some claims, drawn blocked squares included; the plain game when the claims are
/// faulty.
pub fn rules(claims: Claims) -> Rules {
    let Ok(checked) = setup(claims).check() else { return Rules::default() };
    let layout = checked.draw(0);
    checked.complete(layout).unwrap_or_default()
}
