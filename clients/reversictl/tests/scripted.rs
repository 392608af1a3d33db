//! What `reversictl` does when the server, or what lies between, does not behave: against a server that follows a script.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prost::Message as _;
use reversi_proto::server::{GameService, GameServiceServer};
use reversi_proto::{WatchFrame, v1, v1::watch_game_response::Message};
use support::run;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

type Frames = Vec<Result<WatchFrame, Status>>;

/// What to answer next, and what was asked.
#[derive(Default)]
struct Script {
    moves: VecDeque<Result<v1::MakeMoveResponse, Status>>,
    watches: VecDeque<Frames>,
    deletes: VecDeque<Result<v1::DeleteGameResponse, Status>>,
    asked_moves: Vec<v1::MakeMoveRequest>,
    /// The context that each of them came with.
    traces: Vec<String>,
    asked_watches: Vec<v1::WatchGameRequest>,
}

#[derive(Clone, Default)]
struct Scripted(Arc<Mutex<Script>>);

impl Scripted {
    /// Serves until the runtime ends; the address.
    async fn serve(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = GameServiceServer::new(self.clone());
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpListenerStream::new(listener)),
        );
        format!("http://{address}")
    }
}

type Answer<T> = Result<Response<T>, Status>;

fn not_in_the_script<T>() -> Answer<T> {
    Err(Status::unimplemented("not in the script"))
}

#[tonic::async_trait]
impl GameService for Scripted {
    type WatchGameStream = tokio_stream::Iter<std::vec::IntoIter<Result<WatchFrame, Status>>>;

    async fn make_move(&self, asked: Request<v1::MakeMoveRequest>) -> Answer<v1::MakeMoveResponse> {
        let mut script = self.0.lock().unwrap();
        let trace = asked.metadata().get("traceparent").map(|value| value.to_str().unwrap());
        script.traces.push(trace.unwrap_or_default().to_owned());
        script.asked_moves.push(asked.into_inner());
        script.moves.pop_front().unwrap_or(Err(Status::unavailable("over"))).map(Response::new)
    }
    async fn watch_game(
        &self,
        asked: Request<v1::WatchGameRequest>,
    ) -> Answer<Self::WatchGameStream> {
        let mut script = self.0.lock().unwrap();
        script.asked_watches.push(asked.into_inner());
        let frames = script.watches.pop_front().ok_or(Status::not_found("over"))?;
        Ok(Response::new(tokio_stream::iter(frames)))
    }
    async fn delete_game(
        &self,
        _: Request<v1::DeleteGameRequest>,
    ) -> Answer<v1::DeleteGameResponse> {
        let mut script = self.0.lock().unwrap();
        script.deletes.pop_front().unwrap_or(Err(Status::unavailable("over"))).map(Response::new)
    }
    async fn create_game(
        &self,
        _: Request<v1::CreateGameRequest>,
    ) -> Answer<v1::CreateGameResponse> {
        not_in_the_script()
    }
    async fn join_game(&self, _: Request<v1::JoinGameRequest>) -> Answer<v1::JoinGameResponse> {
        not_in_the_script()
    }
    async fn get_game(&self, _: Request<v1::GetGameRequest>) -> Answer<v1::GetGameResponse> {
        not_in_the_script()
    }
    async fn list_games(&self, _: Request<v1::ListGamesRequest>) -> Answer<v1::ListGamesResponse> {
        not_in_the_script()
    }
    async fn resign_game(
        &self,
        _: Request<v1::ResignGameRequest>,
    ) -> Answer<v1::ResignGameResponse> {
        not_in_the_script()
    }
    async fn abort_game(&self, _: Request<v1::AbortGameRequest>) -> Answer<v1::AbortGameResponse> {
        not_in_the_script()
    }
    async fn list_game_events(
        &self,
        _: Request<v1::ListGameEventsRequest>,
    ) -> Answer<v1::ListGameEventsResponse> {
        not_in_the_script()
    }
    async fn create_layout(
        &self,
        _: Request<v1::CreateLayoutRequest>,
    ) -> Answer<v1::CreateLayoutResponse> {
        not_in_the_script()
    }
    async fn get_layout(&self, _: Request<v1::GetLayoutRequest>) -> Answer<v1::GetLayoutResponse> {
        not_in_the_script()
    }
    async fn export_game(
        &self,
        _: Request<v1::ExportGameRequest>,
    ) -> Answer<v1::ExportGameResponse> {
        not_in_the_script()
    }
}

fn at(revision: u64) -> Option<v1::Version> {
    Some(v1::Version { revision, digest: 1000 + revision })
}

