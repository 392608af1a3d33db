//! A table takes the changes that the contract allows, and refuses the others in the contract's
//! order.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod common;

use common::{Step, any_rules, any_steps, pick, rules, sq, started};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use reversi_rules::{
    Board, Change, Color, ColorSet, Game, NewSeat, Position, Reason, Refusal, Rules, Status,
    Version, Why,
};

fn create(rules: &Rules, claimed: &[bool]) -> Game {
    Game::create(&created(rules, claimed)).unwrap()
}

fn created(rules: &Rules, claimed: &[bool]) -> Change {
    let seat = |claimed: &bool| NewSeat { claimed: *claimed, player_id: String::new() };
    let seats = claimed.iter().map(seat).collect();
    Change::Created { game_id: "g".into(), rules: *rules, seats }
}

fn claim(color: Color) -> Change {
    Change::SeatClaimed { color, player_id: "p".into() }
}

fn place(color: Color, square: &str) -> Change {
    Change::MovePlayed { color, square: sq(square) }
}

fn resign(color: Color) -> Change {
    Change::Resigned { color }
}

/// The refusal, which changes nothing.
fn refused(game: &Game, change: &Change) -> Refusal {
    let mut tried = game.clone();
    let refusal = tried.apply(change).expect_err("a refusal");
    assert_eq!(tried, *game);
    refusal
}

#[test]
fn a_game_waits_for_its_last_seat_and_then_starts() {
    let mut game = create(&Rules::default(), &[false, false]);
    assert_eq!(game.status(), Status::WaitingForPlayers);
    assert_eq!(game.next_open_seat(), Some(Color::Black));
    game.apply(&claim(Color::White)).unwrap();
    assert_eq!(game.status(), Status::WaitingForPlayers);
    game.apply(&claim(Color::Black)).unwrap();
    assert_eq!(game.status(), Status::InProgress);
    assert_eq!(game.version().revision, 3);
    assert!(game.seats().all(|seat| seat.claimed && !seat.resigned));
    assert_eq!(create(&Rules::default(), &[true, true]).status(), Status::InProgress);
}

#[test]
fn only_a_creation_with_a_seat_for_each_player_begins_a_history() {
    for change in [
        Change::Aborted,
        created(&Rules::default(), &[true]),
        created(&Rules::default(), &[true, true, true]),
        Change::Created {
            game_id: "g".repeat(65),
            rules: Rules::default(),
            seats: vec![NewSeat::default(); 2],
        },
    ] {
        assert!(matches!(Game::create(&change), Err(Refusal::Malformed(_))), "{change:?}");
    }
    let game = started(&Rules::default());
    let again = created(&Rules::default(), &[true, true]);
    assert!(matches!(refused(&game, &again), Refusal::Malformed(_)));
    let long = Change::SeatClaimed { color: Color::Black, player_id: "p".repeat(65) };
    assert!(matches!(refused(&game, &long), Refusal::Malformed(_)));
}

#[test]
fn claims_are_refused_in_the_order_of_the_contract() {
    let open = create(&Rules::default(), &[true, false]);
    assert_eq!(refused(&open, &claim(Color::Red)), Refusal::NoSuchColor(Color::Red));
    assert_eq!(refused(&open, &claim(Color::Black)), Refusal::SeatTaken(Color::Black));

    let mut full = started(&Rules::default());
    assert_eq!(refused(&full, &claim(Color::Green)), Refusal::NoSuchColor(Color::Green));
    assert_eq!(refused(&full, &claim(Color::Black)), Refusal::NoOpenSeat);
    full.apply(&Change::Aborted).unwrap();
    assert_eq!(refused(&full, &claim(Color::Black)), Refusal::NoOpenSeat);

    let mut aborted = open;
    aborted.apply(&Change::Aborted).unwrap();
    assert_eq!(refused(&aborted, &claim(Color::Black)), Refusal::SeatTaken(Color::Black));
    assert_eq!(refused(&aborted, &claim(Color::White)), Refusal::Finished);
}

