//! How the process ends, and what it leaves to those who speak with it then.

mod common;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use common::{
    process::{Process, errors, reversid, run},
    raw::{Raw, unfinished},
    *,
};
use reversi_proto::v1::{self, Color, watch_game_response::Message};
use tokio::{io::AsyncWriteExt as _, net::TcpStream, sync::mpsc, task::JoinSet, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};
use tonic_reflection::pb::v1::{
    ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
    server_reflection_request::MessageRequest,
};
use tonic_types::StatusExt as _;

/// What every HTTP/2 client says first.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A drain in which nothing is in flight takes no longer, on a machine that is busy with other things too.
const SOON: Duration = Duration::from_secs(8);

async fn watch(client: &mut Client, id: &str, after: Option<v1::Version>) -> Watch {
    let request =
        v1::WatchGameRequest { game_id: id.into(), resume_after: after, latest_only: false };
    Watch(client.watch_game(request).await.expect("it opens").into_inner())
}

struct Watch(Streaming<v1::WatchGameResponse>);

impl Watch {
    async fn next(&mut self) -> Result<Message, Status> {
        let next = timeout(PATIENCE, self.0.message()).await.expect("something comes in time")?;
        Ok(next.expect("a status at the end").message.expect("one of them"))
    }
}

/// Peers of every kind that never speak again, and hold nobody up.
async fn idle_peers(server: &Process) -> impl Sized + use<> {
    let mut streams = Vec::new();
    for said in [b"".as_slice(), PREFACE, b"POST /reversi.v1.GameService/GetGame HTTP/1.1\r\nhos"] {
        let mut stream = TcpStream::connect(server.address).await.expect("the server accepts");
        stream.write_all(said).await.expect("the server reads");
        streams.push(stream);
    }
    // Half a request: the head, and a message that is begun and does not go on.
    let raw = Raw::connect(server.address).await;
    let (rest, body) = unfinished(&[0, 0, 0, 1, 0, 10]);
    let request = raw.post("GetGame", &[], body);
    let call = tokio::spawn(async move { raw.open(request).await.map(drop) });
    (streams, rest, call)
}

