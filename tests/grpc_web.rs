//! Browsers speak with the server without a proxy: gRPC-Web, binary and text, over HTTP/1.1 and HTTP/2, from pages of
//! any origin.

mod common;

use bytes::{Buf as _, Bytes, BytesMut};
use common::{
    junk::assert_sound,
    raw::{Answer, Body, Raw, framed, full, http1, read},
    *,
};
use data_encoding::BASE64;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use prost::Message as _;
use reversi_proto::v1::{self, Color, watch_game_response::Message};
use tokio::time::timeout;
use tonic::Code;

on_every_store!(
    a_call_is_answered_in_every_form,
    a_refusal_says_why_in_every_form,
    a_watch_is_streamed_in_every_form,
    a_page_of_any_origin_may_call_and_read_every_status,
    what_is_neither_grpc_nor_grpc_web_is_refused_over_http_1,
);

#[derive(Clone, Copy, Debug)]
enum Over {
    Http1,
    Http2,
}

/// Every form that a browser may speak.
const FORMS: [(Over, &str); 4] = [
    (Over::Http1, "application/grpc-web+proto"),
    (Over::Http1, "application/grpc-web-text+proto"),
    (Over::Http2, "application/grpc-web+proto"),
    (Over::Http2, "application/grpc-web-text+proto"),
];

const ORIGIN: &str = "https://play.example";

async fn send(server: &TestServer, over: Over, request: Request<Body>) -> Response<Incoming> {
    match over {
        Over::Http1 => http1(server.address, request).await,
        Over::Http2 => {
            Raw::connect(server.address).await.open(request).await.expect("an answer comes")
        }
    }
}

/// A call as a browser's client frames it.
async fn call(
    server: &TestServer,
    (over, form): (Over, &str),
    method: &str,
    message: &impl prost::Message,
) -> Response<Incoming> {
    let body = framed(0, &message.encode_to_vec());
    let body = if is_text(form) { BASE64.encode(&body).into() } else { body };
    let request =
        Request::post(format!("http://{}/reversi.v1.GameService/{method}", server.address))
            .header("host", server.address.to_string())
            .header("content-type", form)
            .header("accept", form)
            .header("origin", ORIGIN)
            .header("x-grpc-web", "1");
    send(server, over, request.body(full(body)).expect("a request")).await
}

fn is_text(form: &str) -> bool {
    form.contains("-text")
}

/// Reads the frames of a body as they come.
struct Frames {
    body: Incoming,
    text: bool,
    /// What has come and was not decoded: of a text, less than four characters.
    coded: BytesMut,
    decoded: BytesMut,
}

impl Frames {
    fn of(response: Response<Incoming>) -> (HeaderMap, Self) {
        let (head, body) = response.into_parts();
        assert_eq!(head.status, 200);
        let form = head.headers["content-type"].to_str().expect("text").to_owned();
        assert!(form.starts_with("application/grpc-web"), "{form}");
        let (coded, decoded) = (BytesMut::new(), BytesMut::new());
        (head.headers, Self { body, text: is_text(&form), coded, decoded })
    }

    /// The next frame: its flag and contents. None at the end of the body.
    async fn next(&mut self) -> Option<(u8, Bytes)> {
        loop {
            if let Some(([flag, length @ ..], rest)) = self.decoded.split_first_chunk::<5>() {
                let (flag, length) = (*flag, u32::from_be_bytes(*length) as usize);
                if rest.len() >= length {
                    self.decoded.advance(5);
                    return Some((flag, self.decoded.split_to(length).freeze()));
                }
            }
            let more = timeout(PATIENCE, self.body.frame()).await.expect("it goes on in time")?;
            let more = more.expect("the connection holds").into_data().expect("trailers are data");
            if self.text {
                self.coded.extend(more);
                let whole = self.coded.len() / 4 * 4;
                for four in self.coded.split_to(whole).chunks(4) {
                    self.decoded.extend(BASE64.decode(four).expect("base 64"));
                }
            } else {
                self.decoded.extend(more);
            }
        }
    }
}

/// The flag of the frame that holds the trailers.
const TRAILERS: u8 = 0x80;

fn trailers(frame: &[u8]) -> HeaderMap {
    let text = std::str::from_utf8(frame).expect("trailers are text");
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').expect("a name and a value");
        let name: http::HeaderName = name.trim().parse().expect("a name");
        (name, value.trim().parse().expect("a value"))
    };
    text.lines().filter(|line| !line.is_empty()).map(pair).collect()
}

async fn a_call_is_answered_in_every_form(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let request = v1::GetGameRequest { game_id: table.id.clone() };
    for form in FORMS {
        let (_, mut frames) = Frames::of(call(&server, form, "GetGame", &request).await);
        let (flag, message) = frames.next().await.expect("a message");
        assert_eq!(flag, 0, "{form:?}");
        let answer = v1::GetGameResponse::decode(message).expect("the answer's message");
        assert_eq!(answer.game, Some(table.game.clone()), "{form:?}");
        let (flag, end) = frames.next().await.expect("trailers");
        assert_eq!((flag, &trailers(&end)["grpc-status"]), (TRAILERS, &"0".parse().expect("0")));
        assert_eq!(frames.next().await, None);
    }
}

