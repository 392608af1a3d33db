//! ListGames and ListGameEvents: what is listed, in which order, and pages that fit together.

mod common;

use common::*;
use reversi_proto::v1::{self, Color, GameStatus};
use tokio::{task::JoinSet, time::timeout};
use tonic::{Code, Status};

everywhere!(
    games_are_listed_newest_first_and_without_legal_moves,
    filters_list_exactly_their_games,
    a_page_has_the_size_that_was_asked_within_bounds,
    a_page_token_goes_on_with_its_own_listing_alone,
    games_that_are_gone_are_not_listed,
    a_page_that_was_begun_goes_on_whatever_happens_to_its_games,
    pages_of_events_tile_the_record,
    events_after_a_revision_are_listed,
    an_events_token_goes_on_with_its_own_record_alone,
);

type Listed = v1::ListGamesRequest;

async fn page(client: &mut Client, request: Listed) -> v1::ListGamesResponse {
    client.list_games(request).await.expect("a page").into_inner()
}

/// The ids of all pages.
async fn list(client: &mut Client, mut request: Listed) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let page = page(client, request.clone()).await;
        ids.extend(page.games.into_iter().map(|game| game.game_id));
        assert!(ids.len() < 10_000, "the pages come to an end");
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            return ids;
        }
    }
}

/// A game between these two, of whom an empty one leaves the seat open, with these labels.
async fn between(client: &mut Client, players: [&str; 2], labels: &[(&str, &str)]) -> Table {
    let seats = players.map(|player_id| v1::NewSeat {
        player_id: player_id.into(),
        open: player_id.is_empty(),
        ..Default::default()
    });
    let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let request = v1::CreateGameRequest {
        seats: seats.into(),
        labels: labels.collect(),
        ..Default::default()
    };
    create_with(client, request).await
}

async fn abort(client: &mut Client, table: &Table) {
    let request = v1::AbortGameRequest {
        game_id: table.id.clone(),
        owner_token: table.owner.clone(),
        ..Default::default()
    };
    client.abort_game(request).await.expect("the owner may");
}

async fn delete(client: &mut Client, table: &Table) {
    let request =
        v1::DeleteGameRequest { game_id: table.id.clone(), owner_token: table.owner.clone() };
    client.delete_game(request).await.expect("the owner may");
}

/// Panics unless the call was refused for this field alone.
fn assert_at_fault<T: std::fmt::Debug>(answer: Result<T, Status>, field: &str) {
    let refused = refusal(answer);
    assert_eq!((refused.code, refused.reason.as_str()), (Code::InvalidArgument, "INVALID_FIELD"));
    assert_eq!(refused.fields, [field]);
}

/// Newest first, then by id, as the contract orders these.
fn in_order<'a>(tables: impl IntoIterator<Item = &'a Table>) -> Vec<String> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    let time = |table: &Table| table.game.create_time.map(|time| (time.seconds, time.nanos));
    tables.sort_by(|a, b| time(b).cmp(&time(a)).then(a.id.cmp(&b.id)));
    tables.into_iter().map(|table| table.id.clone()).collect()
}

async fn games_are_listed_newest_first_and_without_legal_moves(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    assert_eq!(page(&mut client, Listed::default()).await, v1::ListGamesResponse::default());
    let mut tables = Vec::new();
    for _ in 0..12 {
        tables.push(create(&mut client, v1::Rules::default()).await);
    }
    client.make_move(tables[3].play(Color::Black, "d3")).await.expect("a legal move");
    assert_eq!(list(&mut client, Listed::default()).await, in_order(&tables));

    for listed in page(&mut client, Listed::default()).await.games {
        let mut whole = get(&mut client, &listed.game_id).await;
        whole.position.as_mut().expect("a position").legal_moves.clear();
        assert_eq!(listed, whole, "the rest is told whole");
    }
}

