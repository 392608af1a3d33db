//! Redis is spoken to by TLS where it asks for that, as a user with no more rights than the documents say, and whoever may
//! not enter is told so without a word of any password.

mod common;

use std::{fs, path::PathBuf, time::Duration};

use common::{
    process::{Process, errors, reversid, run},
    through::{Playing, patient},
    *,
};
use reversi_proto::v1;
use reversi_testbed::{Certificates, Cluster, Port, RedisServer, SentinelTrio};

const SECRET: &str = "p@ss/wörd";
const SECRET_IN_URL: &str = "p%40ss%2Fw%C3%B6rd";

/// What the documents say that a user needs, with our password.
fn documented_rights() -> Vec<String> {
    let document = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/redis.md");
    let text = fs::read_to_string(document).expect("the document is there");
    let (_, after) = text.split_once("ACL SETUSER reversid").expect("it has the command");
    let (rights, _) = after.split_once("```").expect("the block ends");
    let rights = rights.replace(['\\', '\n'], " ").replace("PASSWORD", SECRET);
    rights.split_whitespace().map(ToOwned::to_owned).collect()
}

/// As lines of a configuration.
fn user() -> String {
    format!("user reversid {}", documented_rights().join(" "))
}

fn with_user(url: &str) -> String {
    url.replace("://", &format!("://reversid:{SECRET_IN_URL}@"))
}

async fn replicas(url: String, flags: &[&str]) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home { url, redis: None, folder };
    TestServer::at(home, 2, &[&["--watch-poll", "1h"], flags].concat()).await
}

