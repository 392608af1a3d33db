//! Very many games in Redis are listed in stable pages while games start and end, and an index that was damaged by hand is
//! repaired. `REVERSI_LISTING_FULL=1` takes a hundred thousand games.

mod common;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use common::{lines::*, *};
use reversi_rules::{Color, Status};
use reversid::{
    model::GameId,
    store::{Query, Store, StoreUrl},
};
use tokio::task::JoinSet;

const PLAYERS: usize = 500;
const EVENTS: usize = 10;

/// How many calls are in flight while games are made.
const AT_ONCE: usize = 128;

fn games() -> usize {
    match std::env::var_os("REVERSI_LISTING_FULL") {
        Some(_) => 100_000,
        None => 10_000,
    }
}

fn open(home: &Home) -> Arc<dyn Store> {
    let url = StoreUrl::parse(&home.url).expect("a store's URL");
    url.open(LIFETIMES).expect("the store opens")
}

/// Whether the game of this number starts or ends while others are listed.
fn comes_and_goes(number: usize) -> bool {
    number % 10 == 7
}

fn player_id(number: usize) -> String {
    format!("player {}", number % PLAYERS)
}

/// A game that waits, or is in progress.
fn line(number: usize) -> Line {
    let mut creation = creation(&format!("game {number:06}"));
    creation.seats[0] = Some((player(&player_id(number)), token(1)));
    if number.is_multiple_of(3) {
        creation.seats[1] = None;
    }
    creation.labels = [("event".to_owned(), (number % EVENTS).to_string())].into();
    // Many share a moment.
    let time = START.after(Duration::from_millis((number / 7) as u64));
    Line::create_at(creation, time, None)
}

/// What becomes of it before it is listed.
fn settled(number: usize, line: &Line) -> Option<Line> {
    (number % 3 == 1).then(|| line.aborted())
}

/// Does `work` for each number, many at once.
async fn for_each<F>(numbers: impl Iterator<Item = usize>, work: impl Fn(usize) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut working = JoinSet::new();
    for number in numbers {
        if working.len() == AT_ONCE {
            working.join_next().await.expect("it is not empty").expect("no work panics");
        }
        working.spawn(work(number));
    }
    working.join_all().await;
}

async fn fill(store: &Arc<dyn Store>, numbers: impl Iterator<Item = usize>) {
    for_each(numbers, |number| {
        let store = store.clone();
        async move {
            let line = line(number);
            line.put_new(&store).await;
            if let Some(settled) = settled(number, &line) {
                settled.follow(&line, &store).await;
            }
        }
    })
    .await;
}

/// All pages of a query: the ids in order, which are held to that order and to the query.
async fn listed(store: &Arc<dyn Store>, query: &Query) -> Vec<GameId> {
    let mut query = query.clone();
    let mut ids = Vec::new();
    let mut last = None;
    loop {
        let page = store.list(&query).await.expect("a page");
        for game in page.games {
            assert!(query.matches(&game), "{} is of the listing", game.id);
            let place = Some((!game.create_time.0, game.id.clone()));
            assert!(last < place, "{} is in order, and no game comes twice", game.id);
            last = place;
            ids.push(game.id);
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return ids,
        }
    }
}

