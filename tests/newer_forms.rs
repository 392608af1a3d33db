//! What callers and watchers hear of a game that a newer release has written: a stated reason, and nothing else is harmed.
//! The newer release is played by whoever changes the stored bytes.

mod common;

use std::time::Duration;

use common::{
    process::{Process, reversid},
    stored::{self, Stored, change, everything},
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color, watch_game_response::Message};
use tonic::{Code, Status};

on_store!(file, File, every_call_about_it_says_so_and_changes_nothing);
on_store!(
    redis,
    Redis,
    every_call_about_it_says_so_and_changes_nothing,
    a_watch_delivers_what_it_can_read_and_then_says_that_this_server_is_too_old,
    the_log_says_what_is_too_new_and_what_to_do,
    a_sweep_says_once_what_it_cannot_read,
);

fn newer(bytes: &mut [u8]) {
    bytes[0] += 1;
}

/// Panics unless the call was refused because this server is too old.
fn assert_outdated<T: std::fmt::Debug>(what: &str, answer: Result<T, Status>) {
    let refused = refusal(answer);
    assert_eq!(refused.reason, "SERVER_OUTDATED", "{what}");
    assert_eq!(refused.code, Code::Unavailable, "{what}: another replica may answer");
    assert!(refused.retry_after.is_some(), "{what}");
}

async fn every_call_about_it_says_so_and_changes_nothing(store: StoreKind) {
    let flags = ["--sweep-interval", "10ms"];
    let server = TestServer::with(store, &flags).await;
    let mut client = server.client().await;
    let blocked = v1::CreateLayoutRequest { count: 4, seed: Some(1), ..Default::default() };
    let layout = client.create_layout(blocked).await.expect("a layout").into_inner().layout;
    let layout_id = layout.expect("a layout").layout_id;
    let creation = v1::CreateGameRequest {
        seats: vec![v1::NewSeat { player_id: "ann".into(), ..Default::default() }, open_seat()],
        request_id: request_id(),
        ..Default::default()
    };
    let theirs = create_with(&mut client, creation.clone()).await;
    let ours = create(&mut client, v1::Rules::default()).await;
    let late =
        v1::CreateGameRequest { request_id: request_id(), ..v1::CreateGameRequest::default() };
    let gone = create_with(&mut client, late.clone()).await;
    let delete =
        v1::DeleteGameRequest { game_id: gone.id.clone(), owner_token: gone.owner.clone() };
    client.delete_game(delete).await.expect("the owner may");

    // A file is changed while nobody has it; over Redis the server goes on, with the game in its cache.
    let server = match store {
        StoreKind::File => server.stopped().await,
        _ => server,
    };
    for what in [Stored::Game(&theirs.id), Stored::Game(&gone.id), Stored::Layout(&layout_id)] {
        change(&server.home, what, |bytes| newer(bytes));
    }
    let before = everything_settled(&server.home).await;
    let server = match store {
        StoreKind::File => TestServer::at(server.home, 1, &flags).await,
        _ => server,
    };
    let mut client = server.client().await;

    let id = theirs.id.clone();
    assert_outdated("get", client.get_game(v1::GetGameRequest { game_id: id.clone() }).await);
    let join = v1::JoinGameRequest { game_id: id.clone(), ..Default::default() };
    assert_outdated("join", client.join_game(join).await);
    assert_outdated("move", client.make_move(theirs.play(Color::Black, "d3")).await);
    let seat_token = theirs.tokens[&(Color::Black as i32)].clone();
    let resign = v1::ResignGameRequest { game_id: id.clone(), seat_token, ..Default::default() };
    assert_outdated("resign", client.resign_game(resign).await);
    let owner_token = theirs.owner.clone();
    let abort = v1::AbortGameRequest {
        game_id: id.clone(),
        owner_token: owner_token.clone(),
        ..Default::default()
    };
    assert_outdated("abort", client.abort_game(abort).await);
    let delete = v1::DeleteGameRequest { game_id: id.clone(), owner_token };
    assert_outdated("delete", client.delete_game(delete).await);
    let events = v1::ListGameEventsRequest { game_id: id.clone(), ..Default::default() };
    assert_outdated("its record", client.list_game_events(events).await);
    let watch = v1::WatchGameRequest { game_id: id.clone(), ..Default::default() };
    assert_outdated("watch", client.watch_game(watch).await);
    let layout = v1::GetLayoutRequest { layout_id: layout_id.clone() };
    assert_outdated("layout", client.get_layout(layout).await);
    let blocked = v1::BlockedSquares { layout_id, ..Default::default() };
    let rules = v1::Rules { blocked_squares: Some(blocked), ..Default::default() };
    let on_it = v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
    assert_outdated("a game on that layout", client.create_game(on_it).await);
    assert_outdated("a repeat of its creation", client.create_game(creation).await);
    assert_outdated("a repeat of a deleted one's", client.create_game(late).await);

    // All others are listed and played.
    let page = client.list_games(v1::ListGamesRequest::default()).await.expect("a page");
    let ids: Vec<_> = page.into_inner().games.into_iter().map(|game| game.game_id).collect();
    assert_eq!(ids, [ours.id.as_str()]);
    play_out(&mut client, &ours).await;

    let server = match store {
        StoreKind::File => server.stopped().await,
        _ => server,
    };
    let after = everything_settled(&server.home).await;
    for (place, bytes) in before {
        // The game that was played has moved to other rows.
        if !stored::names(&place, &ours.id) {
            assert_eq!(after.get(&place), Some(&bytes), "{place}");
        }
    }
    // It is all there for whoever can read it: an upgrade.
    change(&server.home, Stored::Game(&theirs.id), |bytes| bytes[0] -= 1);
    let server = match store {
        StoreKind::File => TestServer::at(server.home, 1, &flags).await,
        _ => server,
    };
    let mut client = server.client().await;
    assert_eq!(get(&mut client, &theirs.id).await, theirs.game);
    let page = client.list_games(v1::ListGamesRequest::default()).await.expect("a page");
    assert_eq!(page.into_inner().games.len(), 2);
}

