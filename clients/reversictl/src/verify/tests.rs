//! A record that was tampered with is found out, whichever field it was.

use prost_reflect::{DynamicMessage, ReflectMessage as _, SerializeOptions};
use reversi_proto::v1::game_event::Change as WireChange;
use reversi_rules::Color;

use super::*;
use crate::random::Random;
use crate::rules_args::RulesArgs;

/// A record and the game as it then stands.
#[derive(Clone)]
struct Record {
    events: Vec<v1::GameEvent>,
    game: v1::Game,
}

impl Record {
    /// Creates, fills a seat, plays so many random moves, and then maybe resigns.
    fn play(rules: &RulesArgs, moves: usize, resigns: bool) -> Self {
        let rules = rules.to_wire();
        let players = rules.players.max(2);
        let mut seats: Vec<_> = (1..=players)
            .map(|number| v1::Seat {
                color: i32::try_from(number).unwrap(),
                player_id: format!("p{number}"),
                display_name: format!("Player {number}"),
                claimed: true,
                resigned: false,
            })
            .collect();
        seats[1] = v1::Seat { color: 2, ..Default::default() };
        let mut replay = replay::Replay::new("g1");
        let created = v1::GameCreated { rules: Some(rules), layout: None, seats };
        let mut events = vec![next(&mut replay, WireChange::Created(created))];
        let claim =
            v1::SeatClaimed { color: 2, player_id: "bob".into(), display_name: "Bob".into() };
        events.push(next(&mut replay, WireChange::SeatClaimed(claim)));
        let mut random = Random::from_seed(9);
        for _ in 0..moves {
            let position = events.last().unwrap().position.clone().unwrap();
            if position.legal_moves.is_empty() {
                break;
            }
            let square = position.legal_moves[random.below(position.legal_moves.len())].clone();
            let played = v1::MovePlayed { color: position.to_move, square, ..Default::default() };
            events.push(next(&mut replay, WireChange::MovePlayed(played)));
        }
        if resigns {
            let resigned = v1::PlayerResigned { color: Color::White.number().into() };
            events.push(next(&mut replay, WireChange::Resigned(resigned)));
        }
        Self { events, game: replay.standing().clone() }
    }

    fn faults(&self) -> Vec<Fault> {
        let mut replay = Replay::new("g1");
        self.events.iter().for_each(|event| replay.event(event));
        replay.finish(&self.game);
        replay.faults
    }
}

/// The event that the change makes, ten seconds after the one before.
fn next(replay: &mut replay::Replay, change: WireChange) -> v1::GameEvent {
    let mut time = replay.standing().update_time.unwrap_or_default();
    time.seconds += 10;
    let event = v1::GameEvent {
        game_id: "g1".to_owned(),
        change: Some(change),
        time: Some(time),
        ..Default::default()
    };
    replay.next(&event).unwrap()
}

fn flags(flags: &str) -> RulesArgs {
    #[derive(clap::Parser)]
    struct Only {
        #[command(flatten)]
        rules: RulesArgs,
    }
    let all = std::iter::once("reversictl").chain(flags.split_whitespace());
    <Only as clap::Parser>::try_parse_from(all).unwrap().rules
}

const VARIANTS: [&str; 5] = [
    "--board 6x6 --blocked 2 --seed 5 --handicap 1",
    "--opening free --blocked a1,h4 --objective fewest-discs",
    "--board cross-board --opening parallel",
    "--board octagon --players 4 --blocked 4 --seed 0",
    "--multicolor",
];

#[test]
fn whole_records_of_every_variant_hold() {
    for variant in VARIANTS {
        for resigns in [false, true] {
            let moves = if resigns { 10 } else { usize::MAX };
            let record = Record::play(&flags(variant), moves, resigns);
            assert_eq!(record.faults(), [], "{variant}");
        }
    }
}

/// Every way to change, or leave out, one thing in a tree, and where.
fn tampered(value: &Value) -> Vec<(String, Value)> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, inner)| {
                let mut without = fields.clone();
                without.remove(key);
                let changed = tampered(inner).into_iter().map(move |(at, inner)| {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), inner);
                    (format!("{key}.{at}"), Value::Object(fields))
                });
                changed.chain([(key.clone(), Value::Object(without))])
            })
            .collect(),
        Value::Array(items) => {
            let mut all: Vec<_> = (0..items.len())
                .flat_map(|index| {
                    tampered(&items[index]).into_iter().map(move |(at, inner)| {
                        let mut items = items.clone();
                        items[index] = inner;
                        (format!("{index}.{at}"), Value::Array(items))
                    })
                })
                .collect();
            if let [all_but_last @ .., _] = items.as_slice() {
                all.push(("shorter".to_owned(), Value::Array(all_but_last.to_vec())));
            }
            all
        }
        Value::String(text) => {
            let other = match text.parse::<u64>() {
                Ok(number) => number.wrapping_add(1).to_string(),
                Err(_) => format!("{text}x"),
            };
            vec![(String::new(), json!(other))]
        }
        Value::Number(number) => vec![(String::new(), json!(number.as_i64().unwrap() + 1))],
        Value::Bool(flag) => vec![(String::new(), json!(!flag))],
        Value::Null => vec![],
    }
}

