//! Many callers at once, and callers who leave.

use std::{
    collections::BTreeSet,
    future::Future,
    sync::Arc,
    task::{Context, Waker},
};

use reversi_rules::Color;
use reversid::{
    model::GameId,
    store::{Commit, Lookup, Query, Store},
};
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    common::{StoreKind, lines::*},
    on_every_store, open,
};

on_every_store!(
    of_racing_commits_on_one_version_exactly_one_is_done,
    of_racing_creations_of_one_id_exactly_one_is_done,
    commits_of_many_games_do_not_disturb_each_other,
    a_write_whose_caller_left_happened_wholly_or_not_at_all,
);

const RACERS: usize = 50;

/// Runs the attempts at once, and gives how each ended.
async fn race<F>(attempts: impl IntoIterator<Item = F>) -> Vec<(usize, Commit)>
where
    F: Future<Output = Commit> + Send + 'static,
{
    let barrier = Arc::new(Barrier::new(RACERS));
    let mut racing = JoinSet::new();
    for (number, attempt) in attempts.into_iter().enumerate() {
        let barrier = barrier.clone();
        racing.spawn(async move {
            barrier.wait().await;
            (number, attempt.await)
        });
    }
    assert_eq!(racing.len(), RACERS);
    racing.join_all().await
}

/// Panics unless exactly one attempt was done, and all others were told of it.
async fn assert_one_won(store: &Arc<dyn Store>, ended: &[(usize, Commit)], lines: &[Line]) {
    let won: Vec<_> = ended.iter().filter(|(_, commit)| matches!(commit, Commit::Done)).collect();
    assert_eq!(won.len(), 1);
    let winner = &lines[won[0].0];
    winner.assert_in(store).await;
    for (_, commit) in ended.iter().filter(|(_, commit)| matches!(commit, Commit::Conflict(_))) {
        winner.assert_conflict(commit);
    }
}

async fn of_racing_commits_on_one_version_exactly_one_is_done(kind: StoreKind) {
    let store = open(kind);
    let mut base = Line::create(creation("game"));
    base.put_new(&store).await;
    for _ in 0..3 {
        // Four moves among fifty racers: to repeat what won is a conflict like any other.
        let moves = base.moves().len();
        let lines: Vec<_> = (0..RACERS).map(|racer| base.played(racer % moves)).collect();
        let attempts = lines.iter().cloned().map(|line| {
            let (store, base) = (store.clone(), base.clone());
            async move { line.commit_on(&base, &store).await }
        });
        assert_one_won(&store, &race(attempts).await, &lines).await;
        let there = store.load(base.id()).await.expect("the store answers");
        let Lookup::Found(there) = there else { panic!("the game is there") };
        base = Line(there);
    }
}

async fn of_racing_creations_of_one_id_exactly_one_is_done(kind: StoreKind) {
    let store = open(kind);
    let lines: Vec<_> = (0..RACERS)
        .map(|racer| {
            let mut creation = creation("game");
            creation.salt = [racer as u8; 16];
            Line::create_at(creation, START, Some(mark(racer as u8)))
        })
        .collect();
    let attempts = lines.iter().cloned().map(|line| {
        let store = store.clone();
        async move { line.put(&store).await }
    });
    assert_one_won(&store, &race(attempts).await, &lines).await;
    let all = store.list(&Query { limit: 9, ..Query::default() }).await.expect("a page");
    assert_eq!(all.games.len(), 1);
}

async fn commits_of_many_games_do_not_disturb_each_other(kind: StoreKind) {
    let store = open(kind);
    let mut games = JoinSet::new();
    for number in 0..RACERS {
        let store = store.clone();
        games.spawn(async move {
            let mut line = Line::create(creation(&format!("game {number}")));
            line.put_new(&store).await;
            for step in 0..8 {
                let next = line.played((number + step) % line.moves().len());
                next.follow(&line, &store).await;
                line = next;
            }
            line
        });
    }
    for line in games.join_all().await {
        line.assert_in(&store).await;
    }
}

/// Polls once and leaves.
fn leave(future: impl Future) {
    let mut future = Box::pin(future);
    let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

/// The ids under which a player is listed.
async fn listed(store: &Arc<dyn Store>, player_id: &str) -> BTreeSet<GameId> {
    let query = Query { player_id: Some(player_id.into()), limit: 1_000, ..Query::default() };
    let page = store.list(&query).await.expect("a page");
    page.games.into_iter().map(|game| game.id).collect()
}

async fn a_write_whose_caller_left_happened_wholly_or_not_at_all(kind: StoreKind) {
    let store = open(kind);
    let mut lines = Vec::new();
    for number in 0..20 {
        let start = Line::create(open_creation(&format!("game {number}")));
        let joined = start.claimed(Color::White, "late");
        start.put_new(&store).await;
        leave(store.commit(start.0.clone(), joined.0.clone()));
        lines.push((start, joined));
    }
    for number in 0..20 {
        let line = Line::create(creation(&format!("created {number}")));
        leave(store.create(line.0.clone()));
        leave(store.delete(line.id(), START));
    }
    // What was asked before this has happened by now, or never will.
    store.put_layout(layout(1), START).await.expect("the store goes on");

    let late = listed(&store, "late").await;
    for (start, joined) in lines {
        let there = store.load(start.id()).await.expect("the store answers");
        let happened =
            matches!(&there, Lookup::Found(there) if there.game.version() == joined.version());
        let expected = if happened { &joined } else { &start };
        expected.assert_is(&there);
        assert_eq!(late.contains(start.id()), happened, "the index follows the game");
        expected.claimed(Color::Black, "after").follow(expected, &store).await;
    }
    let black = listed(&store, "black").await;
    for number in 0..20 {
        let id = GameId::new(format!("created {number}"));
        let there = store.load(&id).await.expect("the store answers");
        assert_eq!(black.contains(&id), matches!(there, Lookup::Found(_)), "{there:?}");
    }
}
