//! Every bound that a client can reach: what it is told there, and that nobody else feels it.

mod common;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use common::{
    junk::{assert_no_panics, assert_sound, count_panics},
    raw::{Raw, framed, full, unfinished},
    *,
};
use reversi_proto::v1::{self, watch_game_response::Message};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tonic::{Code, transport::Channel};

on_every_store!(
    more_calls_in_flight_than_allowed_are_refused_and_served_a_moment_later,
    large_messages_on_their_way_are_bounded_and_small_ones_pass,
    more_connections_than_allowed_wait_for_one_to_close,
    more_streams_than_allowed_wait_in_their_client,
    a_page_of_the_largest_games_fits_what_clients_read_by_default,
    a_watcher_that_does_not_read_is_ended_and_slows_nobody,
    huge_headers_and_reset_streams_hurt_nobody_else,
);

async fn more_calls_in_flight_than_allowed_are_refused_and_served_a_moment_later(store: StoreKind) {
    let server = TestServer::with(store, &["--max-in-flight", "1"]).await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(server.client().await);
    }
    let refused = async {
        loop {
            let mut calls = JoinSet::new();
            for mut client in clients.iter().cycle().take(64).cloned() {
                calls.spawn(
                    async move { client.create_game(v1::CreateGameRequest::default()).await },
                );
            }
            let answers = calls.join_all().await;
            assert!(answers.iter().any(Result::is_ok), "somebody is served");
            if let Some(status) = answers.into_iter().find_map(Result::err) {
                return refused(&status);
            }
        }
    };
    let refused = timeout(PATIENCE, refused).await.expect("64 calls at once are more than one");
    assert_eq!((refused.code, refused.reason.as_str()), (Code::ResourceExhausted, "LIMIT_REACHED"));
    assert_eq!(refused.metadata["limit"], "calls_in_flight");
    assert!(refused.retry_after.is_some());
    create(&mut clients[0], v1::Rules::default()).await;
}

/// The begin of a message that is not small, and of which nothing more comes.
static BEGUN: [u8; 20_000] = {
    let mut begun = [0; 20_000];
    begun[2] = 1; // 64 KiB are to come.
    begun
};

async fn large_messages_on_their_way_are_bounded_and_small_ones_pass(store: StoreKind) {
    let server = TestServer::start(store).await;
    let raw = Raw::connect(server.address).await;
    let mut begun = JoinSet::new();
    let mut rests = Vec::new();
    for _ in 0..300 {
        let (rest, body) = unfinished(&BEGUN);
        let request = raw.post("CreateGame", &[], body);
        let raw = raw.clone();
        begun.spawn(async move { raw.send(request).await.expect("an answer") });
        rests.push(rest);
    }
    // Nothing but a refusal can be the answer to half a message.
    let first = timeout(PATIENCE, begun.join_next()).await.expect("300 are too many");
    let answer = first.expect("a call").expect("no panic");
    assert_eq!(assert_sound(&answer, &"large"), Code::ResourceExhausted);
    let refused = refused(&answer.status().expect("a status"));
    assert_eq!(refused.metadata["limit"], "large_messages");
    assert!(refused.retry_after.is_some());
    create(&mut server.client().await, v1::Rules::default()).await;
}

async fn more_connections_than_allowed_wait_for_one_to_close(store: StoreKind) {
    let server = TestServer::with(store, &["--max-connections", "1"]).await;
    let mut first = server.client().await;
    let table = create(&mut first, v1::Rules::default()).await;
    // Connects when it is first used.
    let endpoint = Channel::from_shared(format!("http://{}", server.address)).expect("an address");
    let mut second = Client::new(endpoint.connect_lazy().into());
    let id = table.id.clone();
    let waiting = tokio::spawn(async move { get(&mut second, &id).await });
    for _ in 0..50 {
        get(&mut first, &table.id).await;
    }
    assert!(!waiting.is_finished(), "there is no place for it");
    drop(first);
    let game = timeout(PATIENCE, waiting).await.expect("it is served in time").expect("no panic");
    assert_eq!(game.game_id, table.id);
}

/// What the server allows on one connection.
const STREAMS_MAX: usize = 1_000;

async fn more_streams_than_allowed_wait_in_their_client(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    let mut watches = Vec::new();
    for _ in 0..STREAMS_MAX {
        watches.push(client.watch_game(request.clone()).await.expect("it opens").into_inner());
    }
    let (mut waits, id) = (client.clone(), table.id.clone());
    let waiting = tokio::spawn(async move { get(&mut waits, &id).await });
    let mut other = server.client().await;
    for _ in 0..20 {
        get(&mut other, &table.id).await;
    }
    assert!(!waiting.is_finished(), "there is no stream for it");
    watches.pop();
    timeout(PATIENCE, waiting).await.expect("it is served in time").expect("no panic");
}

async fn a_page_of_the_largest_games_fits_what_clients_read_by_default(store: StoreKind) {
    const GAMES: usize = 450;
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let labels = (0..32).map(|key| (format!("{key:064}"), "x".repeat(256))).collect();
    let request = v1::CreateGameRequest { labels, ..Default::default() };
    let mut creating = JoinSet::new();
    for _ in 0..GAMES {
        let (mut client, request) = (client.clone(), request.clone());
        creating.spawn(async move { client.create_game(request).await.map(drop) });
    }
    creating.join_all().await.into_iter().collect::<Result<(), _>>().expect("they are created");
    let mut listed = BTreeSet::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListGamesRequest { page_size: 500, page_token, ..Default::default() };
        let page = client.list_games(request).await.expect("a page fits").into_inner();
        listed.extend(page.games.into_iter().map(|game| game.game_id));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(listed.len(), GAMES, "none is lost between pages");
}

