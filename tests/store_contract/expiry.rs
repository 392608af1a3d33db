//! What goes when, and layouts, which are kept for as long as somebody asked last.

use std::{sync::Arc, time::Duration};

use reversid::{
    model::Millis,
    store::{Lookup, Query, Store, Swept},
};

use crate::{
    common::{StoreKind, lines::*},
    on_every_local_store, open,
};

on_every_local_store!(
    a_sweep_removes_exactly_what_is_due,
    every_commit_moves_the_expiry,
    a_tombstone_goes_when_it_is_due_and_not_with_the_game,
    what_was_swept_leaves_its_id_free,
    a_sweep_is_bounded_and_says_that_there_is_more,
    a_layout_is_kept_until_the_latest_that_was_asked,
    an_expired_game_is_there_until_it_is_swept,
);

const SECOND: Duration = Duration::from_secs(1);

/// The most that one sweep removes.
const SWEEP_MAX: usize = 1_000;

/// A new game that is due at `due`.
fn due_at(id: &str, due: Millis) -> Line {
    let idle = u64::try_from(LIFETIMES.idle.as_millis()).expect("a month of milliseconds");
    Line::create_at(creation(id), Millis(due.0 - idle), None)
}

async fn sweep(store: &Arc<dyn Store>, now: Millis) -> Swept {
    store.sweep(now).await.expect("the store answers")
}

/// A sweep that removed this much, and all of it.
fn all(removed: usize) -> Swept {
    Swept { removed, more: false }
}

async fn listed(store: &Arc<dyn Store>) -> usize {
    let query = Query { limit: 10_000, ..Query::default() };
    store.list(&query).await.expect("a page").games.len()
}

async fn a_sweep_removes_exactly_what_is_due(kind: StoreKind) {
    let store = open(kind);
    let now = START;
    let (before, after) = (Millis(now.0 - 1), Millis(now.0 + 1));
    let lines = [before, now, after].map(|due| due_at(&format!("due {}", due.0), due));
    let deleted = [before, now, after].map(|due| due_at(&format!("deleted {}", due.0), START));
    for line in lines.iter().chain(&deleted) {
        line.put_new(&store).await;
    }
    for (line, until) in deleted.iter().zip([before, now, after]) {
        assert!(store.delete(line.id(), until).await.expect("the store answers"));
    }
    for (seed, until) in (0..).zip([before, now, after]) {
        store.put_layout(layout(seed), until).await.expect("the store answers");
    }

    assert_eq!(sweep(&store, Millis(before.0 - 1)).await, all(0));
    assert_eq!(sweep(&store, now).await, all(6));
    for gone in lines[..2].iter().chain(&deleted[..2]) {
        assert_missing(&store, gone.id()).await;
    }
    lines[2].assert_in(&store).await;
    let there = store.load(deleted[2].id()).await.expect("the store answers");
    assert!(matches!(there, Lookup::Deleted(_)), "{there:?}");
    for (seed, kept) in (0..).zip([false, false, true]) {
        let there = store.layout(&layout(seed).id()).await.expect("the store answers");
        assert_eq!(there, kept.then_some((layout(seed), after)));
    }
    assert_eq!(listed(&store).await, 1);
    assert_eq!(sweep(&store, now).await, all(0));
    assert_eq!(sweep(&store, after).await, all(3));
    assert_eq!(listed(&store).await, 0);
}

async fn every_commit_moves_the_expiry(kind: StoreKind) {
    let store = open(kind);
    let start = Line::create(open_creation("game"));
    start.put_new(&store).await;
    let mut line = start;
    let steps = [
        line.claimed(reversi_rules::Color::Black, "black"),
        line.claimed(reversi_rules::Color::Black, "black").aborted(),
    ];
    for next in steps {
        let was_due = line.game().expire_time;
        next.follow(&line, &store).await;
        assert!(next.game().expire_time > was_due);
        assert_eq!(sweep(&store, was_due).await, all(0));
        next.assert_in(&store).await;
        line = next;
    }
    let last = line.game().update_time.after(LIFETIMES.finished);
    assert_eq!(sweep(&store, Millis(last.0 - 1)).await, all(0));
    assert_eq!(sweep(&store, last).await, all(1));
    assert_missing(&store, line.id()).await;
}

