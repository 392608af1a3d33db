//! Stored bytes last: `form_1.hex` holds what form 1 wrote, a name and the bytes a line, of every kind of entry, record and
//! layout. It is only ever added to; a form that cannot read it, or would write it otherwise, is another form.

use std::{collections::BTreeMap, time::Duration};

use data_encoding::HEXLOWER;
use proptest::{collection::vec, prelude::*, sample::Index};
use reversi_rules::{BlockedSetup, Board, Opening, Setup};

use super::*;
use crate::model::Lifetimes;

const FIXTURES: &str = include_str!("form_1.hex");

const LIFETIMES: Lifetimes =
    Lifetimes { idle: Duration::from_secs(3_000_000), finished: Duration::from_secs(9_000_000) };

/// The committed bytes, by name.
fn fixtures() -> BTreeMap<&'static str, Vec<u8>> {
    let decode = |line: &'static str| {
        let (name, hex) = line.split_once(' ').expect("a name and bytes");
        (name, HEXLOWER.decode(hex.as_bytes()).expect("lower-case hexadecimal digits"))
    };
    FIXTURES.lines().map(decode).collect()
}

fn player(player_id: &str, display_name: &str) -> Player {
    Player { player_id: player_id.into(), display_name: display_name.into() }
}

fn mark(seed: u8) -> RequestMark {
    RequestMark { tag: [seed; 6], command: [!seed; 2] }
}

fn start(setup: Setup, claimed: &[Color], request: Option<RequestMark>) -> Stored {
    let rules = setup.check().expect("sound").complete(None).expect("nothing is left to be drawn");
    let seat = |color: Color| {
        claimed.contains(&color).then(|| (player(&format!("{color}"), ""), TokenHash([1; 16])))
    };
    let creation = Creation {
        game_id: GameId::new("mzxw6ytboi2dcmrtgq3tqojqge"),
        rules,
        seats: rules.colors().map(seat).collect(),
        labels: BTreeMap::new(),
        owner: TokenHash([0xfe; 16]),
        salt: std::array::from_fn(|i| i as u8),
        command: request.map(|mark| [mark.tag[0]; 16]),
    };
    let act = Act::Created(Box::new(creation));
    let record = Record { time: Millis(1_800_000_000_123), request, act };
    Stored { game: Game::created(&record, LIFETIMES).expect("a creation"), history: vec![record] }
}

impl Stored {
    fn then(mut self, request: Option<RequestMark>, act: Act) -> Self {
        let time = self.game.update_time.after(Duration::from_millis(1_500));
        let record = Record { time, request, act };
        self.game.apply(&record, LIFETIMES).expect("the rules allow it");
        self.history.push(record);
        self
    }

    fn claimed(self, color: Color, who: Player, request: Option<RequestMark>) -> Self {
        self.then(request, Act::SeatClaimed { color, player: who, token: TokenHash([2; 16]) })
    }

    /// The first legal move, as often as there is one, at most `moves` times.
    fn played(mut self, moves: usize, request: impl Fn(usize) -> Option<RequestMark>) -> Self {
        for number in 0..moves {
            let position = self.game.table.position();
            let next = position.to_move().zip(position.legal_moves().iter().next());
            let Some((color, square)) = next else { break };
            self = self.then(request(number), Act::MovePlayed { color, square });
        }
        self
    }
}

const TWO: [Color; 2] = [Color::Black, Color::White];

fn none(_: usize) -> Option<RequestMark> {
    None
}

/// A plain game that is played to its end, with or without a request for every move.
fn finished(request: impl Fn(usize) -> Option<RequestMark>) -> Stored {
    start(Setup::default(), &TWO, request(0)).played(100, |number| request(number + 1))
}

fn blocked(squares: &[&str]) -> Option<BlockedSetup> {
    let squares = squares.iter().map(ToString::to_string).collect();
    Some(BlockedSetup { squares, ..BlockedSetup::default() })
}

fn drawn(count: u32, seed: u64) -> Option<BlockedSetup> {
    Some(BlockedSetup { count: Some(count), seed: Some(seed), ..BlockedSetup::default() })
}

