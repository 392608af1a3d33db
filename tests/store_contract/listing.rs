//! Listings: their order, their filters, and pages that fit together while games come and go.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use reversi_rules::{Color, Status};
use reversid::{
    model::{GameId, Millis},
    store::{Cursor, Query, Store},
};

use crate::{
    common::{StoreKind, lines::*},
    on_every_store, open,
};

on_every_store!(
    games_are_listed_newest_first_then_by_id,
    every_filter_and_every_combination_lists_exactly_its_games,
    pages_of_every_size_tile_the_whole,
    pages_hold_no_game_twice_and_miss_none_while_others_come_and_go,
    a_filter_that_matches_little_still_gets_to_the_end,
    a_listing_follows_joins_and_endings,
    a_filter_is_not_the_beginning_of_another,
);

fn everything() -> Query {
    Query { limit: 10_000, ..Query::default() }
}

/// All pages of a query, each but the last with a successor.
async fn pages(store: &Arc<dyn Store>, query: &Query) -> Vec<Vec<GameId>> {
    let mut pages = Vec::new();
    let mut query = query.clone();
    loop {
        let page = store.list(&query).await.expect("a page");
        assert!(page.games.len() <= query.limit);
        assert!(pages.len() < 1_000, "the pages come to an end");
        pages.push(page.games.into_iter().map(|game| game.id).collect());
        match page.next {
            Some(next) => query.after = Some(next),
            None => return pages,
        }
    }
}

async fn listed(store: &Arc<dyn Store>, query: &Query) -> Vec<GameId> {
    pages(store, query).await.concat()
}

/// The ids of the lines in the order of a listing.
fn in_order<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<GameId> {
    let mut places: Vec<_> =
        lines.into_iter().map(|line| (!line.game().create_time.0, line.id().clone())).collect();
    places.sort();
    places.into_iter().map(|(_, id)| id).collect()
}

/// Games of every status, at few times, of few players, with few labels.
async fn some_games(store: &Arc<dyn Store>) -> Vec<Line> {
    let mut random = Seeded(42);
    let mut lines = Vec::new();
    for number in 0..60 {
        let mut creation = creation(&format!("game {}", random.below(1_000_000)));
        for (color, seat) in Color::ALL.into_iter().zip(&mut creation.seats) {
            let who = ["ann", "bob", "eve", ""][random.below(4)];
            *seat = (!random.one_in(4)).then(|| (player(who), token(color.number())));
        }
        for key in ["event", "round"] {
            if !random.one_in(3) {
                let value = ["1", "2", ""][random.below(3)];
                creation.labels.insert(key.into(), value.into());
            }
        }
        let time = Millis(START.0 + random.below(5) as u64);
        let mut line = Line::create_at(creation, time, None);
        line.put_new(store).await;
        if number % 3 == 0 {
            let over = line.aborted();
            over.follow(&line, store).await;
            line = over;
        }
        lines.push(line);
    }
    lines
}

async fn games_are_listed_newest_first_then_by_id(kind: StoreKind) {
    let store = open(kind);
    let later = [0, 1, 255, 256, u64::from(u32::MAX), 1 << 40];
    let times = later.map(|later| START.0 + later).into_iter().chain([u64::MAX]);
    let mut lines = Vec::new();
    for time in times.clone().rev().chain(times) {
        let id = format!("game {}", lines.len() * 5 % 14);
        lines.push(Line::create_at(creation(&id), Millis(time), None));
    }
    for line in &lines {
        line.put_new(&store).await;
    }
    assert_eq!(listed(&store, &everything()).await, in_order(&lines));
    for query in [
        Query { status: Some(Status::InProgress), ..everything() },
        Query { player_id: Some("white".into()), ..everything() },
    ] {
        assert_eq!(listed(&store, &query).await, in_order(&lines));
    }
}

