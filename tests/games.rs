//! Whole games of every variant over the wire: what the server says of them is what the rules say, and the record proves
//! it.

mod common;

use common::{variants::variants, *};
use reversi_proto::{
    convert,
    v1::{self, Board, Color, GameStatus, MoveKind, Objective, Opening, OutcomeReason},
};
use reversi_rules::{Game, Transcript, Version};

everywhere!(
    every_variant_is_played_to_its_end_and_proved_by_its_record,
    known_games_end_as_known,
    returned_rules_are_complete_and_accepted_again,
    blocked_squares_come_from_the_seed_the_squares_or_the_layout,
    the_last_claim_starts_the_game,
    resigning_ends_a_game_of_two_and_skips_a_seat_of_more,
    one_commit_is_one_event_and_every_commit_counts,
);

const GAMES: &str = include_str!("../crates/rules/tests/data/games.tsv");
const LAYOUTS: &str = include_str!("../crates/rules/tests/data/layouts.tsv");

async fn every_variant_is_played_to_its_end_and_proved_by_its_record(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    for rules in variants() {
        let table = create(&mut client, rules.clone()).await;
        let played = play_out(&mut client, &table).await;
        let events = record(&mut client, &table.id, 7).await;
        assert_eq!(events[1..], played, "{rules:?}");

        let mut version = Version::ZERO;
        let mut replay: Option<Game> = None;
        for event in &events {
            let change = convert::change(event).expect("a change");
            let told = event.version.expect("a version");
            assert_eq!(event.previous_digest, version.digest);
            version = version.next(&change);
            assert_eq!((told.revision, told.digest), (version.revision, version.digest));
            let flips = match &mut replay {
                None => {
                    replay = Some(Game::create(&change).expect("a creation"));
                    None
                }
                Some(game) => game.apply(&change).expect("the rules accept it").played,
            };
            let game = replay.as_ref().expect("created");
            let position = event.position.as_ref().expect("a position");
            assert_eq!(position.board, game.position().board_text(), "{rules:?}");
            if let Some(v1::game_event::Change::MovePlayed(made)) = &event.change {
                let flips: Vec<_> =
                    flips.expect("a move").flips.iter().map(|s| s.to_string()).collect();
                assert_eq!(made.flips, flips);
            }
        }
        let game = get(&mut client, &table.id).await;
        assert_eq!(game.status(), GameStatus::Finished);
        assert_eq!(game.finish_time, game.update_time);
        let outcome = game.outcome.clone().expect("an outcome");
        assert_eq!(outcome.reason(), OutcomeReason::NoMoves);
        assert_eq!(outcome.counts, position(&game).counts);
        assert_eq!(outcome.draw, outcome.winners.is_empty());
        assert_eq!((position(&game).to_move, position(&game).move_kind), (0, 0));
        assert!(position(&game).legal_moves.is_empty());
    }
}

async fn known_games_end_as_known(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    for row in GAMES.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<_> = row.split('\t').collect();
        let [board, what, moves, passes, last, counts, result] = columns[..] else {
            panic!("{row} has seven columns")
        };
        let board = match board {
            "6x6" => Board::Board6x6,
            "8x8" => Board::Board8x8,
            other => panic!("{other} is a board here"),
        };
        let table =
            create(&mut client, v1::Rules { board: board.into(), ..Default::default() }).await;
        let mut now = position(&table.game).clone();
        let mut passed = Vec::new();
        for square in moves.parse::<Transcript>().expect("a transcript").0 {
            let mover = Color::try_from(now.to_move).expect("a colour");
            let made = client.make_move(table.play(mover, &square.to_string())).await;
            let event = made.expect("a legal move").into_inner().event.expect("an event");
            now = event.position.expect("a position");
            let Some(v1::game_event::Change::MovePlayed(made)) = event.change else {
                panic!("a move")
            };
            for color in made.passed {
                let letter = if color == Color::Black as i32 { 'B' } else { 'W' };
                passed.push(format!("{}:{letter}", now.ply));
            }
        }
        let passes = if passes == "none" { "" } else { passes };
        assert_eq!(passed.join(" "), passes, "{what}");
        assert_eq!(now.board, last, "{what}");
        let discs: Vec<_> = now.counts.iter().map(|count| count.discs.to_string()).collect();
        assert_eq!(discs.join(" "), counts, "{what}");
        let outcome = get(&mut client, &table.id).await.outcome.expect("it is over");
        let told = match outcome.winners[..] {
            [] if outcome.draw => "draw",
            [winner] if winner == Color::Black as i32 => "B",
            [winner] if winner == Color::White as i32 => "W",
            _ => "?",
        };
        assert_eq!(told, result, "{what}");
    }
}