async fn filters_list_exactly_their_games(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let one = [("event", "1"), ("round", "a=b")];
    let tables = [
        between(&mut client, ["ann", "bob"], &one).await,
        between(&mut client, ["bob", "ann"], &[("event", "2")]).await,
        between(&mut client, ["ann", ""], &[("event", "1")]).await,
        between(&mut client, ["eve", "eve"], &[("event", "")]).await,
        between(&mut client, ["an", "annn"], &[]).await,
    ];
    abort(&mut client, &tables[1]).await;
    let (waiting, playing, finished) =
        (GameStatus::WaitingForPlayers, GameStatus::InProgress, GameStatus::Finished);
    let any = GameStatus::Unspecified;
    let cases: [(GameStatus, &str, &str, &[usize]); 19] = [
        (any, "", "", &[0, 1, 2, 3, 4]),
        (waiting, "", "", &[2]),
        (playing, "", "", &[0, 3, 4]),
        (finished, "", "", &[1]),
        (any, "ann", "", &[0, 1, 2]),
        (any, "eve", "", &[3]),
        (any, "nobody", "", &[]),
        (any, "Ann", "", &[]),
        (any, "", "event=1", &[0, 2]),
        (any, "", "event=", &[3]),
        (any, "", "round=a=b", &[0]),
        (any, "", "round=a", &[]),
        (any, "", "even=t1", &[]),
        (playing, "ann", "", &[0]),
        (waiting, "ann", "event=1", &[2]),
        (finished, "bob", "event=2", &[1]),
        (finished, "bob", "event=1", &[]),
        (playing, "", "event=1", &[0]),
        (any, "bob", "event=1", &[0]),
    ];
    for (status, player_id, label, expected) in cases {
        let request = Listed {
            status: status.into(),
            player_id: player_id.into(),
            label: label.into(),
            ..Default::default()
        };
        let expected = in_order(expected.iter().map(|number| &tables[*number]));
        assert_eq!(list(&mut client, request.clone()).await, expected, "{request:?}");
        let one_by_one = Listed { page_size: 1, ..request };
        assert_eq!(list(&mut client, one_by_one.clone()).await, expected, "{one_by_one:?}");
    }
    // A listing follows what happens.
    let join = v1::JoinGameRequest {
        game_id: tables[2].id.clone(),
        player_id: "late".into(),
        ..Default::default()
    };
    client.join_game(join).await.expect("a seat is open");
    let late = Listed { status: playing.into(), player_id: "late".into(), ..Default::default() };
    assert_eq!(list(&mut client, late).await, [tables[2].id.clone()]);
    let still = Listed { status: waiting.into(), ..Default::default() };
    assert_eq!(list(&mut client, still).await, [""; 0]);

    for (field, request) in [
        ("status", Listed { status: 4, ..Default::default() }),
        ("label", Listed { label: "event".into(), ..Default::default() }),
        ("label", Listed { label: "=1".into(), ..Default::default() }),
        ("player_id", Listed { player_id: "x".repeat(65), ..Default::default() }),
    ] {
        assert_at_fault(client.list_games(request).await, field);
    }
}

async fn a_page_has_the_size_that_was_asked_within_bounds(store: StoreKind) {
    let server = TestServer::start(store).await;
    let client = server.client().await;
    let mut creating = JoinSet::new();
    for _ in 0..505 {
        let mut client = client.clone();
        creating.spawn(async move { create(&mut client, v1::Rules::default()).await });
    }
    let tables = creating.join_all().await;
    let mut client = client;
    let whole = in_order(&tables);
    for (asked, given) in [(0, 50), (1, 1), (49, 49), (500, 500), (501, 500), (i32::MAX, 500)] {
        let first = page(&mut client, Listed { page_size: asked, ..Default::default() }).await;
        let ids: Vec<_> = first.games.iter().map(|game| &game.game_id).collect();
        assert_eq!(ids, whole[..given].iter().collect::<Vec<_>>(), "{asked} asked");
        assert_ne!(first.next_page_token, "");
    }
    for size in [0, 101, 505] {
        let listed = list(&mut client, Listed { page_size: size, ..Default::default() }).await;
        assert_eq!(listed, whole, "pages of {size}");
    }
    for negative in [-1, i32::MIN] {
        let request = Listed { page_size: negative, ..Default::default() };
        assert_at_fault(client.list_games(request).await, "page_size");
    }
}

