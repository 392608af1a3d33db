//! Rules of every variant, as a client asks for them.

use reversi_proto::v1::{self, Board, Objective, Opening};

/// Each board by each opening, both objectives, every number of players, multicolor, handicaps, blocked squares.
pub fn variants() -> Vec<v1::Rules> {
    let boards =
        [Board::Board6x6, Board::Board8x8, Board::Board10x10, Board::Octagon, Board::Cross];
    let mut variants = Vec::new();
    for board in boards {
        for (opening, objective) in [
            (Opening::Cross, Objective::MostDiscs),
            (Opening::Parallel, Objective::FewestDiscs),
            (Opening::Free, Objective::MostDiscs),
        ] {
            variants.push(v1::Rules {
                board: board.into(),
                opening: opening.into(),
                objective: objective.into(),
                blocked_squares: (opening == Opening::Free)
                    .then(|| v1::BlockedSquares { count: Some(4), ..Default::default() }),
                ..Default::default()
            });
        }
    }
    for board in [Board::Board8x8, Board::Board10x10, Board::Octagon] {
        for players in 2..=4 {
            variants.push(v1::Rules {
                board: board.into(),
                players,
                multicolor: players == 2,
                blocked_squares: (players == 3)
                    .then(|| v1::BlockedSquares { count: Some(2), ..Default::default() }),
                ..Default::default()
            });
        }
    }
    for handicap_corners in 1..=4 {
        variants.push(v1::Rules { handicap_corners, ..Default::default() });
    }
    variants
}