async fn returned_rules_are_complete_and_accepted_again(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let plain = create(&mut client, v1::Rules::default()).await.game.rules.expect("rules");
    let complete = v1::Rules {
        board: Board::Board8x8.into(),
        players: 2,
        objective: Objective::MostDiscs.into(),
        opening: Opening::Cross.into(),
        ..Default::default()
    };
    assert_eq!(plain, complete);
    for rules in variants() {
        let first = create(&mut client, rules).await.game;
        let again = create(&mut client, first.rules.clone().expect("rules")).await.game;
        assert_eq!(again.rules, first.rules);
        assert_eq!(again.layout, first.layout);
        assert_eq!(again.position, first.position);
    }
    let four = create(&mut client, v1::Rules { players: 4, ..Default::default() }).await.game;
    let rules = four.rules.expect("rules");
    assert!(rules.multicolor && rules.opening == 0);
}

async fn blocked_squares_come_from_the_seed_the_squares_or_the_layout(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let mut rows = 0;
    for row in LAYOUTS.lines().filter(|line| !line.starts_with('#')).step_by(13) {
        let columns: Vec<_> = row.split('\t').collect();
        let [board, handicap, count, seed, squares] = columns[..] else {
            panic!("{row} has five columns")
        };
        let board = i32::from(board.parse::<reversi_rules::Board>().expect("a board").number());
        let draw = v1::CreateLayoutRequest {
            board,
            handicap_corners: handicap.parse().expect("a number"),
            count: count.parse().expect("a number"),
            seed: Some(seed.parse().expect("a number")),
        };
        let drawn = client.create_layout(draw).await.expect("a layout").into_inner();
        let layout = drawn.layout.expect("a layout");
        assert_eq!(layout.squares.join(" "), squares, "{row}");
        assert_eq!(layout.algorithm, 1);
        let again = client.create_layout(draw).await.expect("a layout").into_inner().layout;
        assert_eq!(again.as_ref(), Some(&layout), "the same request gives the same layout");
        let id = v1::GetLayoutRequest { layout_id: layout.layout_id.clone() };
        let stored = client.get_layout(id).await.expect("it is stored").into_inner().layout;
        assert_eq!(stored.as_ref(), Some(&layout));

        let rules = v1::Rules {
            board,
            handicap_corners: draw.handicap_corners,
            blocked_squares: Some(v1::BlockedSquares {
                layout_id: layout.layout_id.clone(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let game = create(&mut client, rules).await.game;
        assert_eq!(game.layout.as_ref(), Some(&layout));
        let blocked = game.rules.expect("rules").blocked_squares.expect("blocked squares");
        assert_eq!((blocked.count, blocked.seed), (Some(draw.count), draw.seed));
        rows += 1;
    }
    assert!(rows > 30);

    let squares = vec!["H5".into(), "a2".into()];
    let blocked = v1::BlockedSquares { squares, ..Default::default() };
    let rules = v1::Rules { blocked_squares: Some(blocked), ..Default::default() };
    let game = create(&mut client, rules).await.game;
    let layout = game.layout.clone().expect("a layout");
    assert_eq!(layout.squares, ["a2", "h5"]);
    assert_eq!((layout.seed, layout.algorithm), (None, 0));
    let told = game.rules.expect("rules").blocked_squares.expect("blocked squares").squares;
    assert_eq!(told, ["a2", "h5"]);
    let id = v1::GetLayoutRequest { layout_id: layout.layout_id.clone() };
    let stored = client.get_layout(id).await.expect("every layout shown can be fetched");
    assert_eq!(stored.into_inner().layout, Some(layout));
    let seedless = v1::CreateLayoutRequest { count: 4, ..Default::default() };
    let one = client.create_layout(seedless).await.expect("a layout").into_inner().layout;
    let two = client.create_layout(seedless).await.expect("a layout").into_inner().layout;
    assert_ne!(one.expect("a layout").seed, two.expect("a layout").seed, "each draws anew");
}

async fn the_last_claim_starts_the_game(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let request = v1::CreateGameRequest {
        rules: Some(v1::Rules { players: 3, ..Default::default() }),
        seats: vec![
            v1::NewSeat { open: true, ..Default::default() },
            v1::NewSeat { player_id: "bob".into(), ..Default::default() },
            v1::NewSeat { open: true, ..Default::default() },
        ],
        ..Default::default()
    };
    let table = create_with(&mut client, request).await;
    assert_eq!(table.game.status(), GameStatus::WaitingForPlayers);
    assert_eq!(table.tokens.keys().copied().collect::<Vec<_>>(), [Color::White as i32]);
    let join = |player: &str, color: Option<Color>| v1::JoinGameRequest {
        game_id: table.id.clone(),
        player_id: player.into(),
        display_name: player.to_uppercase(),
        color: color.map_or(0, |color| color as i32),
        ..Default::default()
    };
    let red = client.join_game(join("cy", Some(Color::Red))).await.expect("red").into_inner();
    assert_eq!(red.game.expect("a game").status(), GameStatus::WaitingForPlayers);
    let black = client.join_game(join("ann", None)).await.expect("black").into_inner();
    assert_eq!(black.color(), Color::Black);
    let game = black.game.expect("a game");
    assert_eq!(game.status(), GameStatus::InProgress);
    let names: Vec<_> = game.seats.iter().map(|seat| seat.player_id.as_str()).collect();
    assert_eq!(names, ["ann", "bob", "cy"]);
    assert!(game.seats.iter().all(|seat| seat.claimed && !seat.resigned));
}

async fn resigning_ends_a_game_of_two_and_skips_a_seat_of_more(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let resign = |table: &Table, color: Color| v1::ResignGameRequest {
        game_id: table.id.clone(),
        seat_token: table.tokens[&(color as i32)].clone(),
        ..Default::default()
    };
    let two = create(&mut client, v1::Rules::default()).await;
    let event = client.resign_game(resign(&two, Color::White)).await.expect("out of turn");
    let event = event.into_inner().event.expect("an event");
    let outcome = event.outcome.expect("it is over");
    assert_eq!(outcome.winners, [Color::Black as i32]);
    assert_eq!(outcome.reason(), OutcomeReason::Resignation);

    let four = create(&mut client, v1::Rules { players: 4, ..Default::default() }).await;
    let event = client.resign_game(resign(&four, Color::Black)).await.expect("in turn");
    let position = event.into_inner().event.expect("an event").position.expect("a position");
    assert_eq!(position.to_move(), Color::White, "the next player left moves");
    client.resign_game(resign(&four, Color::Red)).await.expect("out of turn");
    let made = client.make_move(four.play(Color::White, &position.legal_moves[0])).await;
    let event = made.expect("a move").into_inner().event.expect("an event");
    assert_eq!(event.position.expect("a position").to_move(), Color::Green, "red is skipped");
    let Some(v1::game_event::Change::MovePlayed(made)) = event.change else { panic!("a move") };
    assert!(made.passed.is_empty(), "a skip is no pass");
    assert_ne!(made.kind(), MoveKind::Unspecified);
    let event = client.resign_game(resign(&four, Color::White)).await.expect("the last but one");
    let outcome = event.into_inner().event.expect("an event").outcome.expect("it is over");
    assert_eq!(outcome.winners, [Color::Green as i32]);
    assert_eq!(outcome.counts.len(), 4);
}

async fn one_commit_is_one_event_and_every_commit_counts(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let created = client.create_game(v1::CreateGameRequest::default()).await.expect("a game");
    let id = table(created.into_inner()).id;
    for expected in [2, 3] {
        let join = v1::JoinGameRequest { game_id: id.clone(), ..Default::default() };
        let joined = client.join_game(join).await.expect("a seat").into_inner();
        assert_eq!(revision(&joined.game.expect("a game").version), expected);
    }
    let before = get(&mut client, &id).await;
    for _ in 0..3 {
        assert_eq!(get(&mut client, &id).await, before, "reading changes nothing");
    }
    let events = record(&mut client, &id, 1).await;
    let revisions: Vec<_> = events.iter().map(|event| revision(&event.version)).collect();
    assert_eq!(revisions, [1, 2, 3]);
}
