//! The harness can fail: with one thing in reversid broken on purpose, a short run reports it. `./test --all` builds the reversid
//! that can be broken, and makes these runs.

mod common;

use common::{sabotaged, torture_of};

/// Breaks this, runs with these flags until the first violation, and expects one of these. That takes a fraction of the time
/// that it may: which call meets a fault is up to the machine.
fn breaking(sabotage: &str, flags: &[&str], promises: &[&str]) {
    let always = ["--sabotage", sabotage, "--stop-at-first", "--seed", "1", "--seconds", "120"];
    torture_of(&sabotaged(), &[&always, flags].concat()).finds(promises);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn a_request_id_that_is_not_looked_up_is_found() {
    let promises = ["what was committed was acknowledged once", "no contradictions"];
    breaking("request-ids", &[], &promises);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn a_commit_that_minds_no_revision_is_found() {
    breaking("revisions", &[], &["no contradictions", "of racing calls one wins"]);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn digests_that_are_not_compared_are_found() {
    // Other branches of a game reach revisions that replicas remember, where Redis lost what was acknowledged.
    let faults = ["--losses", "--faults", "lose-moves,flush-scripts", "--games", "12"];
    let promises = [
        "no contradictions",
        "events come in order, once, without a gap",
        "every watcher reaches the end",
    ];
    breaking("digests", &faults, &promises);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn hints_that_are_lost_without_a_poll_are_found() {
    // Nothing that would end a stream, so that all a watcher hears comes by hints or polls.
    let promises = ["watchers hear of changes in time", "every watcher reaches the end"];
    breaking("hints", &["--faults", "flush-scripts"], &promises);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn heartbeats_ahead_of_what_was_delivered_are_found() {
    let promises = ["heartbeats are never ahead of what was delivered"];
    breaking("heartbeats", &[], &promises);
}

#[test]
#[ignore = "needs a build of its own: ./test --all"]
fn reads_from_a_replica_of_redis_are_found() {
    let promises = [
        "reads show what was acknowledged before",
        "a refusal is judged on the present",
        "a watch begins with what was acknowledged before",
        "no contradictions",
    ];
    let flags = ["--topology", "sentinel", "--faults", "lag-replication"];
    breaking("replica-reads", &flags, &promises);
}
