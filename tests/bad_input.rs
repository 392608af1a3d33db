//! Whatever bytes a client sends, it gets a clear status, and the server is there for the next one.

mod common;

use bytes::Bytes;
use common::{
    junk::{Contract, Known, Random, assert_no_panics, assert_sound, count_panics},
    raw::{Answer, Raw, framed, full},
    *,
};
use prost::Message as _;
use reversi_proto::v1;
use tonic::Code;
use tonic_types::StatusExt as _;

on_every_store!(
    random_bytes_get_a_clear_status,
    random_messages_get_a_clear_status,
    messages_cut_short_or_damaged_get_a_clear_status,
    a_body_that_is_not_exactly_one_message_is_refused,
    what_is_no_grpc_is_not_taken_for_it,
    messages_up_to_the_limit_are_read_and_larger_ones_refused,
    every_bad_field_is_named_up_to_twenty,
    ids_and_names_are_bounded,
    pages_are_bounded_and_tokens_checked,
    deadlines_of_every_form_are_taken_or_ignored,
);

/// How many calls of each kind of junk go to each method.
const ROUNDS: usize = 40;

/// A server, a connection, and texts that mean something there.
struct Target {
    server: TestServer,
    raw: Raw,
    known: Known,
    random: Random,
    contract: Contract,
}

impl Target {
    async fn start(store: StoreKind) -> Self {
        count_panics();
        // A watch that opens by chance is not to last.
        let server = TestServer::with(store, &["--watch-lifetime", "50ms"]).await;
        let mut client = server.client().await;
        let table = create(&mut client, v1::Rules::default()).await;
        let layout = v1::CreateLayoutRequest { count: 2, ..Default::default() };
        let layout = client.create_layout(layout).await.expect("a layout").into_inner().layout;
        let mut known =
            vec![("game_id", table.id), ("layout_id", layout.expect("a layout").layout_id)];
        known.extend(table.tokens.into_values().map(|token| ("seat_token", token)));
        let seed = u64::from(uuid::Uuid::new_v4().as_fields().0);
        println!("seed {seed}");
        let raw = Raw::connect(server.address).await;
        Self { server, raw, known, random: Random(seed), contract: Contract::read() }
    }

    /// Nothing that was sent has done harm.
    async fn assert_well(self) {
        let mut client = self.server.client().await;
        let table = create(&mut client, v1::Rules::default()).await;
        play_out(&mut client, &table).await;
        // On the old connection too.
        let answer = self.raw.message("ListGames", &[]).await;
        assert_eq!(assert_sound(&answer, &"a good call"), Code::Ok);
        assert_no_panics();
    }

    async fn send(&self, method: &str, message: &[u8]) -> Code {
        let answer = self.raw.message(method, message).await;
        assert_sound(&answer, &(method, Bytes::copy_from_slice(message)))
    }
}

async fn random_bytes_get_a_clear_status(store: StoreKind) {
    let mut target = Target::start(store).await;
    let mut refused = 0;
    for _ in 0..ROUNDS {
        for (method, _) in target.contract.methods.clone() {
            let length = 1 + target.random.below(300);
            let message = target.random.bytes(length);
            refused += usize::from(target.send(&method, &message).await == Code::InvalidArgument);
            let whole = target.random.bytes(length);
            let answer = target.raw.call(&method, &[], whole.clone().into()).await;
            assert_ne!(assert_sound(&answer, &(method, whole)), Code::Ok);
        }
    }
    assert!(refused > ROUNDS, "most random bytes are no message");
    target.assert_well().await;
}

async fn random_messages_get_a_clear_status(store: StoreKind) {
    let mut target = Target::start(store).await;
    let mut codes = std::collections::BTreeMap::<String, usize>::new();
    for _ in 0..ROUNDS {
        for (method, request) in target.contract.methods.clone() {
            let message = target.contract.message(&mut target.random, &request, &target.known);
            let code = target.send(&method, &message).await;
            *codes.entry(format!("{code:?}")).or_default() += 1;
        }
    }
    println!("{codes:?}");
    assert!(codes.contains_key("Ok") && codes.contains_key("InvalidArgument"));
    target.assert_well().await;
}

async fn messages_cut_short_or_damaged_get_a_clear_status(store: StoreKind) {
    let mut target = Target::start(store).await;
    for _ in 0..ROUNDS {
        for (method, request) in target.contract.methods.clone() {
            let mut message = target.contract.message(&mut target.random, &request, &target.known);
            if message.is_empty() {
                continue;
            }
            let length = target.random.below(message.len());
            target.send(&method, &message[..length]).await;
            let at = target.random.below(message.len());
            message[at] ^= 1 << target.random.below(8);
            target.send(&method, &message).await;
        }
    }
    target.assert_well().await;
}

/// That the form of the request as a whole is at fault.
fn assert_malformed(answer: &Answer, what: &str) {
    assert_eq!(assert_sound(answer, &what), Code::InvalidArgument, "{what}");
}

