//! What tests rely on: the topologies stand, everybody reaches their nodes through proxies, and they can be made to lose what
//! they acknowledged.

use reversi_testbed::{Cluster, Node, SentinelTrio, until};

/// Whether others have found the proxy of the node.
fn is_reached_by_proxy(node: &Node) -> bool {
    node.proxy.connections() > 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_trio_promotes_a_replica_when_told_and_when_the_primary_dies() {
    let mut trio = SentinelTrio::start(1, &[]).await;
    assert_eq!(trio.primary(), Some(0));
    assert!(trio.url().starts_with("redis-sentinel://127.0.0.1:"));
    assert!(trio.nodes.iter().chain(&trio.sentinels).all(is_reached_by_proxy));
    assert_eq!(trio.nodes[0].server.ask(&["SET", "a", "1"]), "OK");
    assert_eq!(trio.fail_over().await, 1);
    assert_eq!(trio.nodes[1].server.ask(&["GET", "a"]), "1");
    trio.is_well().await;
    trio.nodes[1].server.kill();
    assert_eq!(trio.promoted(1).await, 0);
    assert_eq!(trio.nodes[0].server.ask(&["GET", "a"]), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_migrates_slots_and_promotes_replicas() {
    let mut cluster = Cluster::start(&[]).await;
    assert!(cluster.nodes[..3].iter().all(is_reached_by_proxy), "replicas are on their way");
    let slot = cluster.slot_of("a");
    let first = cluster.primary_of(slot).expect("it has an owner");
    assert_eq!(cluster.nodes[first].server.ask(&["SET", "a", "1"]), "OK");
    let target = (first + 1) % 3;
    let moved = format!("MOVED {slot} {}", cluster.nodes[target].address());
    cluster.migrate(slot, target).await;
    assert_eq!(cluster.nodes[target].server.ask(&["GET", "a"]), "1");
    assert_eq!(cluster.nodes[first].server.ask(&["GET", "a"]), moved);

    let replica = cluster.replica_of(target).expect("it has one");
    assert_eq!(replica, target + 3);
    cluster.promote(replica, false).await;
    assert_eq!(cluster.nodes[replica].server.ask(&["GET", "a"]), "1");
    cluster.is_well().await;
    cluster.nodes[replica].server.kill();
    cluster.promoted(target).await;
    assert_eq!(cluster.nodes[target].server.ask(&["GET", "a"]), "1");
    cluster.nodes[replica].server.restart();
    cluster.is_well().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_held_replica_did_not_hear_is_lost_when_it_is_promoted() {
    let cluster = Cluster::start(&[]).await;
    let slot = cluster.slot_of("a");
    let primary = cluster.primary_of(slot).expect("it has an owner");
    let replica = cluster.replica_of(primary).expect("it has one");
    let (first, second) = (&cluster.nodes[primary], &cluster.nodes[replica]);
    first.server.ask(&["SET", "a", "1"]);
    let offset = || first.server.info("master_repl_offset");
    until("the replica has it", || second.server.info("slave_repl_offset") == offset()).await;
    first.proxy.hold_replicas();
    assert_eq!(first.server.ask(&["SET", "a", "2"]), "OK");
    cluster.promote(replica, true).await;
    first.proxy.release();
    cluster.is_well().await;
    assert_eq!(second.server.ask(&["GET", "a"]), "1");
    assert_eq!(first.server.info("role"), "slave");
}
