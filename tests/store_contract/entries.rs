//! Creating, loading, appending and deleting one game.

use std::time::Duration;

use reversi_rules::{Board, Color, Layout, Setup};
use reversid::{
    error::StoreError,
    model::{Act, GameId, Millis, Player, Record},
    store::{Commit, Lookup, Query},
};

use crate::{
    common::{StoreKind, lines::*},
    on_every_store, open,
};

on_every_store!(
    a_new_game_is_loaded_as_it_was_put,
    a_game_is_created_once,
    a_commit_needs_the_very_version_that_is_there,
    nothing_is_committed_where_no_game_is,
    everything_in_a_record_comes_back,
    a_deleted_game_leaves_its_creation_only_for_a_request,
    a_deleted_game_is_in_the_way_of_a_new_one,
    ids_are_told_apart_whatever_their_bytes,
    a_closed_store_answers_nothing,
);

async fn a_new_game_is_loaded_as_it_was_put(kind: StoreKind) {
    let store = open(kind);
    let line = Line::create(creation("game"));
    assert_missing(&store, line.id()).await;
    line.put_new(&store).await;
    line.assert_in(&store).await;
    assert_missing(&store, &GameId::new("gam")).await;
    assert_missing(&store, &GameId::new("game2")).await;
}

async fn a_game_is_created_once(kind: StoreKind) {
    let store = open(kind);
    let first = Line::create(creation("game"));
    first.put_new(&store).await;
    first.assert_conflict(&first.put(&store).await);
    let other = Line::create(open_creation("game"));
    first.assert_conflict(&other.put(&store).await);
    let next = first.played(0);
    next.follow(&first, &store).await;
    next.assert_conflict(&other.put(&store).await);
    next.assert_in(&store).await;
}

async fn a_commit_needs_the_very_version_that_is_there(kind: StoreKind) {
    let store = open(kind);
    let start = Line::create(creation("game"));
    start.put_new(&store).await;
    let ours = start.played(0);
    ours.follow(&start, &store).await;
    ours.assert_in(&store).await;

    let other = start.played(1);
    assert_eq!(other.version().revision, ours.version().revision);
    let newer = ours.played(0);
    let elsewhere = [
        ("an older version", &start, start.played(2)),
        ("the same revision of another branch", &other, other.played(0)),
        ("a newer version", &newer, newer.played(0)),
        ("a newer version of another branch", &other.played(0), other.played(0).played(0)),
    ];
    for (what, before, after) in elsewhere {
        let commit = after.commit_on(before, &store).await;
        assert!(matches!(commit, Commit::Conflict(_)), "{what}");
        ours.assert_conflict(&commit);
        ours.assert_in(&store).await;
    }
    newer.follow(&ours, &store).await;
    newer.assert_in(&store).await;
    newer.assert_conflict(&newer.commit_on(&ours, &store).await);
}

async fn nothing_is_committed_where_no_game_is(kind: StoreKind) {
    let store = open(kind);
    let start = Line::create(creation("game"));
    let next = start.played(0);
    let commit = next.commit_on(&start, &store).await;
    assert!(matches!(commit, Commit::Conflict(Lookup::Missing)), "{commit:?}");
    assert_missing(&store, start.id()).await;

    start.put_new(&store).await;
    assert!(store.delete(start.id(), START).await.expect("the store answers"));
    let commit = next.commit_on(&start, &store).await;
    assert!(matches!(commit, Commit::Conflict(Lookup::Deleted(None))), "{commit:?}");
}

