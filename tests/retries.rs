//! A call under a request id is safe to repeat, and of racing calls exactly one wins.

mod common;

use std::collections::{BTreeSet, HashMap};

use common::*;
use reversi_proto::v1::{self, Color};
use tokio::task::JoinSet;
use tonic::Code;

everywhere!(
    a_repeated_creation_returns_the_first_answer_tokens_included,
    a_creation_is_repeated_also_after_the_game_was_deleted,
    a_creation_is_repeated_also_after_the_game_expired,
    a_creation_is_repeated_also_after_its_layout_is_gone,
    a_repeated_join_returns_the_first_answer_token_included,
    a_repeated_move_resignation_and_abort_return_the_first_event,
    a_request_id_with_another_command_is_refused,
    a_request_id_is_judged_after_the_token_and_before_the_game,
    a_refused_call_is_not_remembered,
    request_ids_of_different_games_have_nothing_to_do_with_each_other,
    without_a_request_id_a_repeat_is_a_new_command,
    of_fifty_moves_on_one_version_one_succeeds,
    of_forty_joins_on_four_seats_four_succeed,
    twenty_identical_requests_at_once_commit_once,
);

async fn a_repeated_creation_returns_the_first_answer_tokens_included(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let request = v1::CreateGameRequest {
        rules: Some(v1::Rules {
            blocked_squares: Some(v1::BlockedSquares { count: Some(3), ..Default::default() }),
            ..Default::default()
        }),
        seats: vec![
            v1::NewSeat { player_id: "ann".into(), ..Default::default() },
            v1::NewSeat { open: true, ..Default::default() },
        ],
        labels: [("event".into(), "cup".into())].into(),
        request_id: request_id(),
    };
    let first = client.create_game(request.clone()).await.expect("a game").into_inner();
    let id = first.game.as_ref().expect("a game").game_id.clone();
    assert_eq!(client.create_game(request.clone()).await.expect("a repeat").into_inner(), first);
    let upper = v1::CreateGameRequest {
        request_id: request.request_id.to_uppercase(),
        // What is the default means the same when it is said.
        rules: Some(v1::Rules {
            board: v1::Board::Board8x8.into(),
            players: 2,
            opening: v1::Opening::Cross.into(),
            objective: v1::Objective::MostDiscs.into(),
            ..request.rules.clone().expect("rules")
        }),
        ..request.clone()
    };
    assert_eq!(client.create_game(upper).await.expect("a repeat").into_inner(), first);

    let join = v1::JoinGameRequest { game_id: id.clone(), ..Default::default() };
    client.join_game(join).await.expect("a seat");
    let repeat = client.create_game(request.clone()).await.expect("a late repeat");
    assert_eq!(repeat.into_inner(), first);
    assert_eq!(revision(&get(&mut client, &id).await.version), 2);
    let labels = [("k".into(), "v".into())].into();
    let other = v1::CreateGameRequest { labels, ..request };
    assert_eq!(refusal(client.create_game(other).await).metadata["current_revision"], "2");
    // The token that was shown again is the one that counts.
    let resign = v1::ResignGameRequest {
        game_id: id,
        seat_token: first.seat_tokens[0].seat_token.clone(),
        ..Default::default()
    };
    client.resign_game(resign).await.expect("the token is good");
}

async fn a_creation_is_repeated_also_after_the_game_was_deleted(store: StoreKind) {
    let server = TestServer::with(store, &["--sweep-interval", "5ms"]).await;
    let mut client = server.client().await;
    let request = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
    let first = client.create_game(request.clone()).await.expect("a game").into_inner();
    let table = table(first.clone());
    let delete = v1::DeleteGameRequest { game_id: table.id.clone(), owner_token: table.owner };
    client.delete_game(delete).await.expect("the owner may");
    assert_eq!(client.create_game(request.clone()).await.expect("a repeat").into_inner(), first);
    let gone = client.get_game(v1::GetGameRequest { game_id: table.id }).await;
    assert_eq!(refusal(gone).reason, "GAME_NOT_FOUND", "the repeat has created nothing");
    let other = v1::CreateGameRequest { labels: [("k".into(), "v".into())].into(), ..request };
    assert_eq!(refusal(client.create_game(other).await).reason, "REQUEST_ID_REUSED");
}