fn open_seat() -> v1::NewSeat {
    v1::NewSeat { open: true, ..Default::default() }
}

/// What is stored, once index rows that nobody needs any more are gone.
async fn everything_settled(home: &Home) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut last = everything(home);
    until("nothing changes by itself", async || {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = everything(home);
        let same = now == last;
        last = now;
        same
    })
    .await;
    last
}

/// While replicas are upgraded: a game that is watched at the old one is continued by the new one.
async fn a_watch_delivers_what_it_can_read_and_then_says_that_this_server_is_too_old(
    store: StoreKind,
) {
    let server = TestServer::with(store, &["--watch-poll", "1h"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    let before = watch.snapshot().await.version;
    let made = client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let event = watch.event().await;
    assert_eq!(made.into_inner().event.as_ref(), Some(&event));
    let watched =
        || server.home.redis.as_ref().expect("there is one").ask(&["PUBSUB", "SHARDCHANNELS"]);
    until("hints come in", async || watched().contains(&table.id)).await;
    change(&server.home, Stored::Game(&table.id), |bytes| {
        newer(bytes);
        bytes[9] += 1;
    });
    let failure = watch.failure().await;
    assert_eq!((failure.code, failure.reason.as_str()), (Code::Unavailable, "SERVER_OUTDATED"));
    assert!(failure.retry_after.is_some());
    assert_outdated("a move", client.make_move(table.play(Color::White, "c3")).await);

    // At a replica that reads it the watch goes on.
    change(&server.home, Stored::Game(&table.id), |bytes| {
        bytes[0] -= 1;
        bytes[9] -= 1;
    });
    let mut resumed = Watch::resumed(&mut client, &table.id, event.version).await;
    assert!(matches!(resumed.message().await, Message::CaughtUp(_)));
    client.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    let next = resumed.event().await;
    assert_chained(&[event, next], before.expect("a version"));
}

/// However many sets of the index the games are in.
async fn a_sweep_says_once_what_it_cannot_read(store: StoreKind) {
    let home = store.home();
    let flags = ["--listen", "127.0.0.1:0", "--store", &home.url, "--sweep-interval", "100ms"];
    let server = Process::of(reversid(&flags)).await;
    let mut client = server.client().await;
    let labelled = async |of: &str, client: &mut Client| {
        let labels = (0..32).map(|number| (format!("{of}{number}"), "x".to_owned())).collect();
        create_with(client, v1::CreateGameRequest { labels, ..Default::default() }).await.id
    };
    for of in ["a", "b"] {
        let damaged = labelled(of, &mut client).await;
        change(&home, Stored::Game(&damaged), |bytes| bytes.truncate(7));
        let later = labelled(of, &mut client).await;
        change(&home, Stored::Game(&later), |bytes| newer(bytes));
    }
    for level in [" ERROR ", " WARN "] {
        let lines = || -> Vec<String> {
            let log = server.log();
            let told = log.lines().filter(|line| line.contains("left out"));
            told.filter(|line| line.contains(level)).map(str::to_owned).collect()
        };
        let before = lines().len();
        until("there were three more sweeps", async || lines().len() >= before + 3).await;
        // The first of them may have begun before all the games were changed.
        for line in &lines()[before + 1..] {
            assert!(line.contains("count=2") && line.contains("a sweep"), "{line}");
        }
    }
}

/// An operator reads of it in the log, once a listing and not once a game, and of a whole file at the start.
async fn the_log_says_what_is_too_new_and_what_to_do(store: StoreKind) {
    let home = store.home();
    let flags = ["--listen", "127.0.0.1:0", "--store", &home.url];
    let server = Process::of(reversid(&flags)).await;
    let mut client = server.client().await;
    for _ in 0..5 {
        let table = create(&mut client, v1::Rules::default()).await;
        change(&home, Stored::Game(&table.id), |bytes| newer(bytes));
    }
    let page = client.list_games(v1::ListGamesRequest::default()).await.expect("a page");
    assert!(page.into_inner().games.is_empty());
    let log = server.logged("left out").await;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("left out")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for word in [" WARN ", "count=5", "stored in form 2", "must be upgraded"] {
        assert!(lines[0].contains(word), "{word}: {}", lines[0]);
    }
}
