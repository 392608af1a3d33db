//! A table that is offered any changes takes the legal ones, refuses the others unchanged, and can
//! be stored at any time.
#![no_main]

use libfuzzer_sys::fuzz_target;
use reversi_fuzz::{Claims, rules};
use reversi_rules::{Change, Color, Game, Position, NewSeat, Square};

fuzz_target!(|input: (Claims, u8, Vec<(u8, u8)>)| {
    let (claims, open, changes) = input;
    let rules = rules(claims);
    let seats = rules
        .colors()
        .map(|color| NewSeat { claimed: open >> color.number() & 1 == 0, player_id: String::new() });
    let created = Change::Created { game_id: String::new(), rules, seats: seats.collect() };
    let mut game = Game::create(&created).expect("a seat for each player");
    for (kind, value) in changes {
        let before = game.clone();
        let color = Color::ALL[usize::from(value) % 4];
        let legal = game.position().legal_moves();
        let change = match kind {
            250.. => Change::Aborted,
            240.. => Change::Resigned { color },
            230.. => Change::SeatClaimed { color, player_id: String::new() },
            // Any square of any board, by anybody.
            100.. => match Square::new(value / 10, value % 10) {
                Some(square) => {
                    Change::MovePlayed { color: Color::ALL[usize::from(kind) % 4], square }
                }
                None => continue,
            },
            // A legal move.
            _ => match (game.position().to_move(), legal.iter().nth(usize::from(value) % 8)) {
                (Some(color), Some(square)) => Change::MovePlayed { color, square },
                _ => continue,
            },
        };
        match game.apply(&change) {
            Ok(applied) => {
                assert_eq!(game.version().revision, before.version().revision + 1, "{applied:?}")
            }
            Err(_) => assert_eq!(game, before),
        }
        let position = Position::from_bytes(&rules, &game.position().to_bytes());
        let position = position.expect("a position that was reached");
        let stored = Game::from_parts(game.claimed(), position, game.aborted(), game.version());
        assert_eq!(stored.as_ref(), Ok(&game));
    }
    assert!(game.position().ply() <= rules.board().playable().len());
});