async fn a_page_token_goes_on_with_its_own_listing_alone(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let mut tables = Vec::new();
    for number in 0..6 {
        let event = if number % 2 == 0 { "even" } else { "odd" };
        tables.push(between(&mut client, ["ann", "bob"], &[("event", event)]).await);
    }
    let even = in_order(tables.iter().step_by(2));
    let filter = Listed {
        status: GameStatus::InProgress.into(),
        player_id: "ann".into(),
        label: "event=even".into(),
        page_size: 1,
        ..Default::default()
    };
    let first = page(&mut client, filter.clone()).await;
    assert_eq!(first.games[0].game_id, even[0]);
    let page_token = first.next_page_token;

    // Alone, with the filter that it holds, and with another page size.
    let alone = Listed { page_token: page_token.clone(), page_size: 2, ..Default::default() };
    let repeated = Listed { page_token: page_token.clone(), ..filter.clone() };
    for request in [alone, repeated.clone()] {
        assert_eq!(list(&mut client, request).await, even[1..]);
    }
    for other in [
        Listed { status: GameStatus::Finished.into(), ..repeated.clone() },
        Listed { status: 0, ..repeated.clone() },
        Listed { player_id: "bob".into(), ..repeated.clone() },
        Listed { label: "event=odd".into(), ..repeated.clone() },
        Listed { label: String::new(), ..repeated.clone() },
    ] {
        assert_at_fault(client.list_games(other).await, "page_token");
    }

    let events = v1::ListGameEventsRequest {
        game_id: tables[0].id.clone(),
        page_size: 1,
        ..Default::default()
    };
    client.make_move(tables[0].play(Color::Black, "d3")).await.expect("a legal move");
    let foreign = client.list_game_events(events).await.expect("a page").into_inner();
    assert_ne!(foreign.next_page_token, "");
    let mut garbled: Vec<_> =
        (0..page_token.len()).map(|end| page_token[..end].to_owned()).collect();
    garbled.remove(0);
    garbled.extend([foreign.next_page_token, format!("{page_token}A"), format!("{page_token}=")]);
    garbled.extend(["?", " ", "\u{1f3b2}", "AAAA"].map(str::to_owned));
    for page_token in garbled {
        let request = Listed { page_token, ..Default::default() };
        assert_at_fault(client.list_games(request).await, "page_token");
    }
}

