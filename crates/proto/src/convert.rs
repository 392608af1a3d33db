//! From the contract's messages to the rules types. What a caller may claim is taken over as a claim, with every unknown
//! number named; what a server said is rebuilt, to be checked.

use reversi_rules::{
    BlockedSetup, Board, Change, Color, Fault, NewSeat, Objective, Opening, Rules, Setup, Square,
};

use crate::v1;

/// A board by its number; unspecified is the default.
pub fn board(number: i32) -> Option<Board> {
    match number {
        0 => Some(Board::default()),
        _ => Board::from_number(u8::try_from(number).ok()?),
    }
}

/// A player's colour by its number; `Some(None)` is unspecified. Neutral is no player's colour.
pub fn color(number: i32) -> Option<Option<Color>> {
    match number {
        0 => Some(None),
        _ => Some(Some(Color::from_number(u8::try_from(number).ok()?)?)),
    }
}

/// What a message claims, and a fault for every enum number that is unknown, its default in place. Field paths start
/// within the message.
pub fn setup(rules: &v1::Rules) -> (Setup, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut unknown = |field: &str, number: i32| {
        faults.push(Fault { field: field.into(), problem: format!("has no value {number}") });
    };
    let small = |number: i32| u8::try_from(number).ok();
    let setup = Setup {
        board: board(rules.board).unwrap_or_else(|| {
            unknown("board", rules.board);
            Board::default()
        }),
        players: rules.players,
        objective: match rules.objective {
            0 => Objective::default(),
            number => small(number).and_then(Objective::from_number).unwrap_or_else(|| {
                unknown("objective", number);
                Objective::default()
            }),
        },
        opening: match rules.opening {
            0 => None,
            number => {
                let opening = small(number).and_then(Opening::from_number);
                if opening.is_none() {
                    unknown("opening", number);
                }
                opening
            }
        },
        handicap_corners: rules.handicap_corners,
        multicolor: rules.multicolor,
        blocked: rules.blocked_squares.as_ref().map(|blocked| BlockedSetup {
            count: blocked.count,
            seed: blocked.seed,
            squares: blocked.squares.clone(),
            layout_id: Some(&blocked.layout_id).filter(|id| !id.is_empty()).cloned(),
        }),
    };
    (setup, faults)
}

/// Complete rules, as a server returns them.
///
/// # Errors
///
/// What is not complete or does not combine.
pub fn rules(message: &v1::Rules) -> Result<Rules, Vec<Fault>> {
    let (setup, faults) = setup(message);
    if !faults.is_empty() {
        return Err(faults);
    }
    setup.check()?.complete(None).map_err(|mismatch| {
        vec![Fault { field: "blocked_squares".into(), problem: mismatch.to_string() }]
    })
}

/// The change that an event tells of, as the rules and the digest see it.
///
/// # Errors
///
/// Which field is missing or unknown.
pub fn change(event: &v1::GameEvent) -> Result<Change, String> {
    use v1::game_event::Change as Wire;
    let player = |number: i32| match color(number) {
        Some(Some(color)) => Ok(color),
        Some(None) | None => Err(format!("color {number} is no player's")),
    };
    match event.change.as_ref().ok_or("the event has no change that is known here")? {
        Wire::Created(created) => {
            let message = created.rules.as_ref().ok_or("the creation has no rules")?;
            Ok(Change::Created {
                game_id: event.game_id.clone(),
                rules: rules(message).map_err(|faults| {
                    let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                    format!("the rules are not sound: {}", faults.join("; "))
                })?,
                seats: created
                    .seats
                    .iter()
                    .map(|seat| NewSeat {
                        claimed: seat.claimed,
                        player_id: seat.player_id.clone(),
                    })
                    .collect(),
            })
        }
        Wire::SeatClaimed(claimed) => Ok(Change::SeatClaimed {
            color: player(claimed.color)?,
            player_id: claimed.player_id.clone(),
        }),
        Wire::MovePlayed(played) => Ok(Change::MovePlayed {
            color: player(played.color)?,
            square: played
                .square
                .parse::<Square>()
                .map_err(|_| format!("{:?} is no square", played.square))?,
        }),
        Wire::Resigned(resigned) => Ok(Change::Resigned { color: player(resigned.color)? }),
        Wire::Aborted(_) => Ok(Change::Aborted),
    }
}
