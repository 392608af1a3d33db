//! What is counted adds up, is there from the start, and cannot be told apart by what a client makes up; the port that it is
//! read at is bounded.

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::{Duration, Instant},
};

use bytes::Bytes;
use common::{
    metrics::{Samples, http, scrape},
    process::{Process, reversid},
    raw::Raw,
    watch::Watch,
    *,
};
use reversi_proto::v1::{self, Color};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

async fn serving() -> Process {
    let flags = ["--listen", "127.0.0.1:0", "--store", "memory:", "--admin-listen", "127.0.0.1:0"];
    Process::of(reversid(&flags)).await
}

fn document(name: &str) -> String {
    let path = format!("{}/docs/{name}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(path).expect("the document is there")
}

/// Cells of table rows that begin with a name between back ticks.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        row.trim_end_matches(" |").split(" | ").map(|cell| cell.trim_matches('`')).collect()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_metric_of_the_documents_is_there_and_no_other() {
    let server = serving().await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    watch.snapshot().await;
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    watch.event().await;
    let samples = scrape(server.admin().await).await;

    let text = document("telemetry.md");
    assert!(text.contains("`target_info`"), "it is not an instrument, but it is there");
    let told: BTreeMap<_, _> = rows(&text)
        .filter(|cells| cells.len() == 5)
        .map(|cells| {
            // What goes up and down is a gauge to Prometheus.
            let kind = if cells[2].starts_with("up-down") { "gauge" } else { cells[2] };
            (cells[1], kind)
        })
        .collect();
    let mut types = samples.types();
    assert_eq!(types.remove("target_info"), Some("gauge"), "who we are");
    assert_eq!(types, told);
    let build = ["version=", "commit=", "rustc="];
    assert!(build.iter().all(|label| samples.has("reversi_build_info", label)), "{}", samples.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_begin_at_zero_with_every_value_that_they_can_be_told_apart_by() {
    let server = serving().await;
    let samples = scrape(server.admin().await).await;
    let errors = document("errors.md");
    let screaming = |text: &str| text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let rows = errors.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    let reasons: BTreeSet<_> =
        rows.map(|cell| cell.trim_matches('`')).filter(|reason| screaming(reason)).collect();
    assert!(reasons.len() > 20, "the reasons were found: {reasons:?}");
    for reason in reasons {
        let label = format!("reason=\"{reason}\"");
        assert!(samples.has("reversi_refusals_total", &label), "{reason}");
    }
    for (metric, label) in [
        ("reversi_commit_conflicts_total", "change=\"move\""),
        ("reversi_store_errors_total", "kind=\"unavailable\""),
        ("reversi_watch_catch_ups_total", "cause=\"poll\""),
        ("reversi_watch_resets_total", "reason=\"history_diverged\""),
        ("reversi_watch_ends_total", "reason=\"watcher_too_slow\""),
        ("reversi_cache_lookups_total", "result=\"hit\""),
        ("reversi_calls_in_flight", ""),
        ("reversi_swept_total", ""),
    ] {
        assert!(samples.has(metric, label), "{metric} {label} in {}", samples.text);
        assert_eq!(samples.sum(metric, &[label]), 0.0, "{metric} {label}");
    }
    assert_eq!(samples.sum("reversi_store_ready", &[]), 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_players_do_adds_up() {
    let server = serving().await;
    let admin = server.admin().await;
    let mut client = server.client().await;

    let open = v1::CreateGameRequest {
        seats: vec![
            v1::NewSeat { player_id: "ann".into(), ..Default::default() },
            v1::NewSeat { open: true, ..Default::default() },
        ],
        ..Default::default()
    };
    let waiting = create_with(&mut client, open).await;
    let join = v1::JoinGameRequest {
        game_id: waiting.id.clone(),
        player_id: "bob".into(),
        ..Default::default()
    };
    client.join_game(join).await.expect("a seat is open");
    let four = v1::Rules { board: v1::Board::Octagon.into(), players: 4, ..Default::default() };
    create(&mut client, four).await;

    let table = create(&mut client, v1::Rules::default()).await;
    let illegal = refusal(client.make_move(table.play(Color::Black, "a1")).await);
    assert_eq!(illegal.reason, "ILLEGAL_MOVE");
    let mut watch = Watch::of(&mut client, &table.id).await;
    watch.snapshot().await;
    let during = scrape(admin).await;
    assert_eq!(during.sum("reversi_watchers", &[]), 1.0);
    assert_eq!(during.sum("reversi_watched_games", &[]), 1.0);
    assert_eq!(during.sum("reversi_connections", &[]), 1.0);
    let played = play_out(&mut client, &table).await;
    let moves = played.len() as f64;
    for _ in &played {
        watch.event().await;
    }
    watch.end().await;
    // Of a game that goes on, so that its watchers are the ones who leave.
    let mut late = Watch::resumed(&mut client, &waiting.id, waiting.game.version).await;
    late.event().await;
    let ahead = v1::Version { revision: 1_000, digest: 7 };
    Watch::resumed(&mut client, &waiting.id, Some(ahead)).await.reset().await;
    drop(late);

    // An end is counted a moment after its watcher has gone.
    let mut samples = scrape(admin).await;
    until("every watch has ended", async || {
        samples = scrape(admin).await;
        samples.sum("reversi_watchers", &[]) == 0.0
    })
    .await;
    let calls = |method: &str, code: &str| {
        samples.sum(
            "rpc_server_call_duration_seconds_count",
            &[
                &format!("rpc_method=\"reversi.v1.GameService/{method}\""),
                &format!("rpc_response_status_code=\"{code}\""),
                "rpc_system_name=\"grpc\"",
            ],
        )
    };
    assert_eq!(calls("MakeMove", "OK"), moves);
    assert_eq!(calls("MakeMove", "FAILED_PRECONDITION"), 1.0);
    assert_eq!(calls("CreateGame", "OK"), 3.0);
    assert_eq!(calls("JoinGame", "OK"), 1.0);
    assert_eq!(calls("WatchGame", "OK"), 3.0, "a watch is a call when it opens");
    assert_eq!(samples.sum("reversi_refusals_total", &["reason=\"ILLEGAL_MOVE\""]), 1.0);
    assert_eq!(samples.sum("reversi_refusals_total", &[]), 1.0);
    let commits = |change: &str| {
        let labels = [&format!("change=\"{change}\"")[..], "outcome=\"done\""];
        samples.sum("reversi_commit_duration_seconds_count", &labels)
    };
    assert_eq!((commits("create"), commits("join"), commits("move")), (3.0, 1.0, moves));
    let store = |operation: &str| {
        let labels = [&format!("operation=\"{operation}\"")[..], "store=\"memory\""];
        samples.sum("reversi_store_call_duration_seconds_count", &labels)
    };
    assert_eq!((store("create"), store("commit")), (3.0, moves + 1.0));
    assert_eq!(samples.sum("reversi_store_errors_total", &[]), 0.0);
    let games = |labels: &[&str]| samples.sum("reversi_games_total", labels);
    assert_eq!(games(&["status=\"waiting\""]), 1.0);
    assert_eq!(games(&["status=\"in_progress\"", "board=\"8x8\"", "players=\"2\""]), 2.0);
    assert_eq!(games(&["status=\"in_progress\"", "board=\"octagon\"", "multicolor=\"true\""]), 1.0);
    assert_eq!(games(&["status=\"finished\"", "objective=\"most_discs\""]), 1.0);
    assert_eq!(games(&[]), 5.0);
    let lookups = |result: &str| {
        samples.sum("reversi_cache_lookups_total", &[&format!("result=\"{result}\"")])
    };
    assert_eq!((lookups("hit"), lookups("miss")), (moves + 2.0, 0.0));
    assert_eq!(
        samples.sum("reversi_watch_delivery_lag_seconds_count", &[]),
        moves,
        "but no replay"
    );
    assert!(samples.sum("reversi_watch_delivery_lag_seconds_sum", &[]) < 10.0);
    assert_eq!(samples.sum("reversi_watch_catch_ups_total", &["cause=\"resume\""]), 1.0);
    assert_eq!(samples.sum("reversi_watch_resets_total", &["reason=\"revision_ahead\""]), 1.0);
    let ends =
        |reason: &str| samples.sum("reversi_watch_ends_total", &[&format!("reason=\"{reason}\"")]);
    assert_eq!((ends("game_finished"), ends("client_gone")), (1.0, 2.0));
    assert_eq!(samples.sum("reversi_calls_in_flight", &[]), 0.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_a_client_makes_up_becomes_a_value_of_a_label() {
    let server = serving().await;
    let admin = server.admin().await;
    let mut client = server.client().await;
    let before = scrape(admin).await;
    let raw = Raw::connect(server.address).await;
    for number in 0..50 {
        let made_up = format!("made-up-{number}");
        raw.call(&made_up, &[], Bytes::from_static(&[0; 5])).await;
        let seats = vec![v1::NewSeat { player_id: made_up.clone(), ..Default::default() }; 2];
        let labels = [(made_up.clone(), made_up.clone())].into();
        let request = v1::CreateGameRequest { seats, labels, ..Default::default() };
        create_with(&mut client, request).await;
        let request = v1::GetGameRequest { game_id: made_up };
        client.get_game(request).await.expect_err("there is no such game");
    }
    let after = scrape(admin).await;
    assert!(!after.text.contains("made-up"), "{}", after.text);
    let unknown = ["rpc_method=\"_OTHER\"", "rpc_response_status_code=\"UNIMPLEMENTED\""];
    let unknown =
        |samples: &Samples| samples.sum("rpc_server_call_duration_seconds_count", &unknown);
    assert_eq!(unknown(&after), 50.0);
    // Neither health nor reflection, whatever its package.
    for path in ["/grpc.foo/Bar", "/grpc.health.v1.Healthy/Check", "/grpc.health.v1.Health/Check"] {
        raw.call(path, &[], Bytes::from_static(&[0; 5])).await;
    }
    assert_eq!(unknown(&scrape(admin).await), 52.0, "health and reflection alone are left out");
    let new: Vec<_> = after.values_of("rpc_method").into_iter().collect();
    let known = ["_OTHER", "reversi.v1.GameService/CreateGame", "reversi.v1.GameService/GetGame"];
    assert_eq!(new, known);
    for label in ["reason", "operation", "kind", "change", "cause", "result", "store"] {
        let grown: Vec<_> =
            after.values_of(label).difference(&before.values_of(label)).copied().collect();
        let used: &[&str] = if label == "store" { &["memory"] } else { &[] };
        assert!(grown.iter().all(|value| used.contains(value)), "{label}: {grown:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_admin_port_answers_what_it_has_and_nothing_else() {
    let server = serving().await;
    let admin = server.admin().await;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nhost: here\r\n\r\n", "404"),
        ("GET /metrics/../x HTTP/1.1\r\nhost: here\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nhost: here\r\ncontent-length: 0\r\n\r\n", "405"),
        ("HEAD /metrics HTTP/1.1\r\nhost: here\r\n\r\n", "200"),
        ("nonsense\r\n\r\n", "400"),
    ] {
        let answer = http(admin, request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
    }
    // The port for players has no metrics.
    let raw =
        http(server.address, "GET /metrics HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
            .await;
    assert!(raw.starts_with("HTTP/1.1 4") && !raw.contains("reversi_"), "{raw}");
}

/// As many silent connections as the admin port takes hold up a scrape for no longer than one may last, and no player at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_peers_of_the_admin_port_are_dropped_and_players_do_not_notice() {
    let server = serving().await;
    let admin = server.admin().await;
    let begun = Instant::now();
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(TcpStream::connect(admin).await.expect("it accepts"));
    }
    let mut client = server.client().await;
    create(&mut client, v1::Rules::default()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "players do not wait");
    let samples = scrape(admin).await;
    assert_eq!(samples.sum("reversi_connections", &[]), 1.0, "admins are not counted");
    for stream in &mut silent {
        assert_eq!(stream.read(&mut [0; 1]).await.ok(), Some(0), "it was dropped");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_served_unless_it_is_asked_for() {
    let server = Process::of(reversid(&["--listen", "127.0.0.1:0", "--store", "memory:"])).await;
    let mut client = server.client().await;
    create(&mut client, v1::Rules::default()).await;
    let log = server.log();
    assert!(!log.contains("metrics at"), "{log}");
    // By the kernel: this process listens on one port.
    let sockets =
        fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the process runs, on Linux");
    let inodes: BTreeSet<_> = sockets
        .filter_map(|fd| fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|link| {
            Some(link.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let tcp = fs::read_to_string(format!("/proc/{}/net/tcp", server.pid())).expect("on Linux");
    let listening = tcp.lines().filter(|line| {
        let cells: Vec<_> = line.split_whitespace().collect();
        cells.get(3) == Some(&"0A") && cells.get(9).is_some_and(|inode| inodes.contains(*inode))
    });
    assert_eq!(listening.count(), 1);
}