async fn every_filter_and_every_combination_lists_exactly_its_games(kind: StoreKind) {
    let store = open(kind);
    let lines = some_games(&store).await;
    let statuses = [None].into_iter().chain(Status::ALL.map(Some));
    let label = |key: &str, value: &str| Some((key.to_owned(), value.to_owned()));
    let mut matched = 0;
    for status in statuses {
        for who in [None, Some("ann"), Some("bob"), Some("nobody")] {
            for label in [None, label("event", "1"), label("round", ""), label("round", "3")] {
                let expected = lines.iter().map(Line::game).filter(|game| {
                    status.is_none_or(|status| game.table.status() == status)
                        && who.is_none_or(|who| {
                            game.seats.iter().any(|seat| seat.player.player_id == who)
                        })
                        && label
                            .as_ref()
                            .is_none_or(|(key, value)| game.labels.get(key) == Some(value))
                });
                let expected: BTreeSet<_> = expected.map(|game| game.id.clone()).collect();
                let expected = in_order(lines.iter().filter(|line| expected.contains(line.id())));
                matched += usize::from(!expected.is_empty());
                let player_id = who.map(str::to_owned);
                let query = Query { status, player_id, label, ..everything() };
                assert_eq!(listed(&store, &query).await, expected, "{query:?}");
            }
        }
    }
    assert!(matched > 20, "only {matched} of the queries match anything");
}

async fn pages_of_every_size_tile_the_whole(kind: StoreKind) {
    let store = open(kind);
    let lines = some_games(&store).await;
    let bob = || {
        lines
            .iter()
            .filter(|line| line.game().seats.iter().any(|seat| seat.player.player_id == "bob"))
    };
    for limit in [1, 2, 3, 7, bob().count(), 59, 60, 61, 500] {
        let all = pages(&store, &Query { limit, ..Query::default() }).await;
        assert_eq!(all.concat(), in_order(&lines), "pages of {limit}");
        assert!(all[..all.len() - 1].iter().all(|page| page.len() == limit), "pages of {limit}");
        let of_bob = Query { player_id: Some("bob".into()), limit, ..Query::default() };
        assert_eq!(listed(&store, &of_bob).await, in_order(bob()), "pages of {limit}");
    }
    // A place is one whether or not a game has it.
    for (place, id) in in_order(&lines).iter().enumerate() {
        let line = lines.iter().find(|line| line.id() == id).expect("it was put");
        let before = GameId::new(&id.as_str()[..id.as_str().len() - 1]);
        for (id, skipped) in [(id.clone(), place + 1), (before, place)] {
            let after = Some(Cursor { create_time: line.game().create_time, id });
            let rest = listed(&store, &Query { after, ..everything() }).await;
            assert_eq!(rest, in_order(&lines)[skipped..]);
        }
    }
}

async fn pages_hold_no_game_twice_and_miss_none_while_others_come_and_go(kind: StoreKind) {
    let store = open(kind);
    let lines = some_games(&store).await;
    let mut random = Seeded(7);
    let mut gone = BTreeSet::new();
    let mut seen = Vec::new();
    let mut query = Query { limit: 3, ..Query::default() };
    for round in 0.. {
        let page = store.list(&query).await.expect("a page");
        seen.extend(page.games.iter().map(|game| game.id.clone()));
        let Some(next) = page.next else { break };
        query.after = Some(next);
        // One comes now, one among the oldest, one ends, one goes; the page's last more often than others.
        for time in [START.after(Duration::from_secs(9)), Millis(START.0 + 1)] {
            let late = format!("late {round} at {}", time.0);
            Line::create_at(creation(&late), time, None).put_new(&store).await;
        }
        let ending = &lines[random.below(lines.len())];
        if !ending.is_over() {
            ending.aborted().commit_on(ending, &store).await;
        }
        let last = seen.last().filter(|_| random.one_in(2)).cloned();
        let going = last.unwrap_or_else(|| lines[random.below(lines.len())].id().clone());
        store.delete(&going, START).await.expect("the store answers");
        gone.insert(going);
    }
    let distinct: BTreeSet<_> = seen.iter().cloned().collect();
    assert_eq!(distinct.len(), seen.len(), "no game twice");
    for line in lines.iter().filter(|line| !gone.contains(line.id())) {
        assert!(distinct.contains(line.id()), "{} was there all the time", line.id());
    }
    assert!(!gone.is_empty() && gone.len() < lines.len(), "some stayed, some went");
}