fn queries() -> Vec<(String, Query)> {
    let all = Query { limit: 500, ..Query::default() };
    let mut queries = vec![("all".to_owned(), all.clone())];
    for status in [Status::WaitingForPlayers, Status::InProgress, Status::Finished] {
        queries.push((format!("{status:?}"), Query { status: Some(status), ..all.clone() }));
    }
    let label = Some(("event".to_owned(), "3".to_owned()));
    queries.push(("a label".into(), Query { label: label.clone(), ..all.clone() }));
    queries.push(("a player".into(), Query { player_id: Some(player_id(11)), ..all.clone() }));
    let status = Some(Status::InProgress);
    queries.push(("a label and a status".into(), Query { label, status, ..all }));
    queries
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_games_are_listed_in_stable_pages_while_games_start_and_end() {
    let home = StoreKind::Redis.home();
    let store = open(&home);
    let begun = Instant::now();
    fill(&store, 0..games()).await;
    println!("{} games made in {:.1?}", games(), begun.elapsed());

    let over = Arc::<AtomicBool>::default();
    let changed = Arc::<AtomicUsize>::default();
    let churn = tokio::spawn({
        let (store, over, changed) = (store.clone(), over.clone(), changed.clone());
        async move {
            let old = (0..games()).filter(|number| comes_and_goes(*number));
            for (old, new) in old.zip(games()..) {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                let mut now = line(old);
                if let Some(settled) = settled(old, &now) {
                    now = settled;
                } else if old.is_multiple_of(3) {
                    let joined = now.claimed(Color::White, "late");
                    joined.follow(&now, &store).await;
                    now = joined;
                }
                if !now.is_over() {
                    now.aborted().follow(&now, &store).await;
                }
                fill(&store, new..new + 1).await;
                changed.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    for (name, query) in queries() {
        let begun = Instant::now();
        let ids = listed(&store, &query).await;
        let pages = ids.len().div_ceil(query.limit);
        println!("{name}: {} games, {pages} pages, {:.2?}", ids.len(), begun.elapsed());
        let ids: HashSet<_> = ids.into_iter().collect();
        let mut expected = 0;
        for number in (0..games()).filter(|number| !comes_and_goes(*number)) {
            let begin = line(number);
            let line = settled(number, &begin).unwrap_or(begin);
            let belongs = query.matches(line.game());
            assert_eq!(ids.contains(line.id()), belongs, "{} of {name}", line.id());
            expected += usize::from(belongs);
        }
        assert!(expected > 0, "{name} has games");
    }
    over.store(true, Ordering::SeqCst);
    churn.await.expect("games come and go");
    let changed = changed.load(Ordering::SeqCst);
    println!("{changed} games ended and as many began meanwhile");
    assert!(changed > 10, "games came and went");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_repairs_an_index_that_was_damaged_by_hand() {
    const GAMES: usize = 1_500;
    let home = StoreKind::Redis.home();
    let redis = home.redis.as_ref().expect("there is one");
    let store = open(&home);
    fill(&store, 0..GAMES).await;
    // Every set, with how many rows it has and whether it will expire.
    let sets = || -> BTreeSet<String> {
        let script = "local all = {} for _, set in ipairs(redis.call('KEYS', 'rv:[spt]:*')) do \
                      all[#all + 1] = set .. ' ' .. redis.call('ZCARD', set) .. ' ' .. \
                      tostring(redis.call('PTTL', set) > 0) end return all";
        redis.ask(&["EVAL", script, "0"]).lines().map(ToOwned::to_owned).collect()
    };
    let of_statuses = |sets: &BTreeSet<String>| -> usize {
        let sets = sets.iter().filter(|set| set.starts_with("rv:s:"));
        sets.map(|set| set.split(' ').nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(0)).sum()
    };
    // Rows that became stale are removed a moment later.
    until("stale rows are gone", async || of_statuses(&sets()) == GAMES).await;
    let sound = sets();
    assert!(sound.iter().all(|set| set.ends_with(" true")), "every set will expire: {sound:?}");

    // A whole set of each kind.
    for set in ["rv:s:2:3", "rv:p:player 11", "rv:t:event=3"] {
        assert_eq!(redis.ask(&["DEL", set]), "1");
    }
    // Single rows.
    let set = "rv:s:1:5";
    for row in ["0", "1"] {
        assert_eq!(redis.ask(&["ZREMRANGEBYRANK", set, row, row]), "1");
    }
    // A row that names nothing, rows of games that are not there, rows of games that are elsewhere.
    assert_eq!(redis.ask(&["ZADD", set, "0", "short"]), "1");
    for number in 0..3 {
        let place = format!("AAAAAAAAnobody {number}");
        assert_eq!(redis.ask(&["ZADD", "rv:t:event=4", "0", &place]), "1");
        assert_eq!(redis.ask(&["ZADD", "rv:p:nobody at all", "0", &place]), "1");
    }
    let elsewhere = "rv:s:3:0";
    let script = "for _, row in ipairs(redis.call('ZRANGE', KEYS[1], 0, 4)) do \
                  redis.call('ZADD', KEYS[2], 0, row) end return 5";
    assert_eq!(redis.ask(&["EVAL", script, "2", "rv:s:2:7", elsewhere]), "5");
    assert_ne!(sets(), sound);

    // Meanwhile nobody is told of a game that is not there or not such a game.
    for (_, query) in queries() {
        listed(&store, &query).await;
    }
    let later = START.after(Duration::from_secs(60 * 60));
    let other = open(&home);
    until("the index is sound", async || {
        // Of two replicas one sweeps, and goes on where it was.
        store.sweep(later).await.expect("the store answers");
        other.sweep(later).await.expect("the store answers");
        sets() == sound
    })
    .await;
    for (name, query) in queries() {
        let ids: BTreeSet<_> = listed(&store, &query).await.into_iter().collect();
        let all = (0..GAMES).map(|number| {
            let begin = line(number);
            settled(number, &begin).unwrap_or(begin)
        });
        let expected = all.filter(|line| query.matches(line.game()));
        assert_eq!(ids, expected.map(|line| line.id().clone()).collect(), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_of_an_empty_redis_finds_nothing_to_do() {
    let home = StoreKind::Redis.home();
    let swept = open(&home).sweep(START).await.expect("the store answers");
    assert_eq!((swept.removed, swept.more), (0, false));
}
