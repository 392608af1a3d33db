//! `reversid health` tells by its exit code whether a running server is well, and never hangs.

mod common;

use std::time::{Duration, Instant};

use common::{
    process::{Process, errors, reversid, run},
    *,
};
use reversi_proto::v1;
use tokio::{net::TcpListener, time::sleep};

/// The exit code, and the line that says why.
async fn health(address: &str, flags: &[&str]) -> (Option<i32>, String) {
    let ended = run(reversid(&[&["health", "--address", address], flags].concat())).await;
    let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &errors(&ended);
    assert_eq!(said.lines().count(), 1, "{said}");
    (ended.status.code(), said)
}

async fn memory() -> Process {
    Process::of(reversid(&["--listen", "127.0.0.1:0", "--store", "memory:"])).await
}

#[tokio::test]
async fn a_server_that_serves_is_well_until_it_is_gone() {
    let mut server = memory().await;
    let address = server.address.to_string();
    for flags in [[].as_slice(), &["--live"]] {
        let (code, said) = health(&address, flags).await;
        assert_eq!((code, said.contains("SERVING")), (Some(0), true), "{said}");
    }
    // From the start of its drain it accepts nobody.
    server.signal(&["TERM"]).await;
    assert_eq!(server.ended().await.code(), Some(0));
    for flags in [[].as_slice(), &["--live"]] {
        let (code, said) = health(&address, flags).await;
        assert_eq!(code, Some(1));
        assert!(said.contains("nothing answers") && said.contains(&address), "{said}");
    }
}

#[tokio::test]
async fn the_address_is_the_servers_own_setting() {
    let server = memory().await;
    let everywhere = format!("0.0.0.0:{}", server.address.port());
    let mut by_variable = reversid(&["health"]);
    by_variable.env("REVERSID_LISTEN", everywhere).env("REVERSID_STORE", "memory:");
    let ended = run(by_variable).await;
    assert_eq!(ended.status.code(), Some(0), "{}", errors(&ended));

    for wrong in ["localhost", "127.0.0.1:port", ""] {
        let ended = run(reversid(&["health", "--address", wrong])).await;
        assert_eq!(ended.status.code(), Some(64), "{wrong:?}: {}", errors(&ended));
    }
    // Settings of a server say nothing to it.
    let ended = run(reversid(&["--store", "memory:", "health"])).await;
    assert_eq!(ended.status.code(), Some(64), "{}", errors(&ended));
}

#[tokio::test]
async fn at_its_limit_of_connections_a_server_says_on_the_admin_port_that_it_lives() {
    let own = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--store", "memory:"];
    let server = Process::of(reversid(&[&own[..], &["--max-connections", "1"]].concat())).await;
    let mut only = server.client().await;
    create(&mut only, v1::Rules::default()).await;
    let admin = server.admin().await.to_string();
    for flags in [[].as_slice(), &["--live"]] {
        let (code, said) = health(&server.address.to_string(), flags).await;
        assert_eq!(code, Some(1), "nobody else is accepted: {said}");
        let (code, said) = health(&admin, flags).await;
        assert_eq!((code, said.contains("SERVING")), (Some(0), true), "{said}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = silent.local_addr().expect("an address").to_string();
    let begun = Instant::now();
    let (code, said) = health(&address, &[]).await;
    assert_eq!(code, Some(1));
    assert!(said.contains("3s"), "{said}");
    assert!(begun.elapsed() < PATIENCE / 2, "it took {:?}", begun.elapsed());
}

mod redis {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_server_without_its_store_lives_and_is_not_ready() {
        let mut server = TestServer::start(StoreKind::Redis).await;
        let address = server.address.to_string();
        assert_eq!(health(&address, &[]).await.0, Some(0));
        server.home.redis.as_mut().expect("it is on Redis").kill();
        let begun = Instant::now();
        loop {
            let (code, said) = health(&address, &[]).await;
            if code == Some(1) {
                assert!(said.contains("NOT_SERVING"), "{said}");
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "it stays ready: {said}");
            sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(health(&address, &["--live"]).await.0, Some(0));
    }
}
