//! What every release stored is read for ever, in the file and in Redis, and goes on being played.
//!
//! Each folder `form_N` here holds two stores as the first release of that form left them, and what is in them. Both were
//! written by the service itself. They are only ever added to: `CONTRIBUTING.md` says when and how.

#[path = "../common/mod.rs"]
mod common;

mod fixture;
mod replay;
mod write;

use common::{
    StoreKind,
    lines::LIFETIMES,
    stored::{Stored, change},
};
use reversi_rules::{Layout, Status};
use reversid::{
    model::{Fold, GameId, Millis},
    store::{Lookup, Query, StoreUrl},
};

use self::fixture::{Fixture, describe, forms};

on_store!(
    file,
    File,
    everything_is_read_as_it_was_written,
    every_request_gets_its_first_answer_and_every_game_goes_on,
);
on_store!(
    redis,
    Redis,
    everything_is_read_as_it_was_written,
    every_request_gets_its_first_answer_and_every_game_goes_on,
);

/// A release that writes another form adds the stores that it writes.
#[tokio::test]
async fn the_newest_form_has_its_fixtures() {
    let home = StoreKind::File.home();
    let store = StoreUrl::parse(&home.url).expect("a URL").open(LIFETIMES).expect("it opens");
    common::lines::Line::create(common::lines::creation("game")).put_new(&store).await;
    store.close().await;
    let mut written = 0;
    change(&home, Stored::Game("game"), |bytes| written = bytes[0]);
    write::write_if_asked(written).await;
    let newest = forms().last().copied();
    assert_eq!(newest, Some(written), "CONTRIBUTING.md, \"Add a stored form\", says what to do");
}

async fn everything_is_read_as_it_was_written(kind: StoreKind) {
    for form in forms() {
        let fixture = Fixture::of(form, kind);
        let url = StoreUrl::parse(&fixture.home.url).expect("a URL");
        let store = url.open(LIFETIMES).expect("the fixture opens");
        assert_eq!(describe(&store, &fixture.names()).await, fixture.contents, "form {form}");

        let mut live = Vec::new();
        for id in fixture.names().games {
            let Lookup::Found(stored) =
                store.load(&GameId::new(id.as_str())).await.expect("it is read")
            else {
                continue;
            };
            let mut fold = Fold::new(LIFETIMES);
            let events = stored.history.iter().map(|record| fold.step(record).expect("it folds"));
            let last = events.last().expect("a creation").version;
            assert_eq!(last, stored.game.version(), "{id} is what its records fold to");
            live.push((stored.game.create_time, id, stored.game.table.status()));
        }
        // Rows are read as entries are: every game is found, by every kind of row.
        live.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        for status in [None, Some(Status::WaitingForPlayers), Some(Status::Finished)] {
            let page = store.list(&Query { status, limit: 500, ..Query::default() }).await;
            let page = page.expect("a page").games;
            let listed: Vec<_> = page.iter().map(|game| game.id.as_str()).collect();
            let matching = live.iter().filter(|live| status.is_none_or(|status| status == live.2));
            assert_eq!(listed, matching.map(|live| live.1.as_str()).collect::<Vec<_>>());
            assert!(!listed.is_empty());
        }
        let ann = Query { player_id: Some("ann".into()), limit: 500, ..Query::default() };
        assert!(!store.list(&ann).await.expect("a page").games.is_empty());
        let label = Some(("event".to_owned(), "größe=1".to_owned()));
        let labelled = Query { label, limit: 500, ..Query::default() };
        assert_eq!(store.list(&labelled).await.expect("a page").games.len(), 1);
        for id in fixture.names().layouts {
            let (layout, _) = store.layout(&id).await.expect("it is read").expect("it is there");
            assert_eq!(Layout::id(&layout), id);
        }
        store.sweep(Millis::now()).await.expect("a sweep");
        store.close().await;
    }
}

async fn every_request_gets_its_first_answer_and_every_game_goes_on(kind: StoreKind) {
    for form in forms() {
        replay::replay(Fixture::of(form, kind), kind).await;
    }
}