async fn everything_in_a_record_comes_back(kind: StoreKind) {
    let store = open(kind);
    let labels = [("", ""), ("a", "1=2"), ("größe", "十\u{1f3b2}"), ("long", &"x".repeat(256))];
    let strange = Player { player_id: "\u{202e}π".repeat(12), display_name: "☃".repeat(42) };
    let setup = Setup { players: 4, board: Board::Octagon, ..Setup::default() };
    let drawn =
        reversi_rules::BlockedSetup { count: Some(3), seed: Some(u64::MAX), ..Default::default() };
    let checked = Setup { blocked: Some(drawn), ..setup }.check().expect("sound rules");
    let mut creation = creation("everything");
    creation.rules = checked.complete(None).expect("a seed is given");
    creation.seats =
        vec![Some((strange.clone(), token(0))), None, None, Some((player(""), token(255)))];
    creation.labels = labels.map(|(key, value)| (key.into(), value.into())).into();
    let mut line = Line::create_at(creation, START, Some(mark(0)));
    line.put_new(&store).await;
    line.assert_in(&store).await;

    let claim =
        |color, seed| Act::SeatClaimed { color, player: strange.clone(), token: token(seed) };
    let steps = [
        (START, Some(mark(1)), claim(Color::Red, 3)),
        (Millis(u64::MAX / 2), None, claim(Color::White, 4)),
        (Millis(u64::MAX / 2 + 1), Some(mark(255)), Act::Resigned { color: Color::White }),
    ];
    for (time, request, act) in steps {
        let next = line.and(Record { time, request, act });
        next.follow(&line, &store).await;
        next.assert_in(&store).await;
        line = next;
    }
    let square = line.moves()[0];
    for (request, act) in
        [(Some(mark(128)), Act::MovePlayed { color: Color::Black, square }), (None, Act::Aborted)]
    {
        let next = line.and(Record { time: Millis(u64::MAX), request, act });
        next.follow(&line, &store).await;
        next.assert_in(&store).await;
        line = next;
    }
    assert_eq!(line.game().expire_time, Millis(u64::MAX), "the end of time is not passed");
    let (revision, record) = line.0.find(mark(255).tag).expect("the request is found");
    assert_eq!((revision, record.request), (4, Some(mark(255))));
}

async fn a_deleted_game_leaves_its_creation_only_for_a_request(kind: StoreKind) {
    let store = open(kind);
    let until = START.after(Duration::from_secs(60));
    let named = Line::create_at(creation("named"), START, Some(mark(5)));
    let unnamed = Line::create(creation("unnamed"));
    for line in [&named, &unnamed] {
        assert!(!store.delete(line.id(), until).await.expect("the store answers"), "not yet there");
        assert_missing(&store, line.id()).await;
        line.put_new(&store).await;
        line.played(0).follow(line, &store).await;
        assert!(store.delete(line.id(), until).await.expect("the store answers"));
        assert!(!store.delete(line.id(), until).await.expect("the store answers"), "it is gone");
    }
    match store.load(named.id()).await.expect("the store answers") {
        Lookup::Deleted(Some(record)) => {
            assert_eq!(format!("{record:?}"), format!("{:?}", named.0.history[0]));
        }
        there => panic!("the creation is kept, not {there:?}"),
    }
    let there = store.load(unnamed.id()).await.expect("the store answers");
    assert!(matches!(there, Lookup::Deleted(None)), "{there:?}");
}

async fn a_deleted_game_is_in_the_way_of_a_new_one(kind: StoreKind) {
    let store = open(kind);
    for (id, request) in [("named", Some(mark(5))), ("unnamed", None)] {
        let line = Line::create_at(creation(id), START, request);
        line.put_new(&store).await;
        assert!(store.delete(line.id(), START).await.expect("the store answers"));
        match line.put(&store).await {
            Commit::Conflict(Lookup::Deleted(kept)) => {
                assert_eq!(kept.and_then(|record| record.request), request);
            }
            commit => panic!("the tombstone is in the way, not {commit:?}"),
        }
    }
}

async fn ids_are_told_apart_whatever_their_bytes(kind: StoreKind) {
    let store = open(kind);
    let long = "é".repeat(32);
    let ids = ["a", "A", "a ", "a\0", "a\0b", "{a}", "a:1", "a*", "\u{10ffff}", &long, &long[..62]];
    let lines = ids.map(|id| Line::create(creation(id)));
    for line in &lines {
        line.put_new(&store).await;
    }
    for line in &lines {
        line.assert_in(&store).await;
    }
    let all = store.list(&Query { limit: 100, ..Query::default() }).await.expect("a page");
    assert_eq!(all.games.len(), ids.len());
}

async fn a_closed_store_answers_nothing(kind: StoreKind) {
    let store = open(kind);
    let line = Line::create(creation("game"));
    let next = line.played(0);
    line.put_new(&store).await;
    store.close().await;
    let layout: Layout = layout(1);
    let answers = [
        store.load(line.id()).await.err(),
        store.create(line.0.clone()).await.err(),
        store.commit(line.0.clone(), next.0.clone()).await.err(),
        store.delete(line.id(), START).await.err(),
        store.list(&Query { limit: 1, ..Query::default() }).await.err(),
        store.put_layout(layout, START).await.err(),
        store.layout(&layout.id()).await.err(),
        store.sweep(START).await.err(),
    ];
    for (call, answer) in answers.into_iter().enumerate() {
        assert!(matches!(answer, Some(StoreError::NotDone(_))), "call {call}: {answer:?}");
    }
    store.close().await;
}
