//! While everything around it breaks, the service keeps its promises: short runs, each with every kind of fault. The longer ones
//! are made by `./test --all`.

mod common;

use common::torture;

#[test]
fn over_one_redis_everything_may_break() {
    torture(&["--topology", "standalone", "--seconds", "15", "--seed", "1"]).holds();
}

#[test]
#[ignore = "long: ./test --all"]
fn what_redis_loses_is_told_and_never_comes_back() {
    let run = torture(&["--losses", "--seconds", "20", "--seed", "2"]).holds();
    assert!(run.counted("resets told to watchers") > 0);
}

#[test]
#[ignore = "long: ./test --all"]
fn over_sentinels_nothing_that_replicas_have_is_lost() {
    let flags = ["--topology", "sentinel", "--durability", "replicated"];
    torture(&[&flags[..], &["--seconds", "25", "--seed", "3"]].concat()).holds();
}

#[test]
#[ignore = "long: ./test --all"]
fn over_a_cluster_nothing_that_replicas_have_is_lost() {
    let flags = ["--topology", "cluster", "--durability", "replicated"];
    torture(&[&flags[..], &["--seconds", "25", "--seed", "4"]].concat()).holds();
}

#[test]
#[ignore = "long: ./test --all"]
fn what_a_cluster_loses_in_a_failover_is_told_and_never_comes_back() {
    let flags = ["--topology", "cluster", "--durability", "local"];
    torture(&[&flags[..], &["--seconds", "25", "--seed", "5"]].concat()).holds();
}

#[test]
#[ignore = "long: ./test --all"]
fn what_sentinels_lose_by_a_promotion_is_told_and_never_comes_back() {
    let flags = ["--topology", "sentinel", "--durability", "local"];
    torture(&[&flags[..], &["--seconds", "20", "--seed", "6"]].concat()).holds();
}
