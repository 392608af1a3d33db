//! A release that is older than what wrote an entry refuses it, changes nothing of it, and serves all others.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use reversi_rules::{Color, Status};
use reversid::{
    error::StoreError,
    model::Millis,
    store::{Commit, Lookup, Query, Store, StoreUrl},
};

use crate::{
    Opened,
    common::{
        Home, StoreKind,
        lines::*,
        stored::{self, EXPIRY, ROWS, Stored, change, everything},
    },
    on_store, open,
};

on_store!(file, File, what_another_release_wrote_is_refused_and_stays);
on_store!(
    redis,
    Redis,
    what_another_release_wrote_is_refused_and_stays,
    a_deletion_that_comes_too_late_is_refused,
);

/// What another release may have made of an entry, and whether it is known by its form.
type Made = (&'static str, bool, fn(&mut Vec<u8>));

/// Every part that begins with a form byte may have a newer one.
const NEWER: [Made; 2] = [
    ("the next form", true, |bytes| bytes[0] += 1),
    ("the last form", true, |bytes| bytes[0] = 255),
];

/// Against the rule for new forms: form 1, with what this release does not know in it, after one more commit.
const STRANGE: [Made; 4] = [
    ("an unknown act", false, |bytes| {
        bytes[9] += 1;
        // Time, no request, the act of the highest number that takes one byte.
        bytes.extend([0, 0, 127]);
    }),
    ("an unknown kind of entry", false, |bytes| bytes[1] = 3),
    ("an unknown flag", false, |bytes| {
        bytes[9] += 1;
        // The byte before the expiry, which ends the state.
        let end = 19 + usize::from(bytes[18]);
        let flag = (19..end).rev().find(|at| bytes[*at] == 0).expect("it is not aborted");
        bytes[flag] = 2;
    }),
    ("more bytes than it has", false, |bytes| {
        bytes[9] += 1;
        bytes.push(255);
    }),
];

struct Scene {
    store: Arc<dyn Store>,
    home: Home,
}

impl Scene {
    fn new(kind: StoreKind) -> Self {
        let Opened { store, home } = open(kind);
        Self { store, home }
    }

    /// What is stored, by where it is, as a process that reads the store from outside sees it.
    async fn bytes(&mut self) -> BTreeMap<String, Vec<u8>> {
        self.outside(everything).await
    }

    async fn outside<T>(&mut self, look: impl FnOnce(&Home) -> T) -> T {
        self.store.close().await;
        let seen = look(&self.home);
        let url = StoreUrl::parse(&self.home.url).expect("a store's URL");
        self.store = url.open(LIFETIMES).expect("it opens, whatever is in it");
        seen
    }
}

/// Panics unless the call about an entry failed because of what is in it.
fn assert_refused<T: std::fmt::Debug>(what: &str, newer: bool, answer: Result<T, StoreError>) {
    match answer.expect_err(what) {
        StoreError::NewerForm(_) => assert!(newer, "{what} is no newer form"),
        StoreError::Corrupt(_) => assert!(!newer, "{what} is known by its form"),
        error => panic!("{what}: {error}"),
    }
}

async fn what_another_release_wrote_is_refused_and_stays(kind: StoreKind) {
    let layout = layout(1);
    for (what, newer, make) in NEWER.into_iter().chain(STRANGE) {
        let mut scene = Scene::new(kind);
        let store = &scene.store;
        let theirs = Line::create_at(open_creation("theirs"), START, Some(mark(1)));
        let before = theirs.claimed(Color::White, "white");
        let dead = Line::create_at(creation("dead"), START, Some(mark(2)));
        let ours = Line::create(creation("ours"));
        for line in [&theirs, &dead, &ours] {
            line.put_new(store).await;
        }
        before.follow(&theirs, store).await;
        assert!(store.delete(dead.id(), Millis(u64::MAX / 2)).await.expect("the store answers"));
        store.put_layout(layout, START).await.expect("the store answers");

        let layout_id = layout.id();
        let stored = scene
            .outside(|home| {
                change(home, Stored::Game("theirs"), make);
                if newer {
                    change(home, Stored::Game("dead"), make);
                    change(home, Stored::Layout(&layout_id), make);
                }
                everything(home)
            })
            .await;

        let store = scene.store.clone();
        // As a process does that has the game in its cache, and one that has not.
        assert_refused(what, newer, store.load(theirs.id()).await);
        let after = before.claimed(Color::Black, "black");
        let commit = store.commit(before.0.clone(), after.0.clone()).await;
        assert_refused(what, newer, commit);
        assert_refused(what, newer, store.create(theirs.0.clone()).await);
        assert_refused(what, newer, store.delete(theirs.id(), START).await);
        if newer {
            assert_refused(what, newer, store.load(dead.id()).await);
            assert_refused(what, newer, store.create(dead.0.clone()).await);
            assert_refused(what, newer, store.delete(dead.id(), START).await);
            assert_refused(what, newer, store.layout(&layout.id()).await);
            // Redis prolongs it unread; either way its bytes stay.
            let _ = store.put_layout(layout, Millis(u64::MAX / 2)).await;
        }

        // All others are there, by every way to find them.
        let white = Some("white".to_owned());
        for query in [
            Query::default(),
            Query { status: Some(Status::InProgress), ..Query::default() },
            Query { player_id: white, ..Query::default() },
        ] {
            let page = store.list(&Query { limit: 9, ..query.clone() }).await.expect("a page");
            let ids: Vec<_> = page.games.iter().map(|game| game.id.as_str()).collect();
            assert_eq!((ids, page.next), (vec!["ours"], None), "{query:?}");
        }
        let waiting =
            Query { status: Some(Status::WaitingForPlayers), limit: 9, ..Query::default() };
        assert!(store.list(&waiting).await.expect("a page").games.is_empty());
        let next = ours.played(0);
        next.follow(&ours, &store).await;
        next.assert_in(&store).await;

        // No sweep takes anything of it, however late and often.
        let mut removed = 0;
        for hour in 1..=40 {
            let later = START.after(Duration::from_secs(hour * 60 * 60));
            removed += store.sweep(later).await.expect("a sweep").removed;
        }
        if kind == StoreKind::File {
            removed += store.sweep(Millis(u64::MAX)).await.expect("a sweep").removed;
            assert_eq!(removed, if newer { 1 } else { 3 });
            assert_missing(&store, ours.id()).await;
        }
        let now = scene.bytes().await;
        for (place, bytes) in &stored {
            let swept = ["ours", "dead", &layout.id()];
            let swept = &swept[..if newer { 1 } else { 3 }];
            if !swept.iter().any(|id| stored::names(place, id)) {
                assert_eq!(now.get(place), Some(bytes), "{what}: {place}");
            }
        }
    }
}

/// Another replica may write it in another form between the look at a game and its deletion.
async fn a_deletion_that_comes_too_late_is_refused(kind: StoreKind) {
    const DELETIONS: usize = 400;
    let opened = open(kind);
    let line = Line::create(creation("game"));
    line.put_new(&opened).await;
    let mut connection = stored::connection(&opened.home.url);
    let get = ::redis::cmd("GET").arg("rv:g:game").query(&mut connection);
    let ours: Vec<u8> = get.expect("the entry");
    let theirs = [&[2], &ours[1..]].concat();
    let over = Arc::new(AtomicBool::new(false));
    let flipping = std::thread::spawn({
        let over = over.clone();
        move || {
            while !over.load(Ordering::SeqCst) {
                for bytes in [&theirs, &ours] {
                    let mut set = ::redis::cmd("SET");
                    set.arg("rv:g:game").arg(bytes).exec(&mut connection).expect("Redis answers");
                }
            }
        }
    });
    let (mut deleted, mut refused) = (0, 0);
    while deleted + refused < DELETIONS {
        match opened.delete(line.id(), Millis(u64::MAX / 2)).await {
            Ok(true) => {
                deleted += 1;
                // Until it is written again.
                while matches!(opened.load(line.id()).await, Ok(Lookup::Deleted(_))) {}
            }
            Err(StoreError::NewerForm(2)) => refused += 1,
            other => panic!("after {deleted} deletions and {refused} refusals: {other:?}"),
        }
    }
    over.store(true, Ordering::SeqCst);
    flipping.join().expect("no panic");
    assert!(deleted > 0 && refused > 0, "{deleted} deletions and {refused} refusals");
}

/// Rows of another form, which a newer release would keep elsewhere, hide nothing and cost nothing.
#[tokio::test]
async fn rows_that_name_nothing_hide_no_game_of_the_file_and_expire_none() {
    let mut scene = Scene::new(StoreKind::File);
    let line = Line::create(creation("game"));
    line.put_new(&scene.store).await;
    scene
        .outside(|home| {
            let database = stored::database(home);
            let write = database.begin_write().expect("it can be written");
            // The facet of all games, and less than a time; of the status, and no text.
            for row in [&[0, 1, 2][..], &[1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0xff]] {
                write.open_table(ROWS).expect("a table").insert(row, ()).expect("a row");
            }
            let kind = 7;
            write
                .open_table(EXPIRY)
                .expect("a table")
                .insert((1, kind, "game"), ())
                .expect("a row");
            write.commit().expect("it is written");
        })
        .await;
    for status in [None, Some(Status::InProgress)] {
        let query = Query { status, limit: 9, ..Query::default() };
        let page = scene.store.list(&query).await.expect("a page");
        assert_eq!((page.games.len(), page.next), (1, None));
    }
    assert_eq!(scene.store.sweep(START).await.expect("a sweep").removed, 0);
    let next = line.played(0);
    assert!(matches!(next.commit_on(&line, &scene.store).await, Commit::Done));
}