fn event(revision: u64) -> v1::GameEvent {
    v1::GameEvent {
        game_id: "g1".to_owned(),
        version: at(revision),
        previous_digest: 999 + revision,
        ..Default::default()
    }
}

/// A message as the server's side holds it: the same bytes.
fn frame(message: Message) -> Result<WatchFrame, Status> {
    let message = v1::WatchGameResponse { message: Some(message) };
    Ok(WatchFrame::decode(message.encode_to_vec().as_slice()).unwrap())
}

fn game(revision: u64) -> v1::Game {
    v1::Game { game_id: "g1".to_owned(), version: at(revision), ..Default::default() }
}

fn end() -> Result<WatchFrame, Status> {
    frame(Message::End(v1::WatchEnd { reason: 1 }))
}

fn caught_up(revision: u64) -> Result<WatchFrame, Status> {
    frame(Message::CaughtUp(v1::CaughtUp { version: at(revision) }))
}

fn draining() -> Status {
    let details = ErrorDetails::with_error_info("SERVER_DRAINING", "reversi.v1", []);
    Status::with_error_details(Code::Unavailable, "the server is draining", details)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_asked_for_again_under_the_same_request_id() {
    let scripted = Scripted::default();
    scripted.0.lock().unwrap().moves = [
        Err(Status::unavailable("the answer was lost")),
        Err(Status::deadline_exceeded("too slow")),
        Ok(v1::MakeMoveResponse { event: Some(event(2)) }),
    ]
    .into();
    let done = run(&scripted.serve().await, "move g1 d3 --token t --expect 1:5 --json");
    assert_eq!(done.object()["event"]["version"]["revision"], "2");
    let asked = &scripted.0.lock().unwrap().asked_moves;
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].request_id.len(), 36);
    assert_eq!(asked[0].expected_version, Some(v1::Version { revision: 1, digest: 5 }));
    assert!(asked.iter().all(|one| *one == asked[0]), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_belong_to_the_trace_that_the_environment_names() {
    let scripted = Scripted::default();
    scripted.0.lock().unwrap().moves = [Ok(v1::MakeMoveResponse { event: Some(event(2)) })].into();
    assert_eq!(run(&scripted.serve().await, "move g1 d3 --token t").code, 0);
    assert_eq!(scripted.0.lock().unwrap().traces, [support::TRACEPARENT]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_stays_unknown_tells_how_to_find_out() {
    let scripted = Scripted::default();
    let done = run(&scripted.serve().await, "move g1 d3 --token t");
    assert_eq!(done.code, 3);
    let asked = &scripted.0.lock().unwrap().asked_moves;
    assert!(done.stderr.contains(&format!("--request-id {}", asked[0].request_id)), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_for_a_wait_gets_it() {
    let scripted = Scripted::default();
    let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(700)));
    scripted.0.lock().unwrap().moves = [
        Err(Status::with_error_details(Code::ResourceExhausted, "full", details)),
        Ok(v1::MakeMoveResponse { event: Some(event(2)) }),
    ]
    .into();
    let url = scripted.serve().await;
    let started = Instant::now();
    assert_eq!(run(&url, "move g1 d3 --token t").code, 0);
    assert!(started.elapsed() >= Duration::from_millis(700));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_at_once() {
    let scripted = Scripted::default();
    let metadata = [("to_move".to_owned(), "COLOR_WHITE".to_owned())];
    let details = ErrorDetails::with_error_info("NOT_YOUR_TURN", "reversi.v1", metadata);
    let refusal = Status::with_error_details(Code::FailedPrecondition, "not yours", details);
    scripted.0.lock().unwrap().moves = [Err(refusal)].into();
    let done = run(&scripted.serve().await, "move g1 d3 --token t");
    assert_eq!(done.code, 1);
    assert!(done.stderr.contains("It is white's turn"), "{done:?}");
    assert_eq!(scripted.0.lock().unwrap().asked_moves.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_whose_answer_was_lost_is_done_when_no_game_is_left() {
    let scripted = Scripted::default();
    let gone = || Err(Status::not_found("no such game"));
    scripted.0.lock().unwrap().deletes = [Err(Status::unavailable("lost")), gone(), gone()].into();
    let url = scripted.serve().await;
    assert_eq!(run(&url, "delete g1 --token t").code, 0);
    assert_eq!(run(&url, "delete g1 --token t").code, 1, "it was not this call that deleted it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_resumes_after_what_it_saw_last_and_shows_nothing_twice() {
    let scripted = Scripted::default();
    scripted.0.lock().unwrap().watches = [
        vec![frame(Message::Snapshot(game(1))), frame(Message::Event(event(2))), Err(draining())],
        vec![caught_up(2), frame(Message::Event(event(3)))],
        vec![caught_up(3), frame(Message::Event(event(4))), end()],
    ]
    .into();
    let done = run(&scripted.serve().await, "watch g1 --json");
    assert_eq!(done.code, 0, "{done:?}");
    let revisions: Vec<_> = done
        .json()
        .iter()
        .filter_map(|line| Some(line.get("event")?["version"]["revision"].clone()))
        .collect();
    assert_eq!(revisions, ["2", "3", "4"]);
    assert!(done.stderr.contains("the server is draining"), "{done:?}");
    assert!(done.stderr.contains("ended without saying why"), "{done:?}");
    let resumed: Vec<_> =
        scripted.0.lock().unwrap().asked_watches.iter().map(|asked| asked.resume_after).collect();
    assert_eq!(resumed, [None, at(2), at(3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_breaks_is_told_and_not_forgotten() {
    let scripted = Scripted::default();
    let forged = v1::GameEvent { previous_digest: 7, ..event(2) };
    scripted.0.lock().unwrap().watches = [
        vec![
            frame(Message::Snapshot(game(1))),
            frame(Message::Event(forged)),
            frame(Message::Event(event(3))),
            end(),
        ],
        vec![frame(Message::Snapshot(game(1))), frame(Message::Event(event(3))), end()],
    ]
    .into();
    let url = scripted.serve().await;
    for fault in ["follows on digest 0x0000000000000007", "revision 3 came after 1"] {
        let done = run(&url, "watch g1");
        assert_eq!(done.code, 4, "{done:?}");
        assert!(done.stderr.contains(fault), "{done:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_the_server_lost_is_told_and_followed_from_there() {
    let scripted = Scripted::default();
    let reset = v1::HistoryReset { reason: 1, game: Some(game(3)) };
    scripted.0.lock().unwrap().watches =
        [vec![frame(Message::Reset(reset)), frame(Message::Event(event(4))), end()]].into();
    let done = run(&scripted.serve().await, "watch g1 --after 9:1009");
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains("it lost changes"), "{done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_told_to_run_once_stops_with_the_stream() {
    let scripted = Scripted::default();
    scripted.0.lock().unwrap().watches =
        [vec![frame(Message::Snapshot(game(1))), Err(draining())]].into();
    let url = scripted.serve().await;
    assert_eq!(run(&url, "watch g1 --once").code, 3);
    assert_eq!(run(&url, "watch g1").code, 1, "a game that is not there ends it too");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_server_says_can_steer_the_terminal() {
    let scripted = Scripted::default();
    let evil = "\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\r\n";
    let seat = v1::Seat {
        color: 1,
        player_id: evil.to_owned(),
        display_name: evil.to_owned(),
        claimed: true,
        resigned: false,
    };
    let position = v1::Position {
        board: evil.to_owned(),
        legal_moves: vec![evil.to_owned()],
        counts: vec![v1::DiscCount { color: 1, discs: 2 }],
        to_move: 1,
        ..Default::default()
    };
    let hostile = v1::Game {
        game_id: evil.to_owned(),
        status: 2,
        seats: vec![seat],
        labels: [(evil.to_owned(), evil.to_owned())].into(),
        position: Some(position),
        layout: Some(v1::Layout { squares: vec![evil.to_owned()], ..Default::default() }),
        rules: Some(v1::Rules::default()),
        ..game(1)
    };
    let played = v1::MovePlayed {
        square: evil.to_owned(),
        flips: vec![evil.to_owned()],
        ..Default::default()
    };
    let change = v1::game_event::Change::MovePlayed(played);
    let moved = v1::GameEvent { change: Some(change), ..event(2) };
    let watch = || {
        vec![frame(Message::Snapshot(hostile.clone())), frame(Message::Event(moved.clone())), end()]
    };
    let failed = || vec![Err(Status::invalid_argument(evil))];
    scripted.0.lock().unwrap().watches = [watch(), watch(), failed(), failed()].into();
    let url = scripted.serve().await;
    for arguments in ["watch g1", "watch g1 --json", "watch g1", "watch g1 --json"] {
        let done = run(&url, arguments);
        let said = done.stdout.replace('\n', "") + &done.stderr.replace('\n', "");
        assert!(said.contains("owned"), "{done:?}");
        assert!(!said.contains(|c: char| c.is_control() || c == '\u{202e}'), "{said:?}");
    }
}