async fn a_filter_that_matches_little_still_gets_to_the_end(kind: StoreKind) {
    let store = open(kind);
    // More than two pages' worth of rows to look at, and what is looked for at both ends.
    let lines: Vec<_> = (0..4_100)
        .map(|number| {
            let mut creation = creation(&format!("game {number:04}"));
            if [0, 4_000, 4_099].contains(&number) {
                creation.labels.insert("rare".into(), "yes".into());
            }
            Line::create_at(creation, Millis(START.0 + number), None)
        })
        .collect();
    put_all(&store, &lines).await;
    let rare = Query {
        player_id: Some("black".into()),
        label: Some(("rare".into(), "yes".into())),
        limit: 50,
        ..Query::default()
    };
    let lengths: Vec<_> = pages(&store, &rare).await.iter().map(Vec::len).collect();
    assert_eq!(lengths, [2, 0, 1]);
    let of_white = Query { label: None, limit: 500, ..rare };
    assert_eq!(listed(&store, &of_white).await.len(), 4_100);
    let none = Query { status: Some(Status::Finished), ..of_white };
    assert_eq!(listed(&store, &none).await.len(), 0);
}

async fn a_listing_follows_joins_and_endings(kind: StoreKind) {
    let store = open(kind);
    let lists = async |query: Query, line: &Line| {
        let ids = listed(&store, &Query { limit: 10, ..query }).await;
        assert!(ids.len() <= 1);
        ids.contains(line.id())
    };
    let by_status = async |line: &Line| {
        let mut in_status = Vec::new();
        for status in Status::ALL {
            if lists(Query { status: Some(status), ..Query::default() }, line).await {
                in_status.push(status);
            }
        }
        in_status
    };
    let by_player = async |who: &str, line: &Line| {
        lists(Query { player_id: Some(who.into()), ..Query::default() }, line).await
    };

    let mut line = Line::create(open_creation("game"));
    line.put_new(&store).await;
    assert_eq!(by_status(&line).await, [Status::WaitingForPlayers]);
    assert!(!by_player("", &line).await, "an open seat is nobody's");
    // The same player twice is one row.
    for (color, status) in
        [(Color::White, Status::WaitingForPlayers), (Color::Black, Status::InProgress)]
    {
        assert_eq!(by_player("ann", &line).await, color == Color::Black);
        let next = line.claimed(color, "ann");
        next.follow(&line, &store).await;
        assert!(by_player("ann", &next).await);
        assert_eq!(by_status(&next).await, [status]);
        line = next;
    }
    let over = line.aborted();
    over.follow(&line, &store).await;
    assert_eq!(by_status(&over).await, [Status::Finished]);
    assert!(by_player("ann", &over).await);
    assert!(store.delete(over.id(), START).await.expect("the store answers"));
    assert_eq!(by_status(&over).await, []);
    assert!(!by_player("ann", &over).await);
    assert!(!lists(Query::default(), &over).await);
}

async fn a_filter_is_not_the_beginning_of_another(kind: StoreKind) {
    let store = open(kind);
    let texts = ["a", "aa", "a\u{1}", "a=", "ä", "\u{10ffff}", "A", &"a".repeat(64)];
    for (number, text) in texts.into_iter().enumerate() {
        let mut creation = creation(&format!("game {number}"));
        creation.seats[0] = Some((player(text), token(1)));
        creation.labels =
            [(text.to_owned(), text.to_owned()), (format!("{text}{text}"), String::new())].into();
        Line::create(creation).put_new(&store).await;
    }
    for (number, text) in texts.into_iter().enumerate() {
        let expected = [GameId::new(format!("game {number}"))];
        let of_player = Query { player_id: Some(text.into()), ..everything() };
        assert_eq!(listed(&store, &of_player).await, expected, "{text:?}");
        let labelled = Query { label: Some((text.into(), text.into())), ..everything() };
        assert_eq!(listed(&store, &labelled).await, expected, "{text:?}");
    }
    let split_elsewhere = Query { label: Some((String::new(), "aa".into())), ..everything() };
    assert_eq!(listed(&store, &split_elsewhere).await, []);
}