async fn a_creation_is_repeated_also_after_the_game_expired(store: StoreKind) {
    let flags = ["--idle-ttl", "200ms", "--sweep-interval", "5ms"];
    let server = TestServer::with(store, &flags).await;
    let mut client = server.client().await;
    let request = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
    let first = client.create_game(request.clone()).await.expect("a game").into_inner();
    let get = v1::GetGameRequest { game_id: table(first.clone()).id };
    let gone = async {
        while client.get_game(get.clone()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("an idle game expires");
    assert_eq!(client.create_game(request).await.expect("a repeat").into_inner(), first);
    assert_eq!(refusal(client.get_game(get).await).reason, "GAME_NOT_FOUND");
    let games = client.list_games(v1::ListGamesRequest::default()).await.expect("a list");
    assert!(games.into_inner().games.is_empty());
}

async fn a_creation_is_repeated_also_after_its_layout_is_gone(store: StoreKind) {
    let flags = ["--idle-ttl", "400ms", "--finished-ttl", "1h", "--sweep-interval", "5ms"];
    let server = TestServer::with(store, &flags).await;
    let mut client = server.client().await;
    let draw = v1::CreateLayoutRequest { count: 2, seed: Some(42), ..Default::default() };
    let layout = client.create_layout(draw).await.expect("a layout").into_inner().layout;
    let layout_id = layout.expect("a layout").layout_id;
    let blocked = v1::BlockedSquares { layout_id: layout_id.clone(), ..Default::default() };
    let seat = v1::NewSeat::default();
    let request = v1::CreateGameRequest {
        rules: Some(v1::Rules { blocked_squares: Some(blocked), ..Default::default() }),
        seats: vec![seat.clone(), seat],
        request_id: request_id(),
        ..Default::default()
    };
    let first = client.create_game(request.clone()).await.expect("a game").into_inner();
    let table = table(first.clone());
    let resign = v1::ResignGameRequest {
        game_id: table.id,
        seat_token: table.tokens[&(Color::Black as i32)].clone(),
        ..Default::default()
    };
    client.resign_game(resign).await.expect("finished, it is kept for longer");
    let get_layout = v1::GetLayoutRequest { layout_id };
    let gone = async {
        while client.get_layout(get_layout.clone()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("an unused layout expires");
    assert_eq!(client.create_game(request).await.expect("a repeat").into_inner(), first);
}

async fn a_repeated_join_returns_the_first_answer_token_included(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let created = client.create_game(v1::CreateGameRequest::default()).await.expect("a game");
    let table = table(created.into_inner());
    let join = v1::JoinGameRequest {
        game_id: table.id.clone(),
        player_id: "ann".into(),
        display_name: "Ann".into(),
        request_id: request_id(),
        ..Default::default()
    };
    let first = client.join_game(join.clone()).await.expect("a seat").into_inner();
    assert_eq!(first.color(), Color::Black);
    assert_eq!(client.join_game(join.clone()).await.expect("a repeat").into_inner(), first);
    let second = v1::JoinGameRequest { request_id: request_id(), ..join.clone() };
    let second = client.join_game(second).await.expect("the other seat").into_inner();
    assert_eq!(second.color(), Color::White);
    assert_ne!(second.seat_token, first.seat_token);
    let play = v1::MakeMoveRequest {
        game_id: table.id,
        square: "d3".into(),
        seat_token: first.seat_token.clone(),
        ..Default::default()
    };
    client.make_move(play).await.expect("the token is good");
    assert_eq!(client.join_game(join).await.expect("a late repeat").into_inner(), first);
}

async fn a_repeated_move_resignation_and_abort_return_the_first_event(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules { players: 3, ..Default::default() }).await;
    let square = position(&table.game).legal_moves[0].clone();
    let make = v1::MakeMoveRequest {
        expected_version: table.game.version,
        request_id: request_id(),
        ..table.play(Color::Black, &square)
    };
    let moved = client.make_move(make.clone()).await.expect("a move").into_inner();
    assert_eq!(client.make_move(make.clone()).await.expect("a repeat").into_inner(), moved);
    let upper = v1::MakeMoveRequest { square: square.to_uppercase(), ..make.clone() };
    assert_eq!(client.make_move(upper).await.expect("a repeat").into_inner(), moved);
    let resign = v1::ResignGameRequest {
        game_id: table.id.clone(),
        seat_token: table.tokens[&(Color::Red as i32)].clone(),
        request_id: request_id(),
        ..Default::default()
    };
    let resigned = client.resign_game(resign.clone()).await.expect("resigned").into_inner();
    assert_eq!(client.resign_game(resign.clone()).await.expect("a repeat").into_inner(), resigned);
    let abort = v1::AbortGameRequest {
        game_id: table.id.clone(),
        owner_token: table.owner.clone(),
        request_id: request_id(),
    };
    let aborted = client.abort_game(abort.clone()).await.expect("aborted").into_inner();
    assert_eq!(client.abort_game(abort).await.expect("a repeat").into_inner(), aborted);
    // Over or not, the first answer stays the answer.
    assert_eq!(client.make_move(make).await.expect("a repeat").into_inner(), moved);
    assert_eq!(client.resign_game(resign).await.expect("a repeat").into_inner(), resigned);
    assert_eq!(revision(&get(&mut client, &table.id).await.version), 4);
}

async fn a_request_id_with_another_command_is_refused(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let make = v1::MakeMoveRequest { request_id: request_id(), ..table.play(Color::Black, "d3") };
    client.make_move(make.clone()).await.expect("a move");
    let others = [
        v1::MakeMoveRequest { square: "c4".into(), ..make.clone() },
        v1::MakeMoveRequest { expected_version: table.game.version, ..make.clone() },
        v1::MakeMoveRequest {
            request_id: make.request_id.clone(),
            ..table.play(Color::White, "d3")
        },
    ];
    for other in others {
        let refused = refusal(client.make_move(other).await);
        assert_eq!(refused.code, Code::InvalidArgument);
        assert_eq!(refused.reason, "REQUEST_ID_REUSED");
        assert_eq!(refused.metadata["current_revision"], "2");
    }
    for revision in (0..400).filter(|revision| *revision != 1) {
        let expected_version = Some(v1::Version { revision, digest: 0 });
        let other = v1::MakeMoveRequest { expected_version, ..make.clone() };
        assert_eq!(refusal(client.make_move(other).await).reason, "REQUEST_ID_REUSED");
    }
    let resign = v1::ResignGameRequest {
        game_id: table.id.clone(),
        seat_token: table.tokens[&(Color::Black as i32)].clone(),
        request_id: make.request_id.clone(),
        ..Default::default()
    };
    assert_eq!(refusal(client.resign_game(resign).await).reason, "REQUEST_ID_REUSED");
    let join = v1::JoinGameRequest {
        game_id: table.id.clone(),
        request_id: make.request_id,
        ..Default::default()
    };
    assert_eq!(refusal(client.join_game(join).await).reason, "REQUEST_ID_REUSED");

    let creation = v1::CreateGameRequest { request_id: request_id(), ..Default::default() };
    client.create_game(creation.clone()).await.expect("a game");
    let unknown = v1::BlockedSquares { layout_id: "nonesuch".into(), ..Default::default() };
    let rules = Some(v1::Rules { blocked_squares: Some(unknown), ..Default::default() });
    let other = v1::CreateGameRequest { rules, ..creation.clone() };
    assert_eq!(refusal(client.create_game(other).await).reason, "LAYOUT_NOT_FOUND");
    let with = |change: fn(&mut v1::CreateGameRequest)| {
        let mut other = creation.clone();
        change(&mut other);
        other
    };
    let others = [
        with(|other| other.rules = Some(v1::Rules { players: 3, ..Default::default() })),
        with(|other| other.labels = [("k".into(), "v".into())].into()),
        with(|other| other.seats = vec![v1::NewSeat::default(); 2]),
    ];
    for other in others {
        assert_eq!(refusal(client.create_game(other).await).reason, "REQUEST_ID_REUSED");
    }
}

async fn a_request_id_is_judged_after_the_token_and_before_the_game(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let make = v1::MakeMoveRequest { request_id: request_id(), ..table.play(Color::Black, "d3") };
    client.make_move(make.clone()).await.expect("a move");
    let stranger = v1::MakeMoveRequest { seat_token: "stranger".into(), ..make.clone() };
    assert_eq!(refusal(client.make_move(stranger).await).reason, "TOKEN_INVALID");
    let nobody = v1::MakeMoveRequest { seat_token: String::new(), ..make.clone() };
    assert_eq!(refusal(client.make_move(nobody).await).reason, "TOKEN_MISSING");
    let elsewhere = v1::MakeMoveRequest { square: "j10".into(), ..make };
    assert_eq!(refusal(client.make_move(elsewhere).await).reason, "REQUEST_ID_REUSED");
}

async fn a_refused_call_is_not_remembered(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let white = v1::MakeMoveRequest { request_id: request_id(), ..table.play(Color::White, "c3") };
    assert_eq!(refusal(client.make_move(white.clone()).await).reason, "NOT_YOUR_TURN");
    client.make_move(table.play(Color::Black, "d3")).await.expect("a move");
    let made = client.make_move(white).await.expect("now it is white's turn").into_inner();
    assert_eq!(revision(&made.event.expect("an event").version), 3);
}

async fn request_ids_of_different_games_have_nothing_to_do_with_each_other(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let request_id = request_id();
    let mut tokens = BTreeSet::new();
    for _ in 0..3 {
        let created = client.create_game(v1::CreateGameRequest::default()).await.expect("a game");
        let join = v1::JoinGameRequest {
            game_id: table(created.into_inner()).id,
            request_id: request_id.clone(),
            ..Default::default()
        };
        tokens.insert(client.join_game(join).await.expect("a seat").into_inner().seat_token);
    }
    assert_eq!(tokens.len(), 3, "and a token of one says nothing about another's");
}

async fn without_a_request_id_a_repeat_is_a_new_command(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let one = create(&mut client, v1::Rules::default()).await;
    let two = create(&mut client, v1::Rules::default()).await;
    assert_ne!(one.id, two.id);
    assert_ne!(one.tokens, two.tokens);
    client.make_move(one.play(Color::Black, "d3")).await.expect("a move");
    let again = client.make_move(one.play(Color::Black, "d3")).await;
    assert_eq!(refusal(again).reason, "NOT_YOUR_TURN");
}

async fn of_fifty_moves_on_one_version_one_succeeds(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut calls = JoinSet::new();
    for index in 0..50 {
        let mut client = server.client().await;
        let request = v1::MakeMoveRequest {
            expected_version: table.game.version,
            request_id: request_id(),
            ..table.play(Color::Black, ["d3", "c4", "f5", "e6"][index % 4])
        };
        calls.spawn(async move { client.make_move(request).await });
    }
    let mut answers: HashMap<String, usize> = HashMap::new();
    while let Some(call) = calls.join_next().await {
        let reason = match call.expect("no call panics") {
            Ok(_) => "moved".into(),
            Err(status) => refused(&status).reason,
        };
        *answers.entry(reason).or_default() += 1;
    }
    assert_eq!(answers, [("moved".into(), 1), ("VERSION_MISMATCH".into(), 49)].into());
    assert_eq!(revision(&get(&mut client, &table.id).await.version), 2);
}

async fn of_forty_joins_on_four_seats_four_succeed(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let request = v1::CreateGameRequest {
        rules: Some(v1::Rules { players: 4, ..Default::default() }),
        ..Default::default()
    };
    let id = table(client.create_game(request).await.expect("a game").into_inner()).id;
    let mut calls = JoinSet::new();
    for index in 0..40 {
        let mut client = server.client().await;
        let request = v1::JoinGameRequest {
            game_id: id.clone(),
            player_id: format!("player-{index}"),
            ..Default::default()
        };
        calls.spawn(async move { client.join_game(request).await });
    }
    let mut colors = BTreeSet::new();
    let mut refusals = 0;
    while let Some(call) = calls.join_next().await {
        match call.expect("no call panics") {
            Ok(joined) => assert!(colors.insert(joined.into_inner().color)),
            Err(status) => {
                assert_eq!(refused(&status).reason, "NO_OPEN_SEAT");
                refusals += 1;
            }
        }
    }
    assert_eq!((colors, refusals), ((1..=4).collect(), 36));
    assert_eq!(get(&mut client, &id).await.status(), v1::GameStatus::InProgress);
}

async fn twenty_identical_requests_at_once_commit_once(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let creation = v1::CreateGameRequest {
        rules: Some(v1::Rules {
            blocked_squares: Some(v1::BlockedSquares { count: Some(4), ..Default::default() }),
            ..Default::default()
        }),
        seats: vec![v1::NewSeat::default(); 2],
        request_id: request_id(),
        ..Default::default()
    };
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let (mut client, request) = (server.client().await, creation.clone());
        calls.spawn(async move { client.create_game(request).await.expect("a game").into_inner() });
    }
    let created = calls.join_all().await;
    assert!(created.iter().all(|answer| answer == &created[0]));

    let table = table(created[0].clone());
    let square = position(&table.game).legal_moves[0].clone();
    let make =
        v1::MakeMoveRequest { request_id: request_id(), ..table.play(Color::Black, &square) };
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let (mut client, request) = (server.client().await, make.clone());
        calls.spawn(async move { client.make_move(request).await.expect("a move").into_inner() });
    }
    let made = calls.join_all().await;
    assert!(made.iter().all(|answer| answer == &made[0]));
    assert_eq!(revision(&get(&mut client, &table.id).await.version), 2);
    let games = client.list_games(v1::ListGamesRequest::default()).await.expect("a list");
    assert_eq!(games.into_inner().games.len(), 1);
}