/// The least that a client can say that it has room for, all but nothing.
const TINY_WINDOW: u32 = 64;

async fn a_watcher_that_does_not_read_is_ended_and_slows_nobody(store: StoreKind) {
    let server = TestServer::with(store, &["--watch-stall", "200ms", "--max-watches", "1"]).await;
    let mut client = server.client().await;
    let rules = v1::Rules { board: v1::Board::Board10x10.into(), ..Default::default() };
    let table = create(&mut client, rules.clone()).await;
    let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    let endpoint = Channel::from_shared(format!("http://{}", server.address)).expect("an address");
    let endpoint = endpoint.initial_stream_window_size(TINY_WINDOW);
    let mut slow = Client::new(endpoint.connect().await.expect("the server accepts").into());
    let mut watch = slow.watch_game(request.clone()).await.expect("it opens").into_inner();

    let begin = Instant::now();
    let played = play_out(&mut client, &table).await;
    let average = begin.elapsed() / u32::try_from(played.len()).expect("a game is short");
    println!("{average:?} a move beside a watcher that does not read");
    assert!(average < Duration::from_millis(200), "no move waits for the watcher");

    // The watcher's place is free once it has been given up.
    let freed = async {
        while let Err(status) = client.watch_game(request.clone()).await {
            assert_eq!(refused(&status).metadata["limit"], "watches");
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, freed).await.expect("it is given up in time");
    // What was on its way is told in order; then why there is no more.
    let mut told = Vec::new();
    let ended = loop {
        match timeout(PATIENCE, watch.message()).await.expect("it goes on in time") {
            Ok(Some(message)) => told.push(message.message.expect("one of them")),
            Ok(None) => panic!("it must not end as if all were told"),
            Err(status) => break refused(&status),
        }
    };
    assert_eq!(ended.code, Code::ResourceExhausted);
    assert_eq!(ended.reason, "WATCHER_TOO_SLOW");
    assert!(matches!(told[0], Message::Snapshot(_)));
    let events: Vec<_> = told[1..]
        .iter()
        .map(|message| match message {
            Message::Event(event) => event.clone(),
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    println!("{} of {} events were on their way", events.len(), played.len());
    assert!(events.len() < played.len() && played.starts_with(&events));
}

/// Of HTTP/2, RFC 9113.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;
const CANCEL: u32 = 8;

fn frame(kind: u8, flags: u8, stream: u32, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("frames are short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), content].concat()
}

/// A client's part of a connection that begins so many calls, each with a RST_STREAM after it.
fn reset_streams(server: &TestServer, count: u32) -> Vec<u8> {
    let authority = server.address.to_string();
    let literal = |index: &[u8], text: &str| {
        let length = u8::try_from(text.len()).expect("texts are short");
        [index, &[length], text.as_bytes()].concat()
    };
    // RFC 7541: POST and http by their index, the rest literal under indexed names.
    let head = [
        vec![0x83, 0x86],
        literal(&[0x04], "/reversi.v1.GameService/CreateGame"),
        literal(&[0x01], &authority),
        literal(&[0x0f, 0x10], "application/grpc"),
    ]
    .concat();
    let end_headers = 4;
    let mut bytes = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    for stream in (0..count).map(|call| 2 * call + 1) {
        bytes.extend(frame(HEADERS, end_headers, stream, &head));
        bytes.extend(frame(RST_STREAM, 0, stream, &CANCEL.to_be_bytes()));
    }
    bytes
}

/// The kinds and contents of whole frames.
fn frames(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (head, rest) = bytes.split_at_checked(9)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let (content, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some((head[3], content))
    })
}

async fn huge_headers_and_reset_streams_hurt_nobody_else(store: StoreKind) {
    count_panics();
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;

    let raw = Raw::connect(server.address).await;
    let huge = "x".repeat(60 << 10);
    let request = raw.post("ListGames", &[("x-huge", &huge)], full(framed(0, &[])));
    // Refused by the transport: before a call is there, there is no status of ours.
    if let Ok(answer) = raw.send(request).await {
        assert_eq!(answer.http, 431);
    }
    get(&mut client, &table.id).await;

    // Each call is begun and given up at once, until the server has enough of it.
    let mut resets = TcpStream::connect(server.address).await.expect("the server accepts");
    resets.write_all(&reset_streams(&server, 5_000)).await.ok();
    let mut said = Vec::new();
    timeout(PATIENCE, resets.read_to_end(&mut said)).await.expect("it is closed in time").ok();
    let goaway = frames(&said).find(|(kind, _)| *kind == GOAWAY).expect("a word at the end");
    assert_eq!(goaway.1[4..8], ENHANCE_YOUR_CALM.to_be_bytes());
    get(&mut client, &table.id).await;
    let fresh = Raw::connect(server.address).await;
    assert_eq!(assert_sound(&fresh.message("ListGames", &[]).await, &"a good call"), Code::Ok);
    assert_no_panics();
}