#[test]
fn moves_are_refused_in_the_order_of_the_contract() {
    let rules = rules("8x8 players=3 blocked=a1");
    // Each game refuses for one reason more, and every earlier one still comes first.
    let waiting = create(&rules, &[true, false, true]);
    let going = started(&rules);
    let mut resigned = going.clone();
    resigned.apply(&resign(Color::White)).unwrap();
    let mut over = resigned.clone();
    over.apply(&resign(Color::Black)).unwrap();
    for game in [&waiting, &going, &resigned, &over] {
        assert_eq!(refused(game, &place(Color::Green, "j9")), Refusal::NoSuchColor(Color::Green));
        assert_eq!(refused(game, &place(Color::Red, "i1")), Refusal::SquareOffBoard(sq("i1")));
        assert_eq!(refused(game, &place(Color::Red, "a1")), Refusal::SquareBlocked(sq("a1")));
    }
    assert_eq!(refused(&waiting, &place(Color::Red, "d4")), Refusal::NotStarted);
    assert_eq!(refused(&over, &place(Color::White, "d4")), Refusal::Finished);
    assert_eq!(refused(&resigned, &place(Color::White, "d4")), Refusal::SeatResigned(Color::White));
    assert_eq!(
        refused(&resigned, &place(Color::Red, "d4")),
        Refusal::NotYourTurn { to_move: Color::Black }
    );
    assert_eq!(
        refused(&going, &place(Color::Black, "d4")),
        Refusal::IllegalMove { why: Why::Occupied, legal: going.position().legal_moves() }
    );
}

#[test]
fn resignations_are_refused_in_the_order_of_the_contract() {
    let rules = rules("8x8 players=3");
    let waiting = create(&rules, &[true, false, true]);
    assert_eq!(refused(&waiting, &resign(Color::Green)), Refusal::NoSuchColor(Color::Green));
    assert_eq!(refused(&waiting, &resign(Color::Black)), Refusal::NotStarted);
    let mut game = started(&rules);
    game.apply(&resign(Color::Red)).unwrap();
    assert_eq!(refused(&game, &resign(Color::Red)), Refusal::SeatResigned(Color::Red));
    assert!(game.seats().all(|seat| seat.resigned == (seat.color == Color::Red)));
    game.apply(&resign(Color::White)).unwrap();
    assert_eq!(refused(&game, &resign(Color::Red)), Refusal::Finished);
    assert_eq!(game.status(), Status::Finished);
    assert_eq!(game.outcome().unwrap().reason, Reason::Resignation);
}

#[test]
fn a_game_is_aborted_while_it_waits_and_while_it_is_played_and_never_after() {
    for mut game in [create(&Rules::default(), &[true, false]), started(&Rules::default())] {
        game.apply(&Change::Aborted).unwrap();
        assert_eq!(game.status(), Status::Finished);
        let outcome = game.outcome().unwrap();
        assert!(outcome.winners.is_empty() && !outcome.draw);
        assert_eq!(outcome.reason, Reason::Aborted);
        assert_eq!(outcome.counts, game.position().counts());
        assert_eq!(refused(&game, &Change::Aborted), Refusal::Finished);
        assert_eq!(refused(&game, &place(Color::Black, "d3")), Refusal::Finished);
        assert_eq!(refused(&game, &resign(Color::Black)), Refusal::Finished);
    }
}

#[test]
fn stored_parts_that_do_not_go_together_are_refused() {
    let mut game = started(&Rules::default());
    game.apply(&place(Color::Black, "d3")).unwrap();
    let (both, version) = (game.claimed(), game.version());
    let parts = |claimed: ColorSet, position: &Position, aborted, version| {
        Game::from_parts(claimed, position.clone(), aborted, version)
    };
    let now = game.position();
    assert_eq!(parts(both, now, false, version).as_ref(), Ok(&game));
    let black = ColorSet::from_iter([Color::Black]);
    let red = ColorSet::from_iter([Color::Black, Color::White, Color::Red]);
    assert!(parts(black, now, false, version).is_err(), "played with a seat open");
    assert!(parts(red, now, false, version).is_err(), "a seat too many");
    assert!(parts(both, now, false, Version::ZERO).is_err(), "no history");
    assert!(parts(both, now, false, Version { digest: 0, ..version }).is_err(), "no digest");
    assert!(parts(both, now, false, Version { revision: 1, ..version }).is_err(), "too short");
    assert!(parts(both, now, false, Version { revision: 5, ..version }).is_err(), "too long");
    let mut over = now.clone();
    over.resign(Color::Black).unwrap();
    let aborted = Version { revision: 4, ..version };
    assert!(parts(both, &over, true, aborted).is_err(), "aborted after the end");
}

