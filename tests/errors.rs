//! Every row of the contract's table of errors: its code and reason, what it carries, and that of several faults the
//! first in the table is told. No refused call changes anything.

mod common;

use common::*;
use reversi_proto::v1::{self, Board, Color, GameStatus};
use tonic::Code;

everywhere!(
    malformed_fields_are_named_all_at_once,
    rules_that_do_not_combine_are_named_all_at_once,
    unknown_enum_numbers_are_never_read_as_the_default,
    games_and_layouts_that_are_not_there_are_not_found,
    tokens_are_needed_and_must_fit_the_game_and_the_call,
    a_color_in_place_of_a_token_needs_a_credential,
    fields_wrong_for_this_game_are_named,
    an_expected_version_must_be_the_current_one,
    seats_are_refused_by_why_they_cannot_be_had,
    moves_are_refused_in_the_order_of_the_table,
    resigning_is_refused_in_the_order_of_the_table,
    aborting_and_deleting_are_refused_in_the_order_of_the_table,
    more_than_twenty_faults_are_counted,
    what_is_not_built_says_so,
);

async fn server(store: StoreKind) -> (TestServer, Client) {
    let server = TestServer::start(store).await;
    let client = server.client().await;
    (server, client)
}

fn assert_invalid(refused: &Refused, fields: &[&str]) {
    assert_eq!((refused.code, refused.reason.as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
    assert_eq!(refused.fields, fields);
}

fn assert_refused(refused: &Refused, code: Code, reason: &str) {
    assert_eq!((refused.code, refused.reason.as_str()), (code, reason), "{refused:?}");
}

/// Two open seats, and a claim on the first.
async fn half_taken(client: &mut Client) -> (v1::Game, String) {
    let created = client.create_game(v1::CreateGameRequest::default()).await.expect("a game");
    let game = created.into_inner().game.expect("a game");
    let join = v1::JoinGameRequest { game_id: game.game_id.clone(), ..Default::default() };
    let joined = client.join_game(join).await.expect("a seat").into_inner();
    (joined.game.expect("a game"), joined.seat_token)
}

async fn malformed_fields_are_named_all_at_once(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let bad = v1::MakeMoveRequest {
        game_id: "x".repeat(65),
        square: "k11".into(),
        color: 99,
        request_id: "not a uuid".into(),
        ..Default::default()
    };
    assert_invalid(
        &refusal(client.make_move(bad).await),
        &["game_id", "square", "color", "request_id"],
    );
    let bad = v1::JoinGameRequest {
        color: Color::Neutral as i32,
        player_id: "x".repeat(65),
        display_name: "a\u{7}b".into(),
        ..Default::default()
    };
    assert_invalid(
        &refusal(client.join_game(bad).await),
        &["game_id", "color", "player_id", "display_name"],
    );
    let bad = v1::CreateGameRequest {
        seats: vec![
            v1::NewSeat { player_id: "tab\t".into(), ..Default::default() },
            v1::NewSeat { open: true, player_id: "ann".into(), ..Default::default() },
        ],
        labels: [("k=".into(), "v".into()), ("k".into(), "v".repeat(257))].into(),
        request_id: "123e4567e89b12d3a456426614174000".into(),
        ..Default::default()
    };
    assert_invalid(
        &refusal(client.create_game(bad).await),
        &["seats[0].player_id", "seats[1]", "labels[\"k\"]", "labels[\"k=\"]", "request_id"],
    );
    let bad = v1::ListGamesRequest {
        page_size: -1,
        status: 9,
        label: "no equals sign".into(),
        page_token: "?".into(),
        ..Default::default()
    };
    assert_invalid(
        &refusal(client.list_games(bad).await),
        &["page_size", "status", "label", "page_token"],
    );
    let bad = v1::CreateLayoutRequest { handicap_corners: 5, count: 0, ..Default::default() };
    assert_invalid(&refusal(client.create_layout(bad).await), &["handicap_corners", "count"]);
    let bad = v1::CreateLayoutRequest { board: 99, handicap_corners: 9, count: 0, seed: None };
    let fields = ["board", "handicap_corners", "count"];
    assert_invalid(&refusal(client.create_layout(bad).await), &fields);
    let bad = v1::ListGamesRequest { label: "k\n=v".into(), ..Default::default() };
    assert_invalid(&refusal(client.list_games(bad).await), &["label"]);
    let long = v1::ListGamesRequest { page_token: "A".repeat(3_000), ..Default::default() };
    assert_invalid(&refusal(client.list_games(long).await), &["page_token"]);
    let nil = "00000000-0000-0000-0000-000000000000".to_owned();
    let bad = v1::CreateGameRequest { request_id: nil, ..Default::default() };
    assert_invalid(&refusal(client.create_game(bad).await), &["request_id"]);
    // Of an unknown board nothing is said but that.
    let squares = vec!["j10".into(), "d4".into()];
    let rules = v1::Rules {
        board: 9,
        blocked_squares: Some(v1::BlockedSquares { squares, ..Default::default() }),
        ..Default::default()
    };
    let bad = v1::CreateGameRequest {
        rules: Some(rules),
        seats: vec![
            v1::NewSeat::default(),
            v1::NewSeat::default(),
            v1::NewSeat { display_name: "\t".into(), ..Default::default() },
        ],
        ..Default::default()
    };
    assert_invalid(
        &refusal(client.create_game(bad).await),
        &["rules.board", "seats", "seats[2].display_name"],
    );
    let both = v1::ResignGameRequest {
        game_id: "g".into(),
        seat_token: "t".into(),
        color: Color::Black as i32,
        ..Default::default()
    };
    assert_invalid(&refusal(client.resign_game(both).await), &["color"]);
}

async fn rules_that_do_not_combine_are_named_all_at_once(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let blocked = |squares: &[&str]| {
        let squares = squares.iter().map(|&square| square.into()).collect();
        Some(v1::BlockedSquares { squares, ..Default::default() })
    };
    let cases: Vec<(v1::Rules, &[&str])> = vec![
        (v1::Rules { players: 5, ..Default::default() }, &["rules.players"]),
        (v1::Rules { players: 1, ..Default::default() }, &["rules.players"]),
        (
            v1::Rules {
                board: Board::Cross.into(),
                players: 4,
                opening: v1::Opening::Cross.into(),
                handicap_corners: 1,
                blocked_squares: Some(v1::BlockedSquares::default()),
                ..Default::default()
            },
            &[
                "rules.board",
                "rules.opening",
                "rules.handicap_corners",
                "rules.handicap_corners",
                "rules.blocked_squares",
            ],
        ),
        (
            v1::Rules { board: Board::Board6x6.into(), multicolor: true, ..Default::default() },
            &["rules.board"],
        ),
        (v1::Rules { handicap_corners: 5, ..Default::default() }, &["rules.handicap_corners"]),
        (
            v1::Rules { board: Board::Octagon.into(), handicap_corners: 1, ..Default::default() },
            &["rules.handicap_corners"],
        ),
        (
            v1::Rules {
                blocked_squares: Some(v1::BlockedSquares {
                    count: Some(0),
                    layout_id: "x".into(),
                    ..Default::default()
                }),
                ..Default::default()
            },
            &["rules.blocked_squares", "rules.blocked_squares.count"],
        ),
        (
            v1::Rules {
                handicap_corners: 1,
                blocked_squares: blocked(&["A1", "d4", "j10", "zz", "b2"]),
                ..Default::default()
            },
            &[
                "rules.blocked_squares.squares",
                "rules.blocked_squares.squares[0]",
                "rules.blocked_squares.squares[1]",
                "rules.blocked_squares.squares[2]",
                "rules.blocked_squares.squares[3]",
            ],
        ),
        (
            v1::Rules { blocked_squares: blocked(&["a2", "A2"]), ..Default::default() },
            &["rules.blocked_squares.squares[1]"],
        ),
    ];
    for (rules, fields) in cases {
        let request = v1::CreateGameRequest { rules: Some(rules.clone()), ..Default::default() };
        let refused = refusal(client.create_game(request).await);
        assert_eq!(refused.reason, "INVALID_FIELD", "{rules:?}");
        assert_eq!(refused.fields, fields, "{rules:?}");
    }
}

async fn unknown_enum_numbers_are_never_read_as_the_default(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    for number in [-1, 6, 99, 256, i32::MAX, i32::MIN] {
        let rules =
            v1::Rules { board: number, objective: number, opening: number, ..Default::default() };
        let request = v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
        assert_invalid(
            &refusal(client.create_game(request).await),
            &["rules.board", "rules.objective", "rules.opening"],
        );
        let request = v1::CreateLayoutRequest { board: number, count: 1, ..Default::default() };
        assert_invalid(&refusal(client.create_layout(request).await), &["board"]);
        let request = v1::ListGamesRequest { status: number, ..Default::default() };
        assert_invalid(&refusal(client.list_games(request).await), &["status"]);
        let request =
            v1::JoinGameRequest { game_id: "g".into(), color: number, ..Default::default() };
        assert_invalid(&refusal(client.join_game(request).await), &["color"]);
    }
}

async fn games_and_layouts_that_are_not_there_are_not_found(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    for id in ["nonesuch", "ktg5wlnlou4r5yzibhcgvzxhey", "☃", "a\0b", &"x".repeat(64)] {
        let game_id = id.to_owned();
        let not_found =
            |refused: Refused| assert_refused(&refused, Code::NotFound, "GAME_NOT_FOUND");
        not_found(refusal(client.get_game(v1::GetGameRequest { game_id: game_id.clone() }).await));
        let join = v1::JoinGameRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.join_game(join).await));
        // Before the missing token is looked at.
        let request = v1::MakeMoveRequest {
            game_id: game_id.clone(),
            square: "d3".into(),
            ..Default::default()
        };
        not_found(refusal(client.make_move(request).await));
        let request = v1::ResignGameRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.resign_game(request).await));
        let request = v1::AbortGameRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.abort_game(request).await));
        let request = v1::DeleteGameRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.delete_game(request).await));
        let request = v1::WatchGameRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.watch_game(request).await));
        let request = v1::ListGameEventsRequest { game_id: game_id.clone(), ..Default::default() };
        not_found(refusal(client.list_game_events(request).await));

        let request = v1::GetLayoutRequest { layout_id: id.into() };
        let refused = refusal(client.get_layout(request).await);
        assert_refused(&refused, Code::NotFound, "LAYOUT_NOT_FOUND");
        let rules = v1::Rules {
            blocked_squares: Some(v1::BlockedSquares {
                layout_id: id.into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let request = v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
        let refused = refusal(client.create_game(request).await);
        assert_refused(&refused, Code::NotFound, "LAYOUT_NOT_FOUND");
    }
}

async fn tokens_are_needed_and_must_fit_the_game_and_the_call(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let table = create(&mut client, v1::Rules::default()).await;
    let other = create(&mut client, v1::Rules::default()).await;
    let black = Color::Black as i32;
    let make = |token: &str| v1::MakeMoveRequest {
        seat_token: token.into(),
        ..table.play(Color::Black, "d3")
    };
    let refused = refusal(client.make_move(make("")).await);
    assert_refused(&refused, Code::Unauthenticated, "TOKEN_MISSING");
    assert_eq!(refused.metadata["current_revision"], "1");
    for wrong in ["x", &other.tokens[&black], &table.owner, &"x".repeat(1_000)] {
        let refused = refusal(client.make_move(make(wrong)).await);
        assert_refused(&refused, Code::PermissionDenied, "TOKEN_INVALID");
    }
    let abort = |token: &str| v1::AbortGameRequest {
        game_id: table.id.clone(),
        owner_token: token.into(),
        ..Default::default()
    };
    let refused = refusal(client.abort_game(abort("")).await);
    assert_refused(&refused, Code::Unauthenticated, "TOKEN_MISSING");
    for wrong in [&table.tokens[&black], &other.owner] {
        let refused = refusal(client.abort_game(abort(wrong)).await);
        assert_refused(&refused, Code::PermissionDenied, "TOKEN_INVALID");
    }
    let delete = |token: &str| v1::DeleteGameRequest {
        game_id: table.id.clone(),
        owner_token: token.into(),
    };
    assert_eq!(refusal(client.delete_game(delete("")).await).reason, "TOKEN_MISSING");
    let seat = delete(&table.tokens[&black]);
    assert_eq!(refusal(client.delete_game(seat).await).reason, "TOKEN_INVALID");
    assert_eq!(get(&mut client, &table.id).await, table.game, "nothing has changed");
}

async fn a_color_in_place_of_a_token_needs_a_credential(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let table = create(&mut client, v1::Rules::default()).await;
    let request = v1::MakeMoveRequest {
        seat_token: String::new(),
        color: Color::Black as i32,
        ..table.play(Color::Black, "d3")
    };
    let refused = refusal(client.make_move(request).await);
    assert_refused(&refused, Code::Unauthenticated, "TOKEN_MISSING");
}

async fn fields_wrong_for_this_game_are_named(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let blocked = v1::BlockedSquares { squares: vec!["h1".into()], ..Default::default() };
    let rules = v1::Rules { blocked_squares: Some(blocked), ..Default::default() };
    let table = create(&mut client, rules).await;
    for square in ["j10", "i1", "h1", "H1"] {
        // Before the version and the turn are looked at.
        let request = v1::MakeMoveRequest {
            expected_version: Some(v1::Version { revision: 9, digest: 9 }),
            ..table.play(Color::White, square)
        };
        let refused = refusal(client.make_move(request).await);
        assert_invalid(&refused, &["square"]);
        assert_eq!(refused.metadata["current_revision"], "1");
    }
    let (waiting, _) = half_taken(&mut client).await;
    let join = v1::JoinGameRequest {
        game_id: waiting.game_id.clone(),
        color: Color::Red as i32,
        ..Default::default()
    };
    assert_invalid(&refusal(client.join_game(join).await), &["color"]);

    let drawn = v1::CreateLayoutRequest { handicap_corners: 1, count: 2, ..Default::default() };
    let layout = client.create_layout(drawn).await.expect("a layout").into_inner().layout;
    let layout_id = layout.expect("a layout").layout_id;
    for (board, handicap_corners) in [(Board::Board8x8, 0), (Board::Board10x10, 1)] {
        let rules = v1::Rules {
            board: board.into(),
            handicap_corners,
            blocked_squares: Some(v1::BlockedSquares {
                layout_id: layout_id.clone(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let request = v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
        let refused = refusal(client.create_game(request).await);
        assert_invalid(&refused, &["rules.blocked_squares.layout_id"]);
    }
}

async fn an_expected_version_must_be_the_current_one(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let table = create(&mut client, v1::Rules::default()).await;
    let current = table.game.version.expect("a version");
    let expecting = |color, square, revision, digest| v1::MakeMoveRequest {
        expected_version: Some(v1::Version { revision, digest }),
        ..table.play(color, square)
    };
    for (revision, digest) in [(0, 0), (2, 0), (1, current.digest ^ 1), (2, current.digest)] {
        // Before the turn and the legality are looked at.
        let refused =
            refusal(client.make_move(expecting(Color::White, "a1", revision, digest)).await);
        assert_refused(&refused, Code::Aborted, "VERSION_MISMATCH");
        assert_eq!(refused.metadata["current_revision"], "1");
    }
    let exact = expecting(Color::Black, "d3", 1, current.digest);
    client.make_move(exact).await.expect("the current version");
    client.make_move(expecting(Color::White, "c3", 2, 0)).await.expect("by revision alone");
}

async fn seats_are_refused_by_why_they_cannot_be_had(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let (game, _) = half_taken(&mut client).await;
    let join = |color: Option<Color>| v1::JoinGameRequest {
        game_id: game.game_id.clone(),
        color: color.map_or(0, |color| color as i32),
        ..Default::default()
    };
    let refused = refusal(client.join_game(join(Some(Color::Black))).await);
    assert_refused(&refused, Code::FailedPrecondition, "SEAT_TAKEN");
    assert_eq!(refused.metadata["current_revision"], "2");
    client.join_game(join(None)).await.expect("white is open");
    for color in [None, Some(Color::Black), Some(Color::White)] {
        let refused = refusal(client.join_game(join(color)).await);
        assert_refused(&refused, Code::FailedPrecondition, "NO_OPEN_SEAT");
        assert_eq!(refused.metadata["current_revision"], "3");
    }
    let created = client.create_game(v1::CreateGameRequest::default()).await.expect("a game");
    let waiting = table(created.into_inner());
    let abort = v1::AbortGameRequest {
        game_id: waiting.id.clone(),
        owner_token: waiting.owner,
        ..Default::default()
    };
    client.abort_game(abort).await.expect("also before it starts");
    let join = v1::JoinGameRequest { game_id: waiting.id, ..Default::default() };
    let refused = refusal(client.join_game(join).await);
    assert_refused(&refused, Code::FailedPrecondition, "GAME_FINISHED");
}

async fn moves_are_refused_in_the_order_of_the_table(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let (waiting, seat_token) = half_taken(&mut client).await;
    let early = v1::MakeMoveRequest {
        game_id: waiting.game_id,
        square: "a1".into(),
        seat_token,
        ..Default::default()
    };
    let refused = refusal(client.make_move(early).await);
    assert_refused(&refused, Code::FailedPrecondition, "GAME_NOT_STARTED");

    let table = create(&mut client, v1::Rules { players: 3, ..Default::default() }).await;
    let refused = refusal(client.make_move(table.play(Color::White, "a1")).await);
    assert_refused(&refused, Code::FailedPrecondition, "NOT_YOUR_TURN");
    assert_eq!(refused.metadata["to_move"], "COLOR_BLACK");
    let refused = refusal(client.make_move(table.play(Color::Black, "a1")).await);
    assert_refused(&refused, Code::FailedPrecondition, "ILLEGAL_MOVE");
    let legal = position(&table.game).legal_moves.join(",");
    assert_eq!(refused.metadata["legal_moves"], legal);
    assert_eq!(refused.metadata["current_revision"], "1");

    let resign = |color: Color| v1::ResignGameRequest {
        game_id: table.id.clone(),
        seat_token: table.tokens[&(color as i32)].clone(),
        ..Default::default()
    };
    client.resign_game(resign(Color::White)).await.expect("out of turn");
    let refused = refusal(client.make_move(table.play(Color::White, "a1")).await);
    assert_refused(&refused, Code::FailedPrecondition, "SEAT_RESIGNED");
    client.resign_game(resign(Color::Red)).await.expect("the last but one");
    for color in [Color::Black, Color::White] {
        let refused = refusal(client.make_move(table.play(color, "a1")).await);
        assert_refused(&refused, Code::FailedPrecondition, "GAME_FINISHED");
        assert_eq!(refused.metadata["current_revision"], "3");
    }
}

async fn resigning_is_refused_in_the_order_of_the_table(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let (waiting, seat_token) = half_taken(&mut client).await;
    let early =
        v1::ResignGameRequest { game_id: waiting.game_id, seat_token, ..Default::default() };
    let refused = refusal(client.resign_game(early).await);
    assert_refused(&refused, Code::FailedPrecondition, "GAME_NOT_STARTED");
    let table = create(&mut client, v1::Rules { players: 4, ..Default::default() }).await;
    let resign = v1::ResignGameRequest {
        game_id: table.id.clone(),
        seat_token: table.tokens[&(Color::Red as i32)].clone(),
        ..Default::default()
    };
    client.resign_game(resign.clone()).await.expect("out of turn");
    let refused = refusal(client.resign_game(resign).await);
    assert_refused(&refused, Code::FailedPrecondition, "SEAT_RESIGNED");
}

async fn aborting_and_deleting_are_refused_in_the_order_of_the_table(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let table = create(&mut client, v1::Rules::default()).await;
    let abort = v1::AbortGameRequest {
        game_id: table.id.clone(),
        owner_token: table.owner.clone(),
        ..Default::default()
    };
    let ended = client.abort_game(abort.clone()).await.expect("the owner may");
    let event = ended.into_inner().event.expect("an event");
    let outcome = event.outcome.expect("it is over");
    assert!(outcome.winners.is_empty() && !outcome.draw);
    assert_eq!(outcome.reason(), v1::OutcomeReason::Aborted);
    assert_eq!(event.position.expect("a position").to_move, 0);
    let refused = refusal(client.abort_game(abort).await);
    assert_refused(&refused, Code::FailedPrecondition, "GAME_FINISHED");
    assert_eq!(get(&mut client, &table.id).await.status(), GameStatus::Finished);
    let delete = v1::DeleteGameRequest { game_id: table.id.clone(), owner_token: table.owner };
    client.delete_game(delete.clone()).await.expect("a finished game too");
    let refused = refusal(client.delete_game(delete).await);
    assert_refused(&refused, Code::NotFound, "GAME_NOT_FOUND");
}

async fn more_than_twenty_faults_are_counted(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let labels = (0..32).map(|index| (format!("{index}="), "v".into())).collect();
    let request = v1::CreateGameRequest { labels, ..Default::default() };
    let status = client.create_game(request).await.expect_err("bad labels");
    assert_eq!(refused(&status).fields.len(), 21, "twenty, then a count");
    let details = tonic_types::StatusExt::get_error_details(&status);
    let faults = &details.bad_request().expect("faults").field_violations;
    assert_eq!(faults[20].description, "12 more faults are not listed");
    assert!(status.details().len() * 4 / 3 < 8 << 10, "small enough for any client's headers");
}

async fn what_is_not_built_says_so(store: StoreKind) {
    let (_server, mut client) = server(store).await;
    let refused = refusal(client.export_game(v1::ExportGameRequest::default()).await);
    assert_refused(&refused, Code::Unimplemented, "UNIMPLEMENTED");
}