async fn a_body_that_is_not_exactly_one_message_is_refused(store: StoreKind) {
    let target = Target::start(store).await;
    let good = framed(0, &[]);
    for (method, _) in &target.contract.methods {
        let bodies: [(&str, Bytes); 8] = [
            ("nothing", Bytes::new()),
            ("half a prefix", good.slice(..3)),
            ("a length past the end", Bytes::from_static(&[0, 0, 0, 0, 9, 1])),
            ("the longest length", Bytes::from_static(&[0, 255, 255, 255, 255, 1])),
            ("a length before the end", Bytes::from_static(&[0, 0, 0, 0, 0, 1])),
            ("two messages", [&good[..], &good[..]].concat().into()),
            ("compressed, by nothing that was named", framed(1, &[])),
            ("an unknown flag", framed(2, &[])),
        ];
        for (what, body) in bodies {
            let answer = target.raw.call(method, &[], body).await;
            assert_malformed(&answer, &format!("{what} to {method}"));
        }
        let answer = target.raw.call(method, &[("grpc-encoding", "gzip")], framed(1, &[])).await;
        assert_eq!(assert_sound(&answer, &"gzip"), Code::Unimplemented);
        assert!(answer.headers.contains_key("grpc-accept-encoding"), "it says what would do");
    }
    target.assert_well().await;
}

async fn what_is_no_grpc_is_not_taken_for_it(store: StoreKind) {
    let target = Target::start(store).await;
    for content_type in ["", "text/plain", "application/json", "application/x-www-form-urlencoded"]
    {
        let headers = [("content-type", content_type)];
        let answer = target.raw.call("CreateGame", &headers, framed(0, &[])).await;
        assert_eq!(answer.http, 415, "{content_type}");
        assert!(answer.status().is_none());
    }
    for path in ["/", "/reversi.v1.GameService/", "/reversi.v1.GameService/NoSuch", "/no.such/M"] {
        let answer = target.raw.call(path, &[], framed(0, &[])).await;
        assert_eq!(
            answer.status().map(|status| status.code()),
            Some(Code::Unimplemented),
            "{path}"
        );
    }
    let answer = target.raw.call("/reversi.v1.GameService/NoSuch", &[], framed(0, &[])).await;
    assert_eq!(assert_sound(&answer, &"an unknown method"), Code::Unimplemented);
    let mut request = target.raw.post("GetGame", &[], full(Bytes::new()));
    *request.method_mut() = http::Method::GET;
    assert_malformed(&target.raw.send(request).await.expect("an answer"), "GET");
    target.assert_well().await;
}

/// The largest message that is read, as the contract says it.
const MESSAGE_MAX: usize = 256 << 10;

/// A CreateGame of exactly so many bytes: all of it an unknown field, which is no fault.
fn create_of(length: usize) -> Vec<u8> {
    let mut message = vec![0xfa, 0x7f]; // field 2047, with a length before it
    let content = length - 2 - 3;
    prost::encoding::encode_varint(content as u64, &mut message);
    message.resize(message.len() + content, b'x');
    message
}

async fn messages_up_to_the_limit_are_read_and_larger_ones_refused(store: StoreKind) {
    let target = Target::start(store).await;
    let message = create_of(MESSAGE_MAX);
    assert_eq!(message.len(), MESSAGE_MAX);
    assert_eq!(target.send("CreateGame", &message).await, Code::Ok);
    let five_mib = vec![0; 5 << 20];
    for message in [&create_of(MESSAGE_MAX + 1), &five_mib] {
        for (method, _) in &target.contract.methods {
            let answer = target.raw.message(method, message).await;
            assert_eq!(assert_sound(&answer, &method), Code::ResourceExhausted);
            let refused = refused(&answer.status().expect("a status"));
            assert_eq!(refused.metadata["limit"], "message_bytes");
            assert_eq!(refused.retry_after, None, "waiting does not make it smaller");
        }
    }
    target.assert_well().await;
}

/// The fields that a CreateGame is refused for, and what is said of each.
async fn faults(target: &Target, request: v1::CreateGameRequest) -> Vec<(String, String)> {
    let answer = target.raw.message("CreateGame", &request.encode_to_vec()).await;
    assert_eq!(assert_sound(&answer, &"faults"), Code::InvalidArgument);
    println!("{} bytes of headers", answer.header_bytes());
    let details = answer.status().expect("a status").get_error_details();
    let bad = details.bad_request().expect("the form is at fault").clone();
    bad.field_violations.into_iter().map(|fault| (fault.field, fault.description)).collect()
}