/// Any change at all, few of them possible at a given time.
fn any_change() -> impl Strategy<Value = Change> {
    let color = || select(&Color::ALL[..]);
    let square = select(Board::B10x10.playable().iter().collect::<Vec<_>>());
    prop_oneof![
        2 => color().prop_map(claim),
        12 => (color(), square).prop_map(|(color, square)| Change::MovePlayed { color, square }),
        1 => color().prop_map(resign),
        1 => Just(Change::Aborted),
        1 => Just(created(&Rules::default(), &[true, true])),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 50 } else { 1000 }))]

    #[test]
    fn a_history_folds_to_its_game_and_the_stored_parts_give_it_back(
        rules in any_rules(),
        open in any::<u8>(),
        steps in any_steps(),
        abort_at in 0usize..200,
    ) {
        let claimed = |color: Color| open >> color.number() & 1 == 0;
        let claimed: Vec<bool> = rules.colors().map(claimed).collect();
        let mut game = create(&rules, &claimed);
        let mut history = vec![created(&rules, &claimed)];
        let mut position = Position::start(&rules);
        while let Some(color) = game.next_open_seat() {
            game.apply(&claim(color)).unwrap();
            history.push(claim(color));
        }
        for (at, step) in steps.iter().enumerate() {
            let change = match (step, position.to_move()) {
                _ if at == abort_at => Change::Aborted,
                (Step::Resign(color), _) => resign(*color),
                (Step::Move(index), Some(color)) => {
                    Change::MovePlayed { color, square: pick(&position, index).unwrap() }
                }
                (Step::Move(_), None) => Change::Aborted,
            };
            let applied = match game.apply(&change) {
                Ok(applied) => applied,
                Err(_) if game.status() == Status::Finished => break,
                Err(refusal) => {
                    prop_assert!(matches!(step, Step::Resign(_)), "{refusal}");
                    continue;
                }
            };
            match change {
                Change::MovePlayed { square, .. } => {
                    prop_assert_eq!(applied.played, Some(position.play(square).unwrap()));
                }
                Change::Resigned { color } => position.resign(color).unwrap(),
                _ => {}
            }
            history.push(change);
            prop_assert_eq!(game.position(), &position);
            let again =
                Game::from_parts(game.claimed(), position.clone(), game.aborted(), game.version());
            prop_assert_eq!(again.as_ref(), Ok(&game));
        }
        prop_assert_eq!(game.status(), Status::Finished);

        let mut replayed = Game::create(&history[0]).unwrap();
        for change in &history[1..] {
            replayed.apply(change).unwrap();
        }
        prop_assert_eq!(&replayed, &game);
        let version = history.iter().fold(Version::ZERO, |version, change| version.next(change));
        prop_assert_eq!(game.version(), version);
        prop_assert_eq!(version.revision, history.len() as u64);
    }

    #[test]
    fn any_changes_are_taken_or_refused_and_a_refused_one_changes_nothing(
        rules in any_rules(),
        open in any::<u8>(),
        changes in vec(any_change(), 0..150),
    ) {
        let claimed = |color: Color| open >> color.number() & 1 == 0;
        let claimed: Vec<bool> = rules.colors().map(claimed).collect();
        let mut game = create(&rules, &claimed);
        for change in &changes {
            let before = game.clone();
            match game.apply(change) {
                Ok(_) => prop_assert_eq!(game.version(), before.version().next(change)),
                Err(refusal) => {
                    prop_assert_eq!(&game, &before);
                    if let Refusal::IllegalMove { legal, .. } = refusal {
                        prop_assert_eq!(legal, game.position().legal_moves());
                    }
                }
            }
            let position = Position::from_bytes(&rules, &game.position().to_bytes()).unwrap();
            let again =
                Game::from_parts(game.claimed(), position, game.aborted(), game.version());
            prop_assert_eq!(again.as_ref(), Ok(&game));
            prop_assert_eq!(game.outcome().is_some(), game.status() == Status::Finished);
        }
    }
}