async fn games_that_are_gone_are_not_listed(store: StoreKind) {
    // Nothing is swept meanwhile: what has expired is gone all the same.
    let flags = ["--finished-ttl", "50ms", "--sweep-interval", "1h"];
    let server = TestServer::with(store, &flags).await;
    let mut client = server.client().await;
    let mut tables = Vec::new();
    for _ in 0..3 {
        tables.push(between(&mut client, ["ann", "bob"], &[("event", "1")]).await);
    }
    delete(&mut client, &tables[0]).await;
    abort(&mut client, &tables[1]).await;
    let expired = async {
        let request = v1::GetGameRequest { game_id: tables[1].id.clone() };
        while client.get_game(request.clone()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, expired).await.expect("it expires in time");
    for request in [
        Listed::default(),
        Listed { player_id: "ann".into(), ..Default::default() },
        Listed { label: "event=1".into(), page_size: 1, ..Default::default() },
    ] {
        assert_eq!(list(&mut client, request).await, [tables[2].id.clone()]);
    }
    let finished = Listed { status: GameStatus::Finished.into(), ..Default::default() };
    assert_eq!(list(&mut client, finished).await, [""; 0]);
}

async fn a_page_that_was_begun_goes_on_whatever_happens_to_its_games(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let mut tables = Vec::new();
    for _ in 0..9 {
        tables.push(create(&mut client, v1::Rules::default()).await);
    }
    let order = in_order(&tables);
    let of = |id: &str| tables.iter().find(|table| table.id == id).expect("one of them").clone();
    let mut request = Listed { page_size: 3, ..Default::default() };
    let first = page(&mut client, request.clone()).await;
    // The page's last game goes, the next one too, another ends, and a newer one comes.
    delete(&mut client, &of(&order[2])).await;
    delete(&mut client, &of(&order[3])).await;
    abort(&mut client, &of(&order[4])).await;
    tables.push(create(&mut client, v1::Rules::default()).await);
    request.page_token = first.next_page_token;
    // Created in the same millisecond, the newcomer may belong to the rest.
    let now = in_order(&tables);
    let rest = now.iter().skip_while(|id| **id != order[2]).skip(1).filter(|id| **id != order[3]);
    assert_eq!(list(&mut client, request).await, rest.cloned().collect::<Vec<_>>());
}

async fn events(
    client: &mut Client,
    request: v1::ListGameEventsRequest,
) -> v1::ListGameEventsResponse {
    client.list_game_events(request).await.expect("a page").into_inner()
}

async fn pages_of_events_tile_the_record(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let rules = v1::Rules { board: v1::Board::Board10x10.into(), ..Default::default() };
    let table = create(&mut client, rules).await;
    let played = play_out(&mut client, &table).await;
    assert!(played.len() > 60, "more than the default page: {}", played.len());
    for size in [1, 7, played.len() as i32, 500, i32::MAX] {
        let record = record(&mut client, &table.id, size).await;
        assert_eq!(record[1..], played, "pages of {size}");
        assert!(matches!(record[0].change, Some(v1::game_event::Change::Created(_))));
    }
    let request = v1::ListGameEventsRequest { game_id: table.id.clone(), ..Default::default() };
    assert_eq!(events(&mut client, request.clone()).await.events.len(), 50, "the default");
    let negative = v1::ListGameEventsRequest { page_size: -1, ..request };
    assert_at_fault(client.list_game_events(negative).await, "page_size");
}

async fn events_after_a_revision_are_listed(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    for (color, square) in [(Color::Black, "d3"), (Color::White, "c3"), (Color::Black, "c4")] {
        client.make_move(table.play(color, square)).await.expect("a legal move");
    }
    let whole = record(&mut client, &table.id, 0).await;
    assert_eq!(whole.len(), 4);
    for (after_revision, first) in [(0, 0), (1, 1), (3, 3), (4, 4), (5, 4), (u64::MAX, 4)] {
        let request = v1::ListGameEventsRequest {
            game_id: table.id.clone(),
            after_revision,
            ..Default::default()
        };
        let page = events(&mut client, request.clone()).await;
        assert_eq!(page.events, whole[first..], "after {after_revision}");
        assert_eq!(page.next_page_token, "", "after {after_revision}");
        // A page that ends with the last event is the last.
        let page_size = (whole.len() - first) as i32;
        let page = events(&mut client, v1::ListGameEventsRequest { page_size, ..request }).await;
        assert_eq!((page.events.as_slice(), page.next_page_token.as_str()), (&whole[first..], ""));
    }
}

async fn an_events_token_goes_on_with_its_own_record_alone(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let other = create(&mut client, v1::Rules::default()).await;
    for table in [&table, &other] {
        for (color, square) in [(Color::Black, "d3"), (Color::White, "c3"), (Color::Black, "c4")] {
            client.make_move(table.play(color, square)).await.expect("a legal move");
        }
    }
    let request = v1::ListGameEventsRequest {
        game_id: table.id.clone(),
        after_revision: 1,
        page_size: 1,
        ..Default::default()
    };
    let first = events(&mut client, request.clone()).await;
    assert_eq!(revision(&first.events[0].version), 2);
    let go_on = v1::ListGameEventsRequest { page_token: first.next_page_token.clone(), ..request };
    for request in [go_on.clone(), v1::ListGameEventsRequest { after_revision: 0, ..go_on.clone() }]
    {
        assert_eq!(revision(&events(&mut client, request).await.events[0].version), 3);
    }
    // What is committed meanwhile is part of the rest.
    client.make_move(table.play(Color::White, "c5")).await.expect("a legal move");
    let rest =
        events(&mut client, v1::ListGameEventsRequest { page_size: 9, ..go_on.clone() }).await;
    let revisions: Vec<_> = rest.events.iter().map(|event| revision(&event.version)).collect();
    assert_eq!((revisions, rest.next_page_token.as_str()), (vec![3, 4, 5], ""));

    let foreign = page(&mut client, Listed { page_size: 1, ..Default::default() }).await;
    for bad in [
        v1::ListGameEventsRequest { game_id: other.id.clone(), ..go_on.clone() },
        v1::ListGameEventsRequest { after_revision: 2, ..go_on.clone() },
        v1::ListGameEventsRequest { page_token: foreign.next_page_token, ..go_on.clone() },
        v1::ListGameEventsRequest { page_token: format!("{}A", go_on.page_token), ..go_on.clone() },
        v1::ListGameEventsRequest { page_token: "?".into(), ..go_on.clone() },
    ] {
        assert_at_fault(client.list_game_events(bad).await, "page_token");
    }
}