/// Everything that asks Redis for something else.
async fn use_all(server: &TestServer) {
    let mut client = server.client().await;
    let playing = Playing::start(server, 2, true, Duration::ZERO).await;
    playing.end().await;
    let squares = vec!["a1".to_owned()];
    let rules = v1::Rules {
        blocked_squares: Some(v1::BlockedSquares { squares, ..Default::default() }),
        ..Default::default()
    };
    let table = create(&mut client, rules).await;
    let layout_id = table.game.layout.expect("a layout").layout_id;
    client.get_layout(patient(v1::GetLayoutRequest { layout_id })).await.expect("the layout");
    let listed = client.list_games(patient(v1::ListGamesRequest::default())).await;
    assert_eq!(listed.expect("a page").into_inner().games.len(), 3);
    let request = v1::DeleteGameRequest { game_id: table.id, owner_token: table.owner };
    client.delete_game(patient(request)).await.expect("it is deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_the_documented_rights_is_enough() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let redis = RedisServer::start(folder.path(), &["--appendonly", "yes"]);
    let rights = documented_rights();
    let rights: Vec<_> = rights.iter().map(String::as_str).collect();
    assert_eq!(redis.ask(&[&["ACL", "SETUSER", "reversid"], &rights[..]].concat()), "OK");
    let server = replicas(with_user(&redis.url()), &["--sweep-interval", "10ms"]).await;
    use_all(&server).await;
    until("it sweeps", async || redis.ask(&["GET", "rv:sweeper"]).len() == 16).await;
    assert_eq!(redis.ask(&["ACL", "LOG"]), "", "nothing was forbidden");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_by_tls_with_a_user_is_used_as_any() {
    let certificates = Certificates::issue();
    let cluster = Cluster::secured(&[&user(), "appendonly yes"], &certificates).await;
    let authority = certificates.authority();
    let authority = authority.to_str().expect("a path that can be written");
    let flags = ["--redis-ca", authority, "--durability", "replicated", "--sweep-interval", "10ms"];
    let server = replicas(with_user(&cluster.url()), &flags).await;
    use_all(&server).await;
    for node in &cluster.nodes {
        assert_eq!(node.server.ask(&["ACL", "LOG"]), "", "nothing was forbidden");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_of_sentinels_by_tls_with_users_is_used_as_any() {
    let certificates = Certificates::issue();
    let guest = "user guest on >guest -@all +sentinel|get-master-addr-by-name +sentinel|master \
                 +sentinel|replicas";
    let settings = [user(), "appendonly yes".to_owned()];
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let trio = SentinelTrio::secured(1, &settings, &[guest], &certificates).await;
    let authority = certificates.authority();
    let authority = authority.to_str().expect("a path that can be written");
    let url = with_user(&trio.url()) + "?sentinel_user=guest&sentinel_password=guest";
    let flags = ["--redis-ca", authority, "--durability", "replicated"];
    let server = replicas(url, &flags).await;
    use_all(&server).await;
    let before = trio.primary().expect("there is one");
    assert_eq!(trio.nodes[before].server.ask(&["ACL", "LOG"]), "", "nothing was forbidden");
    trio.fail_over().await;
    use_more(&server).await;
}

async fn use_more(server: &TestServer) {
    Playing::start(server, 1, true, Duration::ZERO).await.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_trusted_or_may_not_enter_is_told_so_without_a_password() {
    let (ours, theirs) = (Certificates::issue(), Certificates::issue());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let port = Port::claim();
    let lines = ours.lines(&port);
    let flags: Vec<_> = lines.iter().flat_map(|line| line.split_once(' ')).collect();
    let flags: Vec<_> =
        flags.into_iter().flat_map(|(name, value)| [format!("--{name}"), value.into()]).collect();
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let redis = RedisServer::start(folder.path(), &flags);
    let rights = documented_rights();
    let rights: Vec<_> = rights.iter().map(String::as_str).collect();
    assert_eq!(redis.ask(&[&["ACL", "SETUSER", "reversid"], &rights[..]].concat()), "OK");

    let started = async |scheme: &str, password: &str, ca: Option<&Certificates>| {
        let url = format!("{scheme}://reversid:{password}@127.0.0.1:{}", port.number());
        let mut arguments = vec!["--listen=127.0.0.1:0".to_owned(), format!("--store={url}")];
        arguments.extend(ca.map(|ca| format!("--redis-ca={}", ca.authority().display())));
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        Process::of(reversid(&arguments)).await
    };
    started("rediss", SECRET_IN_URL, Some(&ours)).await.logged("background: ready").await;
    for (scheme, password, ca, why) in [
        ("rediss", SECRET_IN_URL, Some(&theirs), "certificate"),
        ("rediss", SECRET_IN_URL, None, "certificate"),
        ("rediss", "hidden", Some(&ours), "WRONGPASS"),
        ("redis", SECRET_IN_URL, None, ""),
    ] {
        let server = started(scheme, password, ca).await;
        let log = server.logged("not ready").await;
        assert!(log.contains(why), "{why} in {log}");
        for secret in [SECRET, SECRET_IN_URL, "hidden"] {
            assert!(!log.contains(secret), "{log}");
        }
    }
}

#[tokio::test]
async fn settings_that_do_not_go_together_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "nothing").expect("a temporary file");
    let (empty, none) = (empty.display().to_string(), folder.path().join("none.pem"));
    let none = none.display().to_string();
    let authority = Certificates::issue();
    let authority_file = authority.authority().display().to_string();
    for (flags, told) in [
        (vec!["--durability=replicated"], "--durability (REVERSID_DURABILITY): "),
        (vec!["--durability=replicated", "--store=memory:"], "needs a store in Redis"),
        (vec!["--durability=twice"], "neither local nor replicated"),
        (vec!["--redis-ca", &authority_file], "is for Redis by TLS alone"),
        (vec!["--redis-ca", &authority_file, "--store=redis://host"], "must begin with rediss"),
        (vec!["--redis-ca", &empty, "--store=rediss://host"], "no certificates in PEM form"),
        (vec!["--redis-ca", &none, "--store=rediss://host"], &none),
        (vec!["--store=redis-sentinel://:hidden@host"], "/NAME"),
        (vec!["--store=redis-cluster://:hidden@host:hidden"], "the port"),
        (vec!["--store=redis://:hid/den@host"], "%2F"),
    ] {
        let ended = run(reversid(&flags)).await;
        assert_eq!(ended.status.code(), Some(64), "{flags:?}");
        let said = errors(&ended);
        assert!(said.contains(told), "{told} in {said}");
        assert!(!said.contains("hid"), "no password in {said}");
    }
}