async fn a_tombstone_goes_when_it_is_due_and_not_with_the_game(kind: StoreKind) {
    let store = open(kind);
    let line = Line::create_at(creation("game"), START, Some(mark(1)));
    let due = line.game().expire_time;
    for until in [Millis(due.0 - 1_000), due, Millis(due.0 + 1_000)] {
        line.put_new(&store).await;
        assert!(store.delete(line.id(), until).await.expect("the store answers"));
        assert_eq!(sweep(&store, Millis(until.0 - 1)).await, all(0));
        let there = store.load(line.id()).await.expect("the store answers");
        assert!(matches!(there, Lookup::Deleted(Some(_))), "{there:?}");
        assert_eq!(sweep(&store, until).await, all(1));
        assert_missing(&store, line.id()).await;
        assert_eq!(sweep(&store, Millis(u64::MAX)).await, all(0), "nothing else was left of it");
    }
}

async fn what_was_swept_leaves_its_id_free(kind: StoreKind) {
    let store = open(kind);
    let first = Line::create(creation("game"));
    first.put_new(&store).await;
    let next = first.played(0);
    next.follow(&first, &store).await;
    assert_eq!(sweep(&store, next.game().expire_time).await, all(1));
    // A commit that was under way meanwhile finds nothing to go on from.
    let late = next.played(0).commit_on(&next, &store).await;
    assert!(matches!(late, reversid::store::Commit::Conflict(Lookup::Missing)), "{late:?}");
    assert!(!store.delete(first.id(), START).await.expect("the store answers"));
    let second = Line::create(open_creation("game"));
    second.put_new(&store).await;
    second.assert_in(&store).await;
    assert_eq!(listed(&store).await, 1);
}

async fn a_sweep_is_bounded_and_says_that_there_is_more(kind: StoreKind) {
    let store = open(kind);
    let lines: Vec<_> = (0..SWEEP_MAX).map(|n| due_at(&format!("game {n}"), START)).collect();
    put_all(&store, &lines).await;
    store.put_layout(layout(1), START).await.expect("the store answers");
    let kept = due_at("kept", START.after(SECOND));
    kept.put_new(&store).await;

    assert_eq!(sweep(&store, START).await, Swept { removed: SWEEP_MAX, more: true });
    assert_eq!(sweep(&store, START).await, all(1));
    assert_eq!(sweep(&store, START).await, all(0));
    kept.assert_in(&store).await;

    put_all(&store, &lines).await;
    assert_eq!(
        sweep(&store, START).await,
        all(SWEEP_MAX),
        "a full one need not be the first of two"
    );
    assert_eq!(listed(&store).await, 1);
}

async fn a_layout_is_kept_until_the_latest_that_was_asked(kind: StoreKind) {
    let store = open(kind);
    let layout = layout(7);
    let there = async || store.layout(&layout.id()).await.expect("the store answers");
    assert_eq!(there().await, None);
    let mut latest = Millis(0);
    for until in [5, 3, 5, 9, 1, 8, 10].map(Millis) {
        store.put_layout(layout, until).await.expect("the store answers");
        latest = latest.max(until);
        assert_eq!(there().await, Some((layout, latest)));
    }
    assert_eq!(store.layout(&format!("{}0", layout.id())).await.expect("the store answers"), None);
    assert_eq!(sweep(&store, Millis(9)).await, all(0));
    assert_eq!(sweep(&store, Millis(10)).await, all(1));
    assert_eq!(there().await, None);
    assert_eq!(sweep(&store, Millis(u64::MAX)).await, all(0));
}

async fn an_expired_game_is_there_until_it_is_swept(kind: StoreKind) {
    let store = open(kind);
    // Stores have no clock: this was due half a century ago.
    let line = due_at("game", LIFETIMES_END);
    line.put_new(&store).await;
    line.assert_in(&store).await;
    assert_eq!(listed(&store).await, 1);
    assert_eq!(sweep(&store, Millis(u64::MAX)).await, all(1));
    assert_missing(&store, line.id()).await;
}

/// A time that is past, and late enough for a lifetime before it.
const LIFETIMES_END: Millis = Millis(100_000_000_000);
