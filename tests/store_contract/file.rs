//! What the file alone promises: it lasts, has one owner and one form, and one bad entry does not spoil it.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use redb::{Database, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _};
use reversid::{
    error::StoreError,
    model::Millis,
    store::{Lookup, Query, Store, StoreUrl, Swept},
};

use crate::{
    common::{
        StoreKind,
        lines::*,
        stored::{EXPIRY, GAMES, LAYOUTS, META, ROWS},
    },
    open,
};

/// A file whose store can be closed and opened again.
struct File {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl File {
    /// Closes the store that was opened on it.
    async fn of(opened: crate::Opened) -> Self {
        opened.store.close().await;
        Self { path: opened.home.folder.path().join("games.redb"), _folder: opened.home.folder }
    }

    fn open(&self) -> Result<Arc<dyn Store>, String> {
        StoreUrl::File(self.path.clone()).open(LIFETIMES)
    }

    fn database(&self) -> Database {
        Database::open(&self.path).expect("the file is free")
    }

    /// How many games, index rows, layouts and expiry rows it has.
    fn counts(&self) -> [u64; 4] {
        let database = self.database();
        let read = database.begin_read().expect("it can be read");
        [
            read.open_table(GAMES).expect("a table").len().expect("a length"),
            read.open_table(ROWS).expect("a table").len().expect("a length"),
            read.open_table(LAYOUTS).expect("a table").len().expect("a length"),
            read.open_table(EXPIRY).expect("a table").len().expect("a length"),
        ]
    }

    fn set_form(&self, form: u64) {
        let database = self.database();
        let write = database.begin_write().expect("it can be written");
        write.open_table(META).expect("a table").insert("form", form).expect("a row");
        write.commit().expect("it is written");
    }

    /// Turns the entry of a game into one of another form.
    fn spoil(&self, line: &Line) {
        let database = self.database();
        let write = database.begin_write().expect("it can be written");
        {
            let mut games = write.open_table(GAMES).expect("a table");
            let entry = games.get(line.id().as_str()).expect("a row").expect("the game is there");
            let mut bytes = entry.value().to_vec();
            drop(entry);
            bytes[0] = 2;
            games.insert(line.id().as_str(), bytes.as_slice()).expect("a row");
        }
        write.commit().expect("it is written");
    }
}

#[tokio::test]
async fn a_file_that_is_opened_again_has_everything() {
    let store = open(StoreKind::File);
    let start = Line::create_at(creation("game"), START, Some(mark(3)));
    let line = start.played(2);
    let deleted = Line::create_at(creation("deleted"), START, Some(mark(4)));
    start.put_new(&store).await;
    line.follow(&start, &store).await;
    deleted.put_new(&store).await;
    assert!(store.delete(deleted.id(), START).await.expect("the store answers"));
    store.put_layout(layout(1), START).await.expect("the store answers");

    let file = File::of(store).await;
    let store = file.open().expect("it opens again");
    line.assert_in(&store).await;
    let there = store.load(deleted.id()).await.expect("the store answers");
    assert!(matches!(there, Lookup::Deleted(Some(_))), "{there:?}");
    let kept = store.layout(&layout(1).id()).await.expect("the store answers");
    assert_eq!(kept, Some((layout(1), START)));
    let query = Query { player_id: Some("black".into()), limit: 9, ..Query::default() };
    assert_eq!(store.list(&query).await.expect("a page").games.len(), 1);
    line.played(0).follow(&line, &store).await;
    assert_eq!(store.sweep(START).await.expect("a sweep"), Swept { removed: 2, more: false });
}

#[tokio::test]
async fn a_file_has_one_owner() {
    let store = open(StoreKind::File);
    let path = store.home.folder.path().join("games.redb");
    let refused = StoreUrl::File(path.clone()).open(LIFETIMES).err().expect("it is in use");
    assert!(refused.contains("in use by another process"), "{refused}");
    assert!(refused.contains(&path.display().to_string()), "{refused}");
    File::of(store).await.open().expect("a closed store lets go of its file");
}

#[tokio::test]
async fn a_file_of_a_newer_form_is_refused_by_its_form() {
    let file = File::of(open(StoreKind::File)).await;
    file.set_form(7);
    let before = fs::read(&file.path).expect("the file is there");
    let refused = file.open().err().expect("the form is unknown");
    assert!(refused.contains("its form is 7, and this release reads form 1"), "{refused}");
    assert!(before == fs::read(&file.path).expect("the file is there"), "no byte was changed");
    file.set_form(1);
    file.open().expect("all is there");
}

#[tokio::test]
async fn nothing_is_left_of_what_was_swept() {
    let store = open(StoreKind::File);
    let mut lines = Vec::new();
    for number in 0..20 {
        let mut creation = open_creation(&format!("game {number}"));
        creation.labels = [("number".into(), number.to_string())].into();
        let start = Line::create(creation);
        let [black, white] = [reversi_rules::Color::Black, reversi_rules::Color::White];
        let joined = start.claimed(white, "white").claimed(black, "black");
        let mut line = start.claimed(white, "white");
        start.put_new(&store).await;
        line.follow(&start, &store).await;
        joined.follow(&line, &store).await;
        line = joined;
        for _ in 0..number % 4 {
            let next = line.played(0);
            next.follow(&line, &store).await;
            line = next;
        }
        if number % 3 == 0 {
            line.aborted().follow(&line, &store).await;
        }
        if number % 5 == 0 {
            store.delete(line.id(), START).await.expect("the store answers");
        }
        store.put_layout(layout(number % 3), Millis(number)).await.expect("the store answers");
        lines.push(line);
    }
    let file = File::of(store).await;
    // A live game has rows for all, its status, two players and a label.
    assert_eq!(file.counts(), [20, 16 * 5, 3, 23]);
    let store = file.open().expect("it opens again");
    assert_eq!(store.sweep(Millis(u64::MAX)).await.expect("a sweep").removed, 23);
    store.close().await;
    assert_eq!(file.counts(), [0; 4]);
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_hides_no_other_and_stops_no_sweep() {
    let store = open(StoreKind::File);
    let lines = ["first", "second", "third"].map(|id| Line::create(creation(id)));
    for line in &lines {
        line.put_new(&store).await;
    }
    let file = File::of(store).await;
    file.spoil(&lines[1]);

    let store = file.open().expect("it opens all the same");
    let refused = store.load(lines[1].id()).await.expect_err("it cannot be read");
    assert!(matches!(refused, StoreError::NewerForm(2)), "{refused}");
    let all = store.list(&Query { limit: 9, ..Query::default() }).await.expect("a page");
    let ids: Vec<_> = all.games.iter().map(|game| game.id.as_str()).collect();
    assert_eq!((ids, all.next), (vec!["first", "third"], None));
    let late = START.after(Duration::from_secs(1_000_000_000));
    assert_eq!(store.sweep(late).await.expect("a sweep"), Swept { removed: 2, more: false });
    // It stays for a release that can read it.
    assert!(store.load(lines[1].id()).await.is_err());
    assert_missing(&store, lines[0].id()).await;
    store.close().await;
    assert_eq!(file.counts()[0], 1);
}