async fn drains_at(signal: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let mut server = Process::start(&file, &["--drain-timeout", "20s"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watched = watch(&mut client, &table.id, None).await;
    assert!(matches!(watched.next().await, Ok(Message::Snapshot(_))));

    let mut health = HealthClient::new(server.channel().await);
    let request = HealthCheckRequest { service: "reversi.v1.GameService".into() };
    let mut health = health.watch(request).await.expect("health can be watched").into_inner();
    let first = health.message().await.expect("a status").expect("a status");
    assert_eq!(first.status(), ServingStatus::Serving);

    let (asks, to_ask) = mpsc::channel(1);
    let list = MessageRequest::ListServices(String::new());
    asks.send(ServerReflectionRequest { message_request: Some(list), ..Default::default() })
        .await
        .expect("there is room");
    let mut reflection = ServerReflectionClient::new(server.channel().await)
        .server_reflection_info(ReceiverStream::new(to_ask))
        .await
        .expect("reflection answers")
        .into_inner();
    reflection.message().await.expect("an answer").expect("an answer");
    let _idle = idle_peers(&server).await;

    let asked = Instant::now();
    server.signal(&[signal]).await;

    let next = timeout(PATIENCE, health.message()).await.expect("health is told in time");
    assert_eq!(next.expect("a status").expect("a status").status(), ServingStatus::NotServing);
    let ended = watched.next().await.expect_err("the watch ends");
    let ended = refused(&ended);
    assert_eq!((ended.code, ended.reason.as_str()), (Code::Unavailable, "SERVER_DRAINING"));
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());
    assert!(asked.elapsed() < SOON, "it took {:?}", asked.elapsed());

    // What the watch has seen is where it goes on.
    let server = Process::start(&file, &[]).await;
    let mut client = server.client().await;
    let mut watched = watch(&mut client, &table.id, table.game.version).await;
    assert!(matches!(watched.next().await, Ok(Message::CaughtUp(_))));
    let made = client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let Ok(Message::Event(event)) = watched.next().await else { panic!("the move is told") };
    assert_eq!(Some(event), made.into_inner().event);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_it_soon_whoever_is_connected() {
    drains_at("TERM").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigint_ends_it_soon_whoever_is_connected() {
    drains_at("INT").await;
}

/// Whether a call failed for want of a connection, and not by an answer of the server's.
fn is_of_the_connection(status: &Status) -> bool {
    status.get_error_details().error_info().is_none()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_flight_at_sigterm_finishes_or_never_reached_the_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let mut server = Process::start(&file, &[]).await;
    let requests: Vec<_> = (0..300)
        .map(|_| v1::CreateGameRequest { request_id: request_id(), ..Default::default() })
        .collect();
    let mut clients = Vec::new();
    for _ in 0..10 {
        clients.push(server.client().await);
    }
    let mut calls = JoinSet::new();
    for (request, client) in requests.iter().zip(clients.iter().cycle()) {
        let (request, mut client) = (request.clone(), client.clone());
        calls.spawn(async move {
            let answer = client.create_game(request.clone()).await;
            (request, answer.map(|created| created.into_inner()))
        });
    }
    // The first answer shows that the rest is under way.
    let mut answers = vec![calls.join_next().await.expect("a call").expect("no panic")];
    server.signal(&["TERM"]).await;
    answers.extend(calls.join_all().await);
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());

    let server = Process::start(&file, &[]).await;
    let mut client = server.client().await;
    let mut answered = 0;
    for (request, answer) in answers {
        let settled = client.create_game(request).await.expect("a repeat settles it").into_inner();
        match answer {
            Ok(first) => {
                answered += 1;
                assert_eq!(settled, first, "what was answered is there, and its repeat the same");
            }
            Err(status) => assert!(is_of_the_connection(&status), "{status:?}"),
        }
    }
    println!("{answered} of {} calls in flight were answered", requests.len());
    assert_eq!(games_in(&mut client).await, requests.len(), "each request made one game");
}

async fn games_in(client: &mut Client) -> usize {
    let request = v1::ListGamesRequest { page_size: 500, ..Default::default() };
    let page = client.list_games(request).await.expect("a page").into_inner();
    assert_eq!(page.next_page_token, "");
    page.games.len()
}

/// Both signals arrive while the process is stopped, so that nothing of the drain can come between them. A peer that sent
/// its preface alone is what holds a drain longest: the second that connections get to close.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut server = Process::start(&folder.path().join("games.redb"), &[]).await;
    let mut peer = TcpStream::connect(server.address).await.expect("the server accepts");
    peer.write_all(PREFACE).await.expect("the server reads");
    peer.readable().await.expect("the server's settings");
    server.signal(&["STOP", "TERM", "INT", "CONT"]).await;
    assert_eq!(server.ended().await.code(), Some(130), "{}", server.log());
    assert!(server.log().contains("second signal"), "{}", server.log());
}

/// A file that was not closed is checked as a whole before anything is served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_it_also_while_its_file_is_checked() {
    const MIB: usize = 1 << 20;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [open, left] = ["open", "left"].map(|name| folder.path().join(name));
    let database = redb::Database::create(&open).expect("a file");
    let writing = database.begin_write().expect("a transaction");
    {
        let large = redb::TableDefinition::<u64, &[u8]>::new("large");
        let mut large = writing.open_table(large).expect("a table");
        for key in 0..128 {
            large.insert(key, vec![key as u8; MIB].as_slice()).expect("it is written");
        }
    }
    writing.commit().expect("it is written");
    std::fs::copy(&open, &left).expect("it is copied");
    drop(database);
    let store = format!("file:{}", left.display());
    let mut server = Process::begun(reversid(&["--listen", "127.0.0.1:0", "--store", &store]));
    server.logged("store=").await;
    server.signal(&["TERM"]).await;
    assert_eq!(server.ended().await.code(), Some(0), "{}", server.log());
    assert!(server.log().contains("ended before it was ready"), "{}", server.log());
}

async fn second_process(file: &Path) -> String {
    let store = format!("file:{}", file.display());
    let ended = run(reversid(&["--listen", "127.0.0.1:0", "--store", &store])).await;
    assert_eq!(ended.status.code(), Some(1));
    errors(&ended)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_on_the_same_file_says_so_and_leaves_the_first_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let server = Process::start(&file, &[]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let said = second_process(&file).await;
    assert!(said.contains(&file.display().to_string()), "{said}");
    assert!(said.contains("in use by another process"), "{said}");
    assert!(said.contains("--store"), "it says what to do: {said}");
    client.make_move(table.play(Color::Black, "d3")).await.expect("the first goes on");
    assert_eq!(revision(&get(&mut client, &table.id).await.version), 2);
}