async fn every_bad_field_is_named_up_to_twenty(store: StoreKind) {
    let target = Target::start(store).await;
    let labels = |count: usize, key: &str, value: &str| {
        (0..count).map(|n| (format!("{key}{n}"), value.to_owned())).collect()
    };
    let squares = vec!["z99".into(); 10_000];
    let blocked_squares = Some(v1::BlockedSquares { squares, ..Default::default() });
    let many = v1::CreateGameRequest {
        labels: labels(10_000, "key", "value"),
        rules: Some(v1::Rules { players: 9, board: 77, blocked_squares, ..Default::default() }),
        seats: vec![v1::NewSeat { display_name: "\u{1b}[31m".into(), ..Default::default() }; 1_000],
        request_id: "no uuid".into(),
    };
    let many = faults(&target, many).await;
    for field in [
        "labels",
        "request_id",
        "rules.board",
        "rules.players",
        "rules.blocked_squares.squares",
        "rules.blocked_squares.squares[0]",
        "seats[0].display_name",
    ] {
        assert!(many.iter().any(|(at, _)| at == field), "{field} in {many:?}");
    }

    // What takes the most bytes to name: each character is escaped, each key and each value at fault.
    let labels = labels(32, &"\u{10ffff}".repeat(20), &"\u{10ffff}".repeat(65));
    let wide = faults(&target, v1::CreateGameRequest { labels, ..Default::default() }).await;
    assert_eq!(wide.len(), 21);
    assert_eq!(wide[20], (String::new(), "44 more faults are not listed".to_owned()));
    target.assert_well().await;
}

async fn ids_and_names_are_bounded(store: StoreKind) {
    let target = Target::start(store).await;
    let mut client = target.server.client().await;
    for (id, code) in [
        (String::new(), Code::InvalidArgument),
        ("x".repeat(64), Code::NotFound),
        ("\0".repeat(64), Code::NotFound),
        ("x".repeat(65), Code::InvalidArgument),
        ("é".repeat(33), Code::InvalidArgument),
        ("x".repeat(200_000), Code::InvalidArgument),
    ] {
        let got = client.get_game(v1::GetGameRequest { game_id: id.clone() }).await;
        let got = refusal(got);
        assert_eq!(got.code, code, "{} bytes", id.len());
        let expected: &[&str] = if code == Code::NotFound { &[] } else { &["game_id"] };
        assert_eq!(got.fields, expected);
    }
    // A string that is no UTF-8, in a field that is a string.
    assert_eq!(target.send("GetGame", &[10, 2, 0xc3, 0x28]).await, Code::InvalidArgument);

    let named = |player_id: String, display_name: String| v1::CreateGameRequest {
        seats: vec![v1::NewSeat { player_id, display_name, open: false }, v1::NewSeat::default()],
        ..Default::default()
    };
    let longest = named("é".repeat(32), "é".repeat(64));
    client.create_game(longest).await.expect("64 and 128 bytes are taken");
    let too_long = refusal(client.create_game(named("x".repeat(65), "x".repeat(129))).await);
    assert_eq!(too_long.fields, ["seats[0].player_id", "seats[0].display_name"]);
    for control in ["\0", "\n", "\u{1b}", "\u{7f}", "\u{85}"] {
        let refused = refusal(client.create_game(named(control.into(), control.into())).await);
        assert_eq!(refused.fields, ["seats[0].player_id", "seats[0].display_name"], "{control:?}");
    }
    target.assert_well().await;
}

async fn pages_are_bounded_and_tokens_checked(store: StoreKind) {
    let target = Target::start(store).await;
    let mut client = target.server.client().await;
    let list = |page_size, page_token: &str| v1::ListGamesRequest {
        page_size,
        page_token: page_token.into(),
        ..Default::default()
    };
    client.list_games(list(i32::MAX, "")).await.expect("as many as may be");
    assert_eq!(refusal(client.list_games(list(-1, "")).await).fields, ["page_size"]);
    assert_eq!(refusal(client.list_games(list(i32::MIN, "")).await).fields, ["page_size"]);
    let tokens = ["x", "AQ", "\0", "é", "AQAAAAAA////////////", &"A".repeat(200_000)];
    for token in tokens {
        assert_eq!(refusal(client.list_games(list(1, token)).await).fields, ["page_token"]);
        let request = v1::ListGameEventsRequest {
            game_id: target.known[0].1.clone(),
            page_token: token.into(),
            ..Default::default()
        };
        assert_eq!(refusal(client.list_game_events(request).await).fields, ["page_token"]);
    }
    target.assert_well().await;
}

async fn deadlines_of_every_form_are_taken_or_ignored(store: StoreKind) {
    let target = Target::start(store).await;
    for timeout in ["99999999H", "99999999S", "1M", "60000m", "100S"] {
        let answer =
            target.raw.call("ListGames", &[("grpc-timeout", timeout)], framed(0, &[])).await;
        assert_eq!(assert_sound(&answer, &timeout), Code::Ok, "{timeout}");
    }
    // What the protocol does not know is no deadline.
    let long = "9".repeat(10_000) + "S";
    for timeout in ["", "S", "1", "-1S", "1.5S", "1s", "999999999S", "1 S", "\u{e9}", &long] {
        let answer =
            target.raw.call("ListGames", &[("grpc-timeout", timeout)], framed(0, &[])).await;
        assert_eq!(assert_sound(&answer, &timeout), Code::Ok, "{timeout}");
    }
    // Past before it began: whether it was done is not known, but that is what is said.
    for timeout in ["0n", "1n", "0S"] {
        for (method, _) in &target.contract.methods {
            let headers = [("grpc-timeout", timeout)];
            let answer = target.raw.call(method, &headers, framed(0, &[])).await;
            assert_sound(&answer, &(method, timeout));
        }
    }
    target.assert_well().await;
}
