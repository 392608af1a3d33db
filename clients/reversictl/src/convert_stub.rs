//! TEMPORARY.
use reversi_proto::v1;
use reversi_rules::*;

pub fn setup(rules: &v1::Rules) -> Result<Setup, String> {
    let n = |x: i32| u8::try_from(x).unwrap_or(255);
    let blocked = rules.blocked_squares.as_ref().map(|b| BlockedSetup {
        count: b.count,
        seed: b.seed,
        squares: b.squares.clone(),
        layout_id: (!b.layout_id.is_empty()).then(|| b.layout_id.clone()),
    });
    Ok(Setup {
        board: Board::from_number(n(rules.board)).unwrap_or_default(),
        players: rules.players,
        objective: Objective::from_number(n(rules.objective)).unwrap_or_default(),
        opening: match rules.opening {
            0 => None,
            o => Some(Opening::from_number(n(o)).ok_or("opening")?),
        },
        handicap_corners: rules.handicap_corners,
        multicolor: rules.multicolor,
        blocked,
    })
}

pub fn rules(rules: &Rules) -> v1::Rules {
    let s = rules.to_setup();
    v1::Rules {
        board: s.board.number().into(),
        players: s.players,
        objective: s.objective.number().into(),
        opening: s.opening.map_or(0, |o| o.number().into()),
        handicap_corners: s.handicap_corners,
        multicolor: s.multicolor,
        blocked_squares: s.blocked.map(|b| v1::BlockedSquares {
            count: b.count,
            seed: b.seed,
            squares: b.squares,
            layout_id: b.layout_id.unwrap_or_default(),
        }),
    }
}

pub fn layout(l: &Layout) -> v1::Layout {
    v1::Layout {
        layout_id: l.id(),
        board: l.board().number().into(),
        handicap_corners: l.handicap_corners().into(),
        count: l.count().into(),
        seed: l.seed(),
        algorithm: l.seed().map_or(0, |_| 1),
        squares: l.squares().iter().map(ToString::to_string).collect(),
    }
}

pub fn counts(position: &Position) -> Vec<v1::DiscCount> {
    position
        .rules()
        .colors()
        .map(|c| v1::DiscCount { color: c.number().into(), discs: position.count(c) })
        .collect()
}

pub fn position(game: &Game) -> v1::Position {
    let p = game.position();
    let over = game.status() == Status::Finished;
    v1::Position {
        board: p.board_text(),
        ply: p.ply(),
        to_move: if over { 0 } else { p.to_move().map_or(0, |c| c.number().into()) },
        legal_moves: if over { vec![] } else { squares(p.legal_moves()) },
        move_kind: if over { 0 } else { p.move_kind().map_or(0, |k| k.number().into()) },
        counts: counts(p),
    }
}

pub fn squares(set: SquareSet) -> Vec<String> {
    set.iter().map(|s| s.to_string()).collect()
}

pub fn outcome(game: &Game) -> Option<v1::Outcome> {
    game.outcome().map(|o| v1::Outcome {
        winners: o.winners.iter().map(|c| c.number().into()).collect(),
        draw: o.draw,
        reason: o.reason.number().into(),
        counts: counts(game.position()),
    })
}

pub fn color(n: i32) -> Option<Color> {
    u8::try_from(n).ok().and_then(Color::from_number)
}

pub fn move_played(p: &Played) -> v1::MovePlayed {
    v1::MovePlayed {
        color: p.color.number().into(),
        square: p.square.to_string(),
        kind: p.kind.number().into(),
        flips: squares(p.flips),
        passed: p.passed.iter().map(|c| c.number().into()).collect(),
    }
}
