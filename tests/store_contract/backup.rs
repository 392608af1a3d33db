//! A backup of the file is of one moment, whole, and in nobody's way; other stores say what to do instead.

use std::{
    collections::HashMap,
    io::Read as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use reversid::{
    model::{Fold, GameId},
    store::{BackupError, Lookup, Query, Store, StoreUrl},
};
use tokio::task::JoinSet;

use crate::{
    common::{Home, StoreKind, lines::*, until},
    on_store, open,
};

on_store!(memory, Memory, a_store_that_is_backed_up_otherwise_says_how);
on_store!(redis, Redis, a_store_that_is_backed_up_otherwise_says_how);

async fn a_store_that_is_backed_up_otherwise_says_how(kind: StoreKind) {
    match open(kind).backup().await {
        Err(BackupError::Elsewhere(instead)) => assert!(!instead.is_empty()),
        other => panic!("{other:?}"),
    }
}

/// A store made of a backup.
async fn restored(store: &Arc<dyn Store>) -> (Arc<dyn Store>, Home) {
    let mut backup = store.backup().await.expect("a backup");
    let mut bytes = Vec::new();
    backup.file.read_to_end(&mut bytes).expect("it can be read");
    assert_eq!(bytes.len() as u64, backup.bytes);
    drop(backup);
    let home = StoreKind::File.home();
    std::fs::write(home.file(), bytes).expect("it is written");
    let url = StoreUrl::parse(&home.url).expect("a URL");
    (url.open(LIFETIMES).expect("a backup is a store"), home)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_64_writers_has_all_that_was_acknowledged_before_it_and_nothing_half() {
    const WRITERS: usize = 64;
    let opened = open(StoreKind::File);
    let store = opened.store.clone();
    // The last version of each game that was acknowledged.
    let acknowledged = Arc::<Mutex<HashMap<GameId, u64>>>::default();
    let over = Arc::new(AtomicBool::new(false));
    let commits = Arc::<AtomicUsize>::default();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, over) = (store.clone(), over.clone());
        let (acknowledged, commits) = (acknowledged.clone(), commits.clone());
        writers.spawn(async move {
            let note = |line: &Line| {
                let mut acknowledged = acknowledged.lock().expect("nobody panics with it");
                acknowledged.insert(line.id().clone(), line.version().revision);
                commits.fetch_add(1, Ordering::SeqCst);
            };
            for game in 0.. {
                let mut line = Line::create(creation(&format!("{writer} {game}")));
                line.put_new(&store).await;
                note(&line);
                while !line.is_over() && !over.load(Ordering::SeqCst) {
                    let next = line.played(0);
                    next.follow(&line, &store).await;
                    line = next;
                    note(&line);
                }
                if over.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
    }
    for _ in 0..3 {
        let before = commits.load(Ordering::SeqCst);
        until("they play", async || commits.load(Ordering::SeqCst) > before + 1_000).await;
        let before = acknowledged.lock().expect("nobody panics with it").clone();
        let during = commits.load(Ordering::SeqCst);
        let (copy, _home) = restored(&store).await;
        let during = commits.load(Ordering::SeqCst) - during;
        for (id, revision) in &before {
            let Lookup::Found(stored) = copy.load(id).await.expect("it is read") else {
                panic!("{id} was acknowledged at {revision}");
            };
            assert!(stored.game.version().revision >= *revision, "{id} at {revision}");
        }
        let mut query = Query { limit: 500, ..Query::default() };
        let mut games = 0;
        loop {
            let page = copy.list(&query).await.expect("a page");
            for game in page.games {
                let Lookup::Found(stored) = copy.load(&game.id).await.expect("it is read") else {
                    panic!("{} is listed", game.id);
                };
                let mut fold = Fold::new(LIFETIMES);
                let events =
                    stored.history.iter().map(|record| fold.step(record).expect("it folds"));
                assert_eq!(events.last().map(|event| event.version), Some(game.version()));
                games += 1;
            }
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert!(games >= before.len());
        println!("a backup of {games} games, with {during} commits meanwhile");
        assert!(during > 0, "nobody waited for it");
        copy.close().await;
    }
    over.store(true, Ordering::SeqCst);
    while let Some(ended) = writers.join_next().await {
        ended.expect("no writer fails");
    }
}

#[tokio::test]
async fn everything_in_the_file_is_in_its_backup() {
    let opened = open(StoreKind::File);
    let store = &opened.store;
    let line = Line::create_at(creation("game"), START, Some(mark(1)));
    let dead = Line::create_at(creation("dead"), START, Some(mark(2)));
    line.put_new(store).await;
    dead.put_new(store).await;
    assert!(
        store.delete(dead.id(), START.after(Duration::from_secs(9))).await.expect("it is there")
    );
    store.put_layout(layout(1), START).await.expect("the store answers");
    let (copy, home) = restored(store).await;
    line.assert_in(&copy).await;
    for store in [store, &copy] {
        store.close().await;
    }
    let everything = crate::common::stored::everything;
    assert_eq!(everything(&home), everything(&opened.home));
}

#[tokio::test]
async fn one_backup_is_made_or_read_at_a_time_and_leaves_nothing() {
    let opened = open(StoreKind::File);
    let files = || std::fs::read_dir(opened.home.folder.path()).expect("a folder").count();
    let first = opened.backup().await.expect("a backup");
    assert_eq!(files(), 1, "it has no name that a crash could leave");
    assert!(matches!(opened.backup().await, Err(BackupError::Running)));
    drop(first);
    opened.backup().await.expect("there is room for another");
    assert_eq!(files(), 1);
    opened.close().await;
    assert!(matches!(opened.backup().await, Err(BackupError::Failed(_))));
}