/// The message with one field changed, for each field that something proves, and where it was changed.
fn tampered_messages<M>(message: &M) -> Vec<(String, M)>
where
    M: json::Named + Default + PartialEq,
{
    let original = json::dynamic(message);
    let options = SerializeOptions::new().skip_default_fields(false).use_enum_numbers(true);
    let tree = original.serialize_with_options(serde_json::value::Serializer, &options).unwrap();
    tampered(&tree)
        .into_iter()
        .filter(|(at, _)| !["time", "expireTime", "labels"].contains(&at.as_str()))
        .filter_map(|(at, tree)| {
            let other = DynamicMessage::deserialize(original.descriptor(), tree).ok()?;
            Some((at, other.transcode_to().unwrap()))
        })
        .filter(|(_, other)| other != message)
        .collect()
}

#[test]
fn a_change_to_any_field_of_any_event_is_found() {
    for variant in VARIANTS {
        let record = Record::play(&flags(variant), 5, true);
        for (index, event) in record.events.iter().enumerate() {
            let all = tampered_messages(event);
            assert!(all.len() > 20, "{} ways are too few", all.len());
            for (at, tampered) in all {
                let mut other = record.clone();
                other.events[index] = tampered;
                assert_ne!(other.faults(), [], "{variant}: revision {}: {at}", index + 1);
            }
        }
    }
}

#[test]
fn a_change_to_any_field_of_the_game_is_found() {
    let record = Record::play(&flags(VARIANTS[0]), 5, true);
    for (at, game) in tampered_messages(&record.game) {
        let other = Record { game, ..record.clone() };
        assert_ne!(other.faults(), [], "{at}");
    }
}

#[test]
fn a_fault_names_its_revision_and_field_and_what_was_expected() {
    let mut record = Record::play(&flags(""), 5, false);
    record.events[3].position.as_mut().unwrap().counts[0].discs = 60;
    let faults = record.faults();
    assert_eq!(faults.len(), 1);
    assert_eq!((faults[0].revision, faults[0].field.as_str()), (4, "position.counts[0].discs"));
    assert_eq!(faults[0].found, 60);
    assert!(faults[0].expected.as_u64().unwrap() < 10);
}

#[test]
fn another_move_breaks_every_digest_from_there_on() {
    let mut record = Record::play(&flags(""), 3, false);
    let legal = record.events[1].position.clone().unwrap().legal_moves;
    let Some(WireChange::MovePlayed(played)) = &mut record.events[2].change else { panic!() };
    played.square = legal.into_iter().find(|square| *square != played.square).unwrap();
    let faults = record.faults();
    assert!(faults.iter().any(|f| f.revision == 3 && f.field == "version.digest"), "{faults:?}");
    assert!(faults.iter().all(|fault| fault.revision >= 3));
}

#[test]
fn missing_repeated_and_swapped_events_are_found() {
    let record = Record::play(&flags(""), 6, false);
    for index in 0..record.events.len() {
        let mut missing = record.clone();
        missing.events.remove(index);
        assert_ne!(missing.faults(), [], "without revision {}", index + 1);
        let mut repeated = record.clone();
        repeated.events.insert(index, record.events[index].clone());
        assert_ne!(repeated.faults(), [], "revision {} twice", index + 1);
    }
    let mut swapped = record.clone();
    swapped.events.swap(4, 5);
    assert_ne!(swapped.faults(), []);
    let nothing = Record { events: vec![], ..record };
    assert_ne!(nothing.faults(), []);
}

#[test]
fn time_that_goes_back_is_found() {
    let mut record = Record::play(&flags(""), 3, false);
    record.events[3].time = record.events[1].time;
    let faults = record.faults();
    assert!(faults.iter().any(|fault| fault.revision == 4 && fault.field == "time"), "{faults:?}");
    record.events[3].time = None;
    assert!(record.faults().iter().any(|fault| fault.field == "time"));
}
