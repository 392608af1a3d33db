//! Every commit prolongs its game in Redis, what has expired is told to its watchers at every replica, and nothing is left.

mod common;

use std::{collections::BTreeSet, time::Duration};

use common::{watch::Watch, *};
use reversi_proto::v1::{self, Color, EndReason};
use reversi_testbed::RedisServer;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn redis(server: &TestServer) -> &RedisServer {
    server.home.redis.as_ref().expect("there is one")
}

fn millis(time: &Option<prost_types::Timestamp>) -> u128 {
    let time = time.expect("a time");
    u128::from(time.seconds.unsigned_abs()) * 1_000
        + u128::from(time.nanos.unsigned_abs()) / 1_000_000
}

/// When Redis will remove what is under a key.
fn expiry(server: &TestServer, key: &str) -> u128 {
    redis(server).ask(&["PEXPIRETIME", key]).parse().expect("the key has an expiry")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_commit_prolongs_its_game() {
    let flags = ["--idle-ttl", "1h", "--finished-ttl", "2h"];
    let server = TestServer::with(StoreKind::Replicas, &flags).await;
    let mut client = server.client().await;
    let rules = v1::Rules { players: 3, ..Default::default() };
    let creation = v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
    let created = client.create_game(creation).await.expect("a game").into_inner();
    let table = table(created);
    let id = &table.id;
    let kept_for = async |what: &str, kept: Duration| {
        let game = get(&mut server.client().await, id).await;
        let expected = millis(&game.update_time) + kept.as_millis();
        assert_eq!(millis(&game.expire_time), expected, "{what}");
        assert_eq!(expiry(&server, &format!("rv:g:{id}")), expected, "{what}, in Redis");
        for set in redis(&server).ask(&["KEYS", "rv:[spt]:*"]).lines() {
            assert!(expiry(&server, set) >= expected, "{what}: {set} is there for as long");
        }
        millis(&game.expire_time)
    };
    let mut times = vec![kept_for("created", HOUR).await];
    let mut tokens = Vec::new();
    for player_id in ["ann", "bob", "eve"] {
        let join = v1::JoinGameRequest {
            game_id: id.clone(),
            player_id: player_id.into(),
            ..Default::default()
        };
        tokens.push(client.join_game(join).await.expect("a seat").into_inner().seat_token);
        times.push(kept_for("joined", HOUR).await);
    }
    let make = v1::MakeMoveRequest {
        game_id: id.clone(),
        square: position(&get(&mut client, id).await).legal_moves[0].clone(),
        seat_token: tokens[0].clone(),
        ..Default::default()
    };
    client.make_move(make).await.expect("a legal move");
    times.push(kept_for("moved", HOUR).await);
    let resign = v1::ResignGameRequest {
        game_id: id.clone(),
        seat_token: tokens[2].clone(),
        ..Default::default()
    };
    client.resign_game(resign).await.expect("a seat of theirs");
    times.push(kept_for("resigned", HOUR).await);
    let abort = v1::AbortGameRequest {
        game_id: id.clone(),
        owner_token: table.owner.clone(),
        ..Default::default()
    };
    client.abort_game(abort).await.expect("the owner may");
    times.push(kept_for("aborted", 2 * HOUR).await);
    assert!(times.is_sorted());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expires_is_told_at_every_replica_and_leaves_nothing_behind() {
    let lifetimes = ["--idle-ttl", "1500ms", "--finished-ttl", "2s"];
    let times = ["--sweep-interval", "50ms", "--watch-poll", "1h"];
    let flags = [lifetimes, times].concat();
    let server = TestServer::with(StoreKind::Replicas, &flags).await;
    let mut client = server.client().await;
    let labels = [("event".to_owned(), "cup".to_owned())];
    for number in 0..30 {
        let blocked = v1::BlockedSquares { count: Some(1 + number % 4), ..Default::default() };
        let rules = v1::Rules { blocked_squares: Some(blocked), ..Default::default() };
        let seat = |name: &str| v1::NewSeat { player_id: name.into(), ..Default::default() };
        let request = v1::CreateGameRequest {
            rules: Some(rules),
            seats: if number % 3 == 0 { vec![] } else { vec![seat("ann"), seat("bob")] },
            labels: labels.clone().into(),
            ..Default::default()
        };
        let table = create_with(&mut client, request).await;
        if number % 3 == 1 {
            let abort = v1::AbortGameRequest {
                game_id: table.id,
                owner_token: table.owner,
                ..Default::default()
            };
            client.abort_game(abort).await.expect("the owner may");
        }
    }
    // A creation under a request id is known again for a day, whatever has become of its game.
    let named = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
    let created = client.create_game(named.clone()).await.expect("a game").into_inner();
    let game = created.game.clone().expect("a game");
    let named_key = format!("rv:g:{}", game.game_id);
    assert_eq!(expiry(&server, &named_key), millis(&game.create_time) + 24 * HOUR.as_millis());

    let table = create(&mut client, v1::Rules::default()).await;
    let mut watches = Vec::new();
    for mut client in server.clients().await {
        let mut watch = Watch::of(&mut client, &table.id).await;
        watch.snapshot().await;
        watches.push(watch);
    }
    let made = client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let made = made.into_inner().event;
    for watch in &mut watches {
        assert_eq!(Some(watch.event().await), made);
    }
    let expires = millis(&get(&mut client, &table.id).await.expire_time);
    for watch in &mut watches {
        assert_eq!(watch.end().await, EndReason::GameExpired);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.expect("after the epoch").as_millis();
        assert!(now >= expires, "not before its time");
        println!("told {} ms after the game expired", now - expires);
    }
    let gone = client.get_game(v1::GetGameRequest { game_id: table.id.clone() }).await;
    assert_eq!(refusal(gone).reason, "GAME_NOT_FOUND");

    let left = BTreeSet::from([named_key.as_str(), "rv:sweeper"]);
    until("nothing else is left", async || {
        let keys = redis(&server).ask(&["KEYS", "*"]);
        keys.lines().collect::<BTreeSet<_>>() == left
            && redis(&server).ask(&["DBSIZE"]) == left.len().to_string()
    })
    .await;
    assert!(expiry(&server, "rv:sweeper") > 0, "and who sweeps is not known for ever");
    assert_eq!(client.create_game(named).await.expect("a repeat").into_inner(), created);
}
