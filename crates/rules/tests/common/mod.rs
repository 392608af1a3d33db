//! What the test files share: data files, rules written in a few words, and rules at random.

#![allow(dead_code, reason = "each test file uses a part")]

pub mod reference;

use proptest::collection::{hash_set, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use reversi_rules::{
    BlockedSetup, Board, Change, Color, Game, Layout, NewSeat, Objective, Opening, Position, Rules,
    Setup, Square, SquareSet, Transcript,
};

/// The rows of a data file, comments left out, split at tabs.
pub fn rows(data: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = data.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split('\t').collect())
}

/// The square of this name.
pub fn sq(name: &str) -> Square {
    name.parse().unwrap_or_else(|_| panic!("{name} is no square"))
}

/// The squares of these names, in any separation by blanks.
pub fn squares(names: &str) -> SquareSet {
    names.parse::<Transcript>().expect("squares").0.into_iter().collect()
}

/// Rules in a few words, such as `8x8 free players=3 blocked=a2,g2`, as the data files have them.
pub fn rules(words: &str) -> Rules {
    let mut setup = Setup::default();
    for word in words.split(' ') {
        match word.split_once('=') {
            None if word == "multicolor" => setup.multicolor = true,
            None => match (word.parse(), word.parse(), word.parse()) {
                (Ok(board), _, _) => setup.board = board,
                (_, Ok(opening), _) => setup.opening = Some(opening),
                (_, _, Ok(objective)) => setup.objective = objective,
                _ => panic!("unknown word {word}"),
            },
            Some(("players", number)) => setup.players = number.parse().unwrap(),
            Some(("handicap", number)) => setup.handicap_corners = number.parse().unwrap(),
            Some(("blocked", squares)) => {
                let squares = squares.split(',').map(String::from).collect();
                setup.blocked = Some(BlockedSetup { squares, ..BlockedSetup::default() });
            }
            Some(_) => panic!("unknown word {word}"),
        }
    }
    setup.check().unwrap().complete(None).unwrap()
}

/// Plays a transcript from the start.
pub fn played(rules: &Rules, transcript: &str) -> Position {
    let mut position = Position::start(rules);
    for square in transcript.parse::<Transcript>().unwrap().0 {
        position.play(square).unwrap();
    }
    position
}

/// A game with every seat taken.
pub fn started(rules: &Rules) -> Game {
    let seat = NewSeat { claimed: true, player_id: String::new() };
    let seats = vec![seat; rules.players().into()];
    Game::create(&Change::Created { game_id: "g".into(), rules: *rules, seats }).unwrap()
}

/// Sound rules of every kind.
pub fn any_rules() -> impl Strategy<Value = Rules> {
    let two = (
        select(&Board::ALL[..]),
        select(&Opening::ALL[..]),
        0u8..=4,
        select(&Objective::ALL[..]),
        any_blocked(),
    )
        .prop_map(|(board, opening, handicap, objective, blocked)| {
            let handicap = if board.handicap_corners().is_some() { handicap } else { 0 };
            let opening = Some(opening);
            let handicap_corners = handicap.into();
            let setup = Setup { board, opening, handicap_corners, objective, ..Setup::default() };
            complete(setup, &blocked)
        });
    let many = (
        select(&[Board::B8x8, Board::B10x10, Board::Octagon][..]),
        2u32..=4,
        select(&Objective::ALL[..]),
        any_blocked(),
    )
        .prop_map(|(board, players, objective, blocked)| {
            let setup = Setup { board, players, objective, multicolor: true, ..Setup::default() };
            complete(setup, &blocked)
        });
    prop_oneof![two, many]
}

#[derive(Clone, Debug)]
enum AnyBlocked {
    None,
    Seed(u8, u64),
    Picks(Vec<Index>),
}

fn any_blocked() -> impl Strategy<Value = AnyBlocked> {
    prop_oneof![
        Just(AnyBlocked::None),
        (1u8..=4, any::<u64>()).prop_map(|(count, seed)| AnyBlocked::Seed(count, seed)),
        vec(any::<Index>(), 1..=4).prop_map(AnyBlocked::Picks),
    ]
}

fn complete(setup: Setup, blocked: &AnyBlocked) -> Rules {
    let plain = setup.check().unwrap();
    let handicap = plain.handicap_corners();
    let blocked = match blocked {
        AnyBlocked::None => None,
        AnyBlocked::Seed(count, seed) => Some(BlockedSetup {
            count: Some((*count).into()),
            seed: Some(*seed),
            ..BlockedSetup::default()
        }),
        AnyBlocked::Picks(picks) => {
            // Every free square is a candidate of some draw: a layout of one square that needs no
            // other source.
            let corners = setup.board.handicap_corners().into_iter().flatten();
            let taken: SquareSet = corners.take(handicap.into()).collect();
            let free = setup.board.playable() - setup.board.central_area() - taken;
            let free: Vec<Square> = free.iter().collect();
            let picked: SquareSet = picks.iter().map(|pick| *pick.get(&free)).collect();
            let squares = picked.iter().map(|square| square.to_string()).collect();
            Some(BlockedSetup { squares, ..BlockedSetup::default() })
        }
    };
    Setup { blocked, ..setup }.check().unwrap().complete(None).unwrap()
}

/// What happens next in a random game.
#[derive(Clone, Debug)]
pub enum Step {
    /// One of the legal moves.
    Move(Index),
    /// A player gives up.
    Resign(Color),
}

/// Enough steps for any game, with few resignations or with many.
pub fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let step = |moves| {
        prop_oneof![
            moves => any::<Index>().prop_map(Step::Move),
            1 => select(&Color::ALL[..]).prop_map(Step::Resign),
        ]
    };
    prop_oneof![vec(step(60), 120), vec(step(4), 120)]
}

/// Enough moves for any game, and nobody resigns.
pub fn any_moves() -> impl Strategy<Value = Vec<Index>> {
    vec(any::<Index>(), 100)
}

/// The move that an index picks, if there is one.
pub fn pick(position: &Position, index: &Index) -> Option<Square> {
    let legal: Vec<Square> = position.legal_moves().iter().collect();
    (!legal.is_empty()).then(|| *index.get(&legal))
}

/// Layouts of every kind.
pub fn any_layout() -> impl Strategy<Value = Layout> {
    any_rules().prop_filter_map("no layout", |rules| rules.layout().copied())
}

/// A few distinct squares of the largest board.
pub fn some_squares(count: usize) -> impl Strategy<Value = Vec<Square>> {
    hash_set((0u8..10, 0u8..10), 0..=count).prop_map(|set| {
        set.into_iter().filter_map(|(file, rank)| Square::new(file, rank)).collect()
    })
}
