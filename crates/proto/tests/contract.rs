//! What the contract's comments and numbers promise holds in code.

use prost::Message as _;
use reversi_proto::{WatchFrame, v1, watch_frame::Message};
use reversi_rules::{Board, Color, MoveKind, Objective, Opening, Reason, Status};

const VERSION_COMMENT: &str = include_str!("../../../proto/reversi/v1/game.proto");
const DIGESTS: &str = include_str!("../../rules/tests/data/digests.tsv");

#[test]
fn the_comment_on_version_shows_every_known_digest() {
    let comment: String =
        VERSION_COMMENT.lines().map(|line| line.trim_start_matches("//").trim()).collect();
    let rows: Vec<_> = DIGESTS.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!rows.is_empty());
    for row in rows {
        let [what, previous, canonical, digest] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row} has four columns")
        };
        assert!(comment.contains(&format!("{what}{previous}{canonical}{digest}")), "{row}");
    }
}

#[test]
fn the_rules_and_the_contract_number_everything_alike() {
    for color in Color::ALL {
        let name = format!("COLOR_{}", color.name().to_uppercase());
        assert_eq!(v1::Color::from_str_name(&name).map(i32::from), Some(color.number().into()));
    }
    for (board, wire) in [
        (Board::B6x6, v1::Board::Board6x6),
        (Board::B8x8, v1::Board::Board8x8),
        (Board::B10x10, v1::Board::Board10x10),
        (Board::Octagon, v1::Board::Octagon),
        (Board::Cross, v1::Board::Cross),
    ] {
        assert_eq!(i32::from(board.number()), wire as i32);
    }
    assert_eq!(i32::from(Objective::MostDiscs.number()), v1::Objective::MostDiscs as i32);
    assert_eq!(i32::from(Objective::FewestDiscs.number()), v1::Objective::FewestDiscs as i32);
    assert_eq!(i32::from(Opening::Cross.number()), v1::Opening::Cross as i32);
    assert_eq!(i32::from(Opening::Parallel.number()), v1::Opening::Parallel as i32);
    assert_eq!(i32::from(Opening::Free.number()), v1::Opening::Free as i32);
    assert_eq!(i32::from(MoveKind::Flip.number()), v1::MoveKind::Flip as i32);
    assert_eq!(i32::from(MoveKind::Opening.number()), v1::MoveKind::Opening as i32);
    assert_eq!(i32::from(MoveKind::Adjacent.number()), v1::MoveKind::Adjacent as i32);
    let waiting = v1::GameStatus::WaitingForPlayers as i32;
    assert_eq!(i32::from(Status::WaitingForPlayers.number()), waiting);
    assert_eq!(i32::from(Status::InProgress.number()), v1::GameStatus::InProgress as i32);
    assert_eq!(i32::from(Status::Finished.number()), v1::GameStatus::Finished as i32);
    assert_eq!(i32::from(Reason::NoMoves.number()), v1::OutcomeReason::NoMoves as i32);
    assert_eq!(i32::from(Reason::Resignation.number()), v1::OutcomeReason::Resignation as i32);
    assert_eq!(i32::from(Reason::Aborted.number()), v1::OutcomeReason::Aborted as i32);
}

#[test]
fn every_watch_frame_reads_as_the_message_that_it_stands_for() {
    let game = v1::Game { game_id: "g".into(), ..Default::default() };
    let event = v1::GameEvent { game_id: "g".into(), previous_digest: 7, ..Default::default() };
    let version = Some(v1::Version { revision: 3, digest: 9 });
    let reset = v1::HistoryReset { reason: 1, game: Some(game.clone()) };
    let end = v1::WatchEnd { reason: 2 };
    use v1::watch_game_response::Message as Wire;
    let pairs = [
        (Message::Snapshot(game.encode_to_vec().into()), Wire::Snapshot(game)),
        (Message::Event(event.encode_to_vec().into()), Wire::Event(event)),
        (Message::CaughtUp(v1::CaughtUp { version }), Wire::CaughtUp(v1::CaughtUp { version })),
        (Message::Heartbeat(v1::Heartbeat { version }), Wire::Heartbeat(v1::Heartbeat { version })),
        (Message::Reset(Box::new(reset.clone())), Wire::Reset(reset)),
        (Message::End(end), Wire::End(end)),
    ];
    for (frame, message) in pairs {
        let sent = WatchFrame::from(frame).encode_to_vec();
        assert_eq!(sent, v1::WatchGameResponse { message: Some(message) }.encode_to_vec());
    }
}
