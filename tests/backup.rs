//! A backup that is fetched while the service is played on can be put in place of the file: it has what was acknowledged before
//! it, and whoever has seen more is told.

mod common;

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use common::{
    folds::assert_folds,
    process::{Process, errors, reversid, run, without_variables},
    watch::Watch,
    *,
};
use reversi_proto::v1::{self, Color, ResetReason};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tonic::Code;

const ADMIN: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

/// What the admin port answers to GET /backup: the status, the length that it promises, and what came.
async fn fetch(admin: SocketAddr) -> (u16, usize, Vec<u8>) {
    let exchange = async {
        let mut stream = TcpStream::connect(admin).await.expect("the admin port accepts");
        stream.write_all(b"GET /backup HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("it answers");
        answer
    };
    let answer = timeout(PATIENCE, exchange).await.expect("it answers in time");
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(answer[..end].to_vec()).expect("a head of text");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = length.and_then(|length| length.parse().ok()).expect("a length");
    (status, length, answer[end + 4..].to_vec())
}

/// A backup, whole.
async fn backup(server: &Process) -> Vec<u8> {
    let (status, length, bytes) = fetch(server.admin().await).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(bytes.len(), length);
    bytes
}

/// One who plays games one after the other and notes what was acknowledged.
struct Played {
    table: Table,
    events: Vec<v1::GameEvent>,
}

async fn play(
    mut client: Client,
    played: Arc<std::sync::Mutex<Vec<Played>>>,
    moves: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
) {
    while !over.load(Ordering::SeqCst) {
        let table = create(&mut client, v1::Rules::default()).await;
        let mut now = position(&table.game).clone();
        let index = {
            let mut played = played.lock().expect("nobody panics with it");
            played.push(Played { table: table.clone(), events: Vec::new() });
            played.len() - 1
        };
        while now.to_move != 0 && !over.load(Ordering::SeqCst) {
            let color = Color::try_from(now.to_move).expect("a colour");
            let made = client.make_move(table.play(color, &now.legal_moves[0])).await;
            let event = made.expect("no move waits for a backup").into_inner().event;
            let event = event.expect("an event");
            now = event.position.clone().expect("a position");
            played.lock().expect("nobody panics with it")[index].events.push(event);
            moves.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_play_is_restored_with_all_that_was_acknowledged_before_it() {
    const WRITERS: usize = 64;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("games.redb");
    let server = Process::start(&file, &ADMIN).await;
    let over = Arc::new(AtomicBool::new(false));
    let moves = Arc::<AtomicUsize>::default();
    let mut writers = JoinSet::new();
    let mut games = Vec::new();
    let client = server.client().await;
    for _ in 0..WRITERS {
        let played = Arc::default();
        games.push(Arc::clone(&played));
        writers.spawn(play(client.clone(), played, moves.clone(), over.clone()));
    }
    until("they play", async || moves.load(Ordering::SeqCst) > 2_000).await;
    let lengths = |games: &[Arc<std::sync::Mutex<Vec<Played>>>]| -> Vec<Vec<usize>> {
        let of_one = |games: &Arc<std::sync::Mutex<Vec<Played>>>| {
            let games = games.lock().expect("nobody panics with it");
            games.iter().map(|game| game.events.len()).collect()
        };
        games.iter().map(of_one).collect()
    };
    let before = lengths(&games);
    let begun = moves.load(Ordering::SeqCst);
    let bytes = backup(&server).await;
    let during = moves.load(Ordering::SeqCst) - begun;
    println!("{} bytes, {begun} moves before it and {during} meanwhile", bytes.len());
    assert!(during > 0, "nobody waited for it");
    until("they go on", async || moves.load(Ordering::SeqCst) > begun + during + 100).await;
    over.store(true, Ordering::SeqCst);
    writers.join_all().await;

    // In place of the file, on another machine as it were.
    let restored = folder.path().join("restored.redb");
    fs::write(&restored, &bytes).expect("it is written");
    let server = Process::start(&restored, &[]).await;
    let mut client = server.client().await;
    let mut told = 0;
    for (games, before) in games.iter().zip(&before) {
        let games = std::mem::take(&mut *games.lock().expect("nobody panics with it"));
        for (game, acknowledged) in games.iter().zip(before) {
            let history = record(&mut client, &game.table.id, 500).await;
            let kept = &history[1..];
            assert!(kept.len() >= *acknowledged, "what was acknowledged before it is there");
            assert!(game.events.starts_with(kept), "and nothing that never was");
            let now = get(&mut client, &game.table.id).await;
            assert_folds(&history, &now);
            // Some who saw more hear that it is lost, and cannot play on what is not there.
            if told < 20 && kept.len() < game.events.len() {
                told += 1;
                let seen = game.events.last().expect("an event").version;
                let mut watch = Watch::resumed(&mut client, &game.table.id, seen).await;
                let reset = watch.reset().await;
                assert_eq!(reset.reason(), ResetReason::RevisionAhead);
                assert_eq!(reset.game, Some(now.clone()));
                let Ok(color) = Color::try_from(position(&now).to_move) else { continue };
                if color == Color::Unspecified {
                    continue;
                }
                let square = &position(&now).legal_moves[0];
                let late = v1::MakeMoveRequest {
                    expected_version: seen,
                    ..game.table.play(color, square)
                };
                let refused = refusal(client.make_move(late).await);
                assert_eq!(
                    (refused.code, refused.reason.as_str()),
                    (Code::Aborted, "VERSION_MISMATCH")
                );
                client.make_move(game.table.play(color, square)).await.expect("a legal move");
            }
        }
    }
    assert!(told > 0, "some games had gone on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_backup_is_no_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&folder.path().join("games.redb"), &ADMIN).await;
    let mut client = server.client().await;
    for _ in 0..50 {
        create(&mut client, v1::Rules::default()).await;
    }
    let bytes = backup(&server).await;
    let torn = folder.path().join("torn.redb");
    for length in [1, 64, 4_096, 8_192, bytes.len() / 2, bytes.len() - 4_096, bytes.len() - 1] {
        fs::write(&torn, &bytes[..length]).expect("it is written");
        let store = format!("file:{}", torn.display());
        let ended = run(reversid(&["--listen", "127.0.0.1:0", "--store", &store])).await;
        let said = errors(&ended);
        assert_eq!(ended.status.code(), Some(1), "{length} of {} bytes: {said}", bytes.len());
        assert!(said.contains("cannot be opened as a store"), "{length} bytes: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_ask_at_once_each_gets_a_whole_one_or_is_told_to_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&folder.path().join("games.redb"), &ADMIN).await;
    create(&mut server.client().await, v1::Rules::default()).await;
    let admin = server.admin().await;
    let (mut made, mut refused) = (0, 0);
    while made == 0 || refused == 0 {
        let mut fetching = JoinSet::new();
        for _ in 0..8 {
            fetching.spawn(fetch(admin));
        }
        for (status, length, bytes) in fetching.join_all().await {
            assert_eq!(length, bytes.len());
            match status {
                200 => made += 1,
                409 => {
                    let said = String::from_utf8_lossy(&bytes).into_owned();
                    assert!(said.contains("another backup is under way"), "{said}");
                    refused += 1;
                }
                other => panic!("{other}"),
            }
        }
    }
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "nothing is left of them: {left:?}");
}

/// More than the kernel takes of a connection whose peer does not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_who_takes_nothing_keeps_others_from_theirs_for_half_a_minute() {
    const GAMES: usize = 400;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&folder.path().join("games.redb"), &ADMIN).await;
    let client = server.client().await;
    let labels = (0..32).map(|key| (format!("{key:064}"), "x".repeat(256))).collect();
    let request = v1::CreateGameRequest { labels, ..Default::default() };
    let mut creating = JoinSet::new();
    for _ in 0..GAMES {
        let (mut client, request) = (client.clone(), request.clone());
        creating.spawn(async move { client.create_game(request).await.map(drop) });
        if creating.len() == 200 {
            creating.join_next().await.expect("one").expect("no panic").expect("it is created");
        }
    }
    creating.join_all().await.into_iter().collect::<Result<(), _>>().expect("they are created");

    let admin = server.admin().await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4 << 10).expect("a small one");
    let mut silent = socket.connect(admin).await.expect("the admin port accepts");
    silent.write_all(b"GET /backup HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("it reads");
    let mut head = [0; 12];
    let answered =
        timeout(PATIENCE, silent.read_exact(&mut head)).await.expect("it is made in time");
    answered.expect("it answers");
    assert_eq!(head, *b"HTTP/1.1 200");
    let begun = Instant::now();
    let bytes = loop {
        let (status, length, bytes) = fetch(admin).await;
        if status == 200 {
            assert_eq!(bytes.len(), length);
            break bytes;
        }
        assert_eq!(status, 409);
        assert!(begun.elapsed() < Duration::from_secs(45), "its time is over");
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    let store = fs::metadata(folder.path().join("games.redb")).expect("the file is there").len();
    println!("{} bytes of {store}, after {:?}", bytes.len(), begun.elapsed());
    assert!(begun.elapsed() > Duration::from_secs(20), "nobody is cut off too early");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_stores_say_what_to_do_instead() {
    let home = StoreKind::Memory.home();
    let flags = [&["--listen", "127.0.0.1:0", "--store", &home.url], ADMIN.as_slice()].concat();
    let server = Process::of(reversid(&flags)).await;
    let (status, _, said) = fetch(server.admin().await).await;
    assert_eq!(status, 501);
    assert!(String::from_utf8_lossy(&said).contains("use a file or Redis"));
}

/// A server whose store is on a disk of its own of so many MiB, if this machine lets us make one.
async fn on_small_disk(folder: &Path, mebibytes: u32) -> Option<Process> {
    let mount = format!("mount -t tmpfs -o size={mebibytes}m tmpfs {}", folder.display());
    let mut trial = without_variables("unshare".as_ref(), &["--mount", "sh", "-c", &mount]);
    if !trial.status().await.is_ok_and(|status| status.success()) {
        println!("SKIPPED: a disk that is full. This user may not mount one");
        return None;
    }
    let store = format!("file:{}/games.redb", folder.display());
    let script = format!("{mount} && exec \"$0\" \"$@\"");
    let binary = env!("CARGO_BIN_EXE_reversid");
    let own =
        ["--mount", "sh", "-c", &script, binary, "--listen", "127.0.0.1:0", "--store", &store];
    Some(Process::of(without_variables("unshare".as_ref(), &[&own[..], &ADMIN].concat())).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_without_room_for_a_backup_refuses_it_and_serves_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(server) = on_small_disk(folder.path(), 80).await else { return };
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    assert!(backup(&server).await.len() > 4_096, "there is room for it");

    // The disk as the server sees it.
    let inside = format!("/proc/{}/root{}/filler", server.pid(), folder.path().display());
    fs::write(&inside, vec![0; 30 << 20]).expect("it is written");
    let (status, _, said) = fetch(server.admin().await).await;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(status, 507, "{said}");
    assert!(said.contains("bytes of free space"), "{said}");
    play_out(&mut client, &table).await;

    fs::remove_file(&inside).expect("it is removed");
    backup(&server).await;
    assert!(!server.log().contains("ERROR"), "{}", server.log());
}