/// The live games of the fixtures: every act, with and without a request, every shape of rules and layout.
fn games() -> Vec<(&'static str, Stored)> {
    let mut labelled = start(Setup::default(), &TWO, Some(mark(9))).history.remove(0);
    if let Act::Created(creation) = &mut labelled.act {
        creation.labels = [("event", "größe=1"), ("", ""), ("round", "2")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        creation.seats[0] = Some((player("ann", "Ann \u{1f3b2}"), TokenHash([0xab; 16])));
    }
    let game = Game::created(&labelled, LIFETIMES).expect("a creation");
    let labelled = Stored { game, history: vec![labelled] };
    let free = Setup { board: Board::Cross, opening: Some(Opening::Free), ..Setup::default() };
    let corners = Setup {
        board: Board::B6x6,
        opening: Some(Opening::Parallel),
        handicap_corners: 3,
        objective: reversi_rules::Objective::FewestDiscs,
        blocked: blocked(&["a2", "f2", "c6"]),
        ..Setup::default()
    };
    let three = Setup {
        board: Board::Octagon,
        players: 3,
        blocked: drawn(4, u64::MAX),
        ..Setup::default()
    };
    let four = Setup { board: Board::B10x10, players: 4, blocked: drawn(1, 0), ..Setup::default() };
    vec![
        ("open", start(Setup::default(), &[], None)),
        ("labelled", labelled),
        ("free", start(free, &TWO, None).played(7, none)),
        (
            "corners",
            start(corners, &TWO, Some(mark(1))).played(9, |number| Some(mark(number as u8))),
        ),
        (
            "three",
            start(three, &[Color::White], Some(mark(1)))
                .claimed(Color::Red, player("", ""), None)
                .claimed(Color::Black, player("late", "☃"), Some(mark(2)))
                .played(3, |number| (number == 1).then(|| mark(3)))
                .then(Some(mark(4)), Act::Resigned { color: Color::White }),
        ),
        (
            "four",
            start(four, &Color::ALL, None)
                .played(6, none)
                .then(None, Act::Resigned { color: Color::Green })
                .then(Some(mark(5)), Act::Resigned { color: Color::Black })
                .then(None, Act::Resigned { color: Color::Red }),
        ),
        ("aborted-open", start(Setup::default(), &[], None).then(None, Act::Aborted)),
        (
            "aborted",
            start(Setup::default(), &TWO, None).played(2, none).then(Some(mark(6)), Act::Aborted),
        ),
        ("finished", finished(|number| (number % 3 == 0).then(|| mark(number as u8)))),
    ]
}

fn layouts() -> [(&'static str, Layout, Millis); 2] {
    let squares = ["a1", "h8"].map(|name| name.parse().expect("a square"));
    let explicit = Layout::explicit(Board::B8x8, 0, &squares).expect("free squares");
    let drawn = Layout::draw(Board::B10x10, 2, 4, 0x0123_4567_89ab_cdef).expect("a draw");
    [("layout-explicit", explicit, Millis(0)), ("layout-drawn", drawn, Millis(1_800_000_000_123))]
}

fn live_bytes(stored: &Stored) -> Vec<u8> {
    let before = [EPOCH].into_iter().chain(stored.history.iter().map(|record| record.time));
    let records = stored.history.iter().zip(before);
    let records = records.flat_map(|(record, before)| record_bytes(record, before));
    head_bytes(&stored.game).into_iter().chain(records).collect()
}

/// What this release writes of all that the fixtures hold.
fn written() -> BTreeMap<&'static str, Vec<u8>> {
    let games = games();
    let creation = games[1].1.history.first();
    let tombstones = [
        ("tombstone", tombstone_bytes(None, Millis(1_800_000_000_123))),
        ("tombstone-creation", tombstone_bytes(creation, Millis(u64::MAX))),
    ];
    let games = games.iter().map(|(name, stored)| (*name, live_bytes(stored)));
    let layouts = layouts().map(|(name, layout, until)| (name, layout_bytes(&layout, until)));
    games.chain(tombstones).chain(layouts).collect()
}

#[test]
fn form_1_is_written_as_ever() {
    let fixtures = fixtures();
    for (name, bytes) in written() {
        let kept = fixtures.get(name);
        assert_eq!(kept, Some(&bytes), "{name} {}", HEXLOWER.encode(&bytes));
    }
}

#[test]
fn what_form_1_wrote_is_read_for_ever() {
    let fixtures = fixtures();
    assert_eq!(fixtures.len(), written().len());
    let games = games();
    for (name, stored) in &games {
        let Ok(Lookup::Found(read)) = read_entry(&fixtures[name]) else { panic!("{name} is live") };
        assert_eq!(format!("{read:?}"), format!("{stored:?}"), "{name}");
        assert_eq!(live_bytes(&read), fixtures[name], "{name}");
        assert!(fixtures[name].starts_with(&prefix_bytes(stored.game.version())), "{name}");
    }
    let Ok(Lookup::Deleted(None)) = read_entry(&fixtures["tombstone"]) else {
        panic!("a tombstone")
    };
    let Ok(Lookup::Deleted(Some(kept))) = read_entry(&fixtures["tombstone-creation"]) else {
        panic!("a tombstone with a creation")
    };
    assert_eq!(format!("{kept:?}"), format!("{:?}", games[1].1.history[0]));
    for (name, layout, until) in layouts() {
        assert_eq!(read_layout(&fixtures[name]).expect("a layout"), (layout, until), "{name}");
    }
}

#[test]
fn another_form_is_refused_by_its_number() {
    for (name, bytes) in fixtures() {
        for form in [0, 2, 255] {
            let other = [&[form], &bytes[1..]].concat();
            let refused = if name.starts_with("layout") {
                read_layout(&other).map(drop).expect_err("another form")
            } else {
                read_entry(&other).map(drop).expect_err("another form")
            };
            match (form, refused) {
                (0, StoreError::Corrupt(what)) => assert_eq!(what, "form: 0 is none"),
                (newer, StoreError::NewerForm(told)) => assert_eq!(told, newer),
                (form, refused) => panic!("form {form}: {refused:?}"),
            }
        }
    }
}

#[test]
fn an_entry_with_a_part_missing_or_left_over_is_refused() {
    for (name, bytes) in fixtures() {
        let refused = |bytes: &[u8]| match name.starts_with("layout") {
            true => read_layout(bytes).is_err(),
            false => read_entry(bytes).is_err(),
        };
        assert!(!refused(&bytes));
        for length in 0..bytes.len() {
            assert!(refused(&bytes[..length]), "{length} bytes of {name}");
        }
        for extra in [0, 1, 255] {
            assert!(refused(&[bytes.as_slice(), &[extra]].concat()), "{name} and {extra}");
        }
    }
}

/// Reads bytes as everything that they could be; what can be read can be written.
fn read_all(bytes: &[u8]) {
    let _ = read_layout(bytes).map(|(layout, until)| layout_bytes(&layout, until));
    let _ = history_bytes(bytes);
    match read_entry(bytes) {
        Ok(Lookup::Found(stored)) => {
            live_bytes(&stored);
            let _ = stored.at(stored.history.len() as u64, LIFETIMES);
        }
        Ok(Lookup::Deleted(creation)) => drop(tombstone_bytes(creation.as_deref(), Millis(0))),
        Ok(Lookup::Missing) => panic!("an entry is not nothing"),
        Err(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..200), kind in 0..4u8) {
        read_all(&bytes);
        read_all(&[&[FORM, kind], bytes.as_slice()].concat());
    }

    #[test]
    fn no_damage_to_an_entry_makes_a_reader_panic(
        which: Index,
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in proptest::option::of(any::<Index>()),
    ) {
        let fixtures = fixtures();
        let mut bytes = fixtures.values().nth(which.index(fixtures.len())).expect("one").clone();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= byte;
        }
        if let Some(cut) = cut {
            bytes.remove(cut.index(bytes.len()));
        }
        read_all(&bytes);
    }
}

#[test]
fn a_finished_game_is_small() {
    let plain = finished(none);
    assert_eq!(plain.game.table.status(), Status::Finished);
    let moves = plain.game.table.position().ply();
    let bytes = live_bytes(&plain).len();
    let marked = live_bytes(&finished(|number| Some(mark(number as u8)))).len();
    println!("a game of {moves} moves: {bytes} bytes, and {marked} with a request for each");
    assert!(bytes < 1_000 && marked < 2_000, "{bytes}, {marked}");
}
