//! What the real process holds of memory does not grow with what is thrown at it.

mod common;

use bytes::Bytes;
use common::{
    junk::assert_sound,
    process::Process,
    raw::{Raw, framed, unfinished},
    *,
};
use reversi_proto::v1;
use tokio::{task::JoinSet, time::timeout};
use tonic::Code;

/// How much more memory the server may hold after all of it than before.
const GROWTH_MAX: u64 = 64 << 20;

/// How many messages over 16 KiB may be on their way to a server; each holds at most 256 KiB.
const LARGE_MESSAGES_MAX: usize = 256;

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Runs so many calls, some at a time, each on one of the connections.
async fn flood(server: &Process, calls: usize, at_once: usize, method: &'static str, body: Bytes) {
    let mut running = JoinSet::new();
    for worker in 0..at_once {
        let (raw, body) = (Raw::connect(server.address).await, body.clone());
        let calls = calls / at_once + usize::from(worker < calls % at_once);
        running.spawn(async move {
            for _ in 0..calls {
                let answer = raw.call(method, &[], body.clone()).await;
                assert_ne!(assert_sound(&answer, &method), Code::Ok);
            }
        });
    }
    running.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn junk_and_huge_messages_leave_memory_flat() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&folder.path().join("games.redb"), &[]).await;
    let five_mib = framed(0, &vec![0; 5 << 20]);
    let junk = framed(0, &[0xff; 1_000]);
    // What is allocated once, for good, is allocated after this.
    flood(&server, 500, 8, "MakeMove", junk.clone()).await;
    flood(&server, 32, 8, "CreateGame", five_mib.clone()).await;
    let before = server.resident_bytes();
    flood(&server, 20_000, 8, "MakeMove", junk).await;
    let between = server.resident_bytes();
    flood(&server, 2_000, 8, "CreateGame", five_mib).await;
    let after = server.resident_bytes();
    println!(
        "resident: {:.1} MiB, after 20,000 junk calls {:.1} MiB, after 2,000 of 5 MiB {:.1} MiB",
        mib(before),
        mib(between),
        mib(after),
    );
    assert!(between.max(after) < before + GROWTH_MAX);
    create(&mut server.client().await, v1::Rules::default()).await;
}

/// All but the end of a message of the largest size.
static BEGUN: [u8; 250_000] = {
    let mut begun = [0; 250_000];
    begun[2] = 4; // 256 KiB are to come.
    begun
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_never_end_share_a_bounded_part_of_memory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = Process::start(&folder.path().join("games.redb"), &[]).await;
    let before = server.resident_bytes();
    let (mut calls, mut rests) = (JoinSet::new(), Vec::new());
    for _ in 0..2 {
        let raw = Raw::connect(server.address).await;
        for _ in 0..900 {
            let (rest, body) = unfinished(&BEGUN);
            let request = raw.post("CreateGame", &[], body);
            let raw = raw.clone();
            calls.spawn(async move { raw.send(request).await.expect("an answer") });
            rests.push(rest);
        }
    }
    let refused = calls.len() - LARGE_MESSAGES_MAX;
    for _ in 0..refused {
        let answer = timeout(PATIENCE, calls.join_next()).await.expect("all but some are refused");
        let answer = answer.expect("a call").expect("no panic");
        assert_eq!(assert_sound(&answer, &"a message that is begun"), Code::ResourceExhausted);
    }
    let after = server.resident_bytes();
    println!("resident: {:.1} MiB, with {refused} refused {:.1} MiB", mib(before), mib(after));
    assert!(after < before + ((LARGE_MESSAGES_MAX as u64) << 18) + GROWTH_MAX);
    create(&mut server.client().await, v1::Rules::default()).await;
}