async fn a_refusal_says_why_in_every_form(store: StoreKind) {
    let server = TestServer::start(store).await;
    for form in FORMS {
        let none = v1::GetGameRequest { game_id: "none".into() };
        for (request, code) in
            [(none, Code::NotFound), (v1::GetGameRequest::default(), Code::InvalidArgument)]
        {
            let (headers, mut frames) = Frames::of(call(&server, form, "GetGame", &request).await);
            // A status without a message stands in the headers, or else in a frame of its own.
            let trailers = match frames.next().await {
                Some((TRAILERS, frame)) => trailers(&frame),
                Some(other) => panic!("{other:?} for {form:?}"),
                None => HeaderMap::new(),
            };
            let http = http::StatusCode::OK;
            let answer = Answer { http, headers, body: Bytes::new(), trailers };
            assert_eq!(assert_sound(&answer, &form), code);
        }
    }
}

async fn a_watch_is_streamed_in_every_form(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    for form in FORMS {
        let table = create(&mut client, v1::Rules::default()).await;
        let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
        let (_, mut frames) = Frames::of(call(&server, form, "WatchGame", &request).await);
        let message = async |frames: &mut Frames| {
            let (flag, message) = frames.next().await.expect("a message");
            assert_eq!(flag, 0, "{form:?}");
            let message = v1::WatchGameResponse::decode(message).expect("a watch's message");
            message.message.expect("one of them")
        };
        assert_eq!(message(&mut frames).await, Message::Snapshot(table.game.clone()));
        // Each is told before the next is asked for: nothing waits for the end of the body.
        let made = client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
        let event = made.into_inner().event.expect("an event");
        assert_eq!(message(&mut frames).await, Message::Event(event), "{form:?}");
        let abort = v1::AbortGameRequest {
            game_id: table.id,
            owner_token: table.owner,
            ..Default::default()
        };
        let aborted = client.abort_game(abort).await.expect("it is the owner's").into_inner();
        assert_eq!(message(&mut frames).await, Message::Event(aborted.event.expect("an event")));
        assert!(matches!(message(&mut frames).await, Message::End(_)));
        let (flag, end) = frames.next().await.expect("trailers");
        assert_eq!((flag, &trailers(&end)["grpc-status"]), (TRAILERS, &"0".parse().expect("0")));
    }
}

/// The names in a header that lists some.
fn listed(headers: &HeaderMap, name: &str) -> Vec<String> {
    let text = headers[name].to_str().expect("text");
    text.split(',').map(|part| part.trim().to_ascii_lowercase()).collect()
}

async fn a_page_of_any_origin_may_call_and_read_every_status(store: StoreKind) {
    let server = TestServer::start(store).await;
    for over in [Over::Http1, Over::Http2] {
        let wanted = "content-type,x-grpc-web,x-user-agent,grpc-timeout";
        let request = Request::builder()
            .method(Method::OPTIONS)
            .uri(format!("http://{}/reversi.v1.GameService/GetGame", server.address))
            .header("host", server.address.to_string())
            .header("origin", ORIGIN)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", wanted)
            .body(full(Bytes::new()))
            .expect("a request");
        let answer = read(send(&server, over, request).await).await.expect("an answer");
        assert!(answer.http.is_success(), "{over:?}: {}", answer.http);
        assert_eq!(answer.headers["access-control-allow-origin"], "*");
        for allowed in ["access-control-allow-methods", "access-control-allow-headers"] {
            assert_eq!(listed(&answer.headers, allowed), ["*"], "{over:?}");
        }
    }
    for form in FORMS {
        let request = v1::GetGameRequest { game_id: "none".into() };
        let (headers, _) = Frames::of(call(&server, form, "GetGame", &request).await);
        assert_eq!(headers["access-control-allow-origin"], "*");
        let exposed = listed(&headers, "access-control-expose-headers");
        for name in ["grpc-status", "grpc-message", "grpc-status-details-bin"] {
            assert!(exposed.iter().any(|other| other == name), "{name} in {exposed:?}");
        }
    }
}

async fn what_is_neither_grpc_nor_grpc_web_is_refused_over_http_1(store: StoreKind) {
    let server = TestServer::start(store).await;
    for (method, form) in [
        (Method::GET, "text/html"),
        (Method::POST, "application/json"),
        (Method::POST, "application/grpc"),
        (Method::GET, "application/grpc-web+proto"),
    ] {
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("http://{}/reversi.v1.GameService/GetGame", server.address))
            .header("host", server.address.to_string())
            .header("content-type", form)
            .body(full(framed(0, &[])))
            .expect("a request");
        let answer = read(http1(server.address, request).await).await.expect("an answer");
        assert!(answer.http.is_client_error(), "{method} {form}: {}", answer.http);
    }
}
