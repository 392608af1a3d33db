//! A watch delivers every change in order, once, proves it, and always says how it ends.

mod common;

use std::time::Duration;

use common::{
    watch::{Watch, assert_chained},
    *,
};
use reversi_proto::v1::{self, Color, EndReason, ResetReason, watch_game_response::Message};
use tokio::time::timeout;
use tonic::Code;

everywhere!(
    a_watch_begins_with_the_game_and_delivers_every_change_once_and_in_order,
    a_resume_replays_exactly_what_was_missed,
    a_resume_from_revision_0_replays_the_whole_game,
    a_resume_point_that_is_not_in_the_history_is_told,
    an_idle_watch_sends_heartbeats_of_what_it_delivered,
    a_finished_game_is_told_whole_and_ends,
    a_deleted_game_ends_its_watches,
    an_expired_game_ends_its_watches,
    a_latest_only_watch_skips_to_the_game_as_it_stands,
    a_stream_ends_after_its_lifetime_and_can_be_resumed,
    a_deadline_ends_a_watch,
    many_watchers_of_many_games_all_see_everything,
);

/// What a server promises of itself alone.
mod alone {
    use super::*;

    on_every_store!(more_watches_than_allowed_are_refused, a_dropped_watch_makes_room_for_another);
}

async fn a_watch_begins_with_the_game_and_delivers_every_change_once_and_in_order(
    store: StoreKind,
) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    let snapshot = watch.snapshot().await;
    assert_eq!(snapshot, table.game);

    let played = play_out(&mut client, &table).await;
    let mut seen = Vec::new();
    for _ in &played {
        seen.push(watch.event().await);
    }
    assert_eq!(seen, played);
    assert_chained(&seen, snapshot.version.expect("a version"));
    assert_eq!(watch.end().await, EndReason::GameFinished);
}

async fn a_resume_replays_exactly_what_was_missed(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules { players: 3, ..Default::default() }).await;
    let events = play_out(&mut client, &table).await;
    for missed_after in [0, 1, events.len() / 2, events.len() - 1] {
        let after = events[missed_after].version;
        for digest in [after.expect("a version").digest, 0] {
            let point = v1::Version { digest, ..after.expect("a version") };
            let mut watch = Watch::resumed(&mut client, &table.id, Some(point)).await;
            for event in &events[missed_after + 1..] {
                assert_eq!(&watch.event().await, event);
            }
            let Message::CaughtUp(caught_up) = watch.message().await else { panic!("caught up") };
            assert_eq!(caught_up.version, events.last().expect("events").version);
            assert_eq!(watch.end().await, EndReason::GameFinished);
        }
    }
}

async fn a_resume_from_revision_0_replays_the_whole_game(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let mut watch = Watch::resumed(&mut client, &table.id, Some(v1::Version::default())).await;
    let seen = [watch.event().await, watch.event().await];
    assert_chained(&seen, v1::Version::default());
    assert_eq!(seen.as_slice(), record(&mut client, &table.id, 0).await);
    assert!(matches!(watch.message().await, Message::CaughtUp(_)));
    // What comes after is live.
    let made = client.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    assert_eq!(Some(watch.event().await), made.into_inner().event);
}

async fn a_resume_point_that_is_not_in_the_history_is_told(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let now = get(&mut client, &table.id).await;
    let diverged = ResetReason::HistoryDiverged;
    let cases = [
        (3, 0, ResetReason::RevisionAhead),
        (u64::MAX, 7, ResetReason::RevisionAhead),
        (2, 7, diverged),
        (1, 7, diverged),
        (0, 7, diverged),
    ];
    for (revision, digest, reason) in cases {
        let point = v1::Version { revision, digest };
        let mut watch = Watch::resumed(&mut client, &table.id, Some(point)).await;
        let Message::Reset(reset) = watch.message().await else { panic!("a reset comes first") };
        assert_eq!(reset.reason(), reason, "{point:?}");
        assert_eq!(reset.game, Some(now.clone()));
    }
    let point = v1::Version { revision: 9, digest: 0 };
    let mut watch = Watch::resumed(&mut client, &table.id, Some(point)).await;
    assert!(matches!(watch.message().await, Message::Reset(_)));
    let made = client.make_move(table.play(Color::White, "c3")).await.expect("a legal move");
    assert_eq!(Some(watch.event().await), made.into_inner().event, "the stream goes on after it");
}

async fn an_idle_watch_sends_heartbeats_of_what_it_delivered(store: StoreKind) {
    let server = TestServer::with(store, &["--watch-heartbeat", "20ms"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    let mut delivered = watch.snapshot().await.version;
    let mut mover = client.clone();
    for (color, square) in [(Color::Black, "d3"), (Color::White, "c3")] {
        for _ in 0..3 {
            let Message::Heartbeat(beat) = watch.message().await else { panic!("a heartbeat") };
            assert_eq!(beat.version, delivered);
        }
        let made = mover.make_move(table.play(color, square)).await.expect("a legal move");
        delivered = watch.event().await.version;
        assert_eq!(delivered, made.into_inner().event.expect("an event").version);
    }
}

async fn a_finished_game_is_told_whole_and_ends(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut early = Watch::of(&mut client, &table.id).await;
    early.snapshot().await;
    let abort = v1::AbortGameRequest {
        game_id: table.id.clone(),
        owner_token: table.owner.clone(),
        ..Default::default()
    };
    client.abort_game(abort).await.expect("the owner may");
    assert_eq!(early.event().await.status(), v1::GameStatus::Finished);
    assert_eq!(early.end().await, EndReason::GameFinished);

    let mut late = Watch::of(&mut client, &table.id).await;
    assert_eq!(late.snapshot().await, get(&mut client, &table.id).await);
    assert_eq!(late.end().await, EndReason::GameFinished);
}

async fn a_deleted_game_ends_its_watches(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    watch.snapshot().await;
    let delete =
        v1::DeleteGameRequest { game_id: table.id.clone(), owner_token: table.owner.clone() };
    client.delete_game(delete).await.expect("the owner may");
    assert_eq!(watch.end().await, EndReason::GameDeleted);
    let again = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    assert_eq!(refusal(client.watch_game(again).await).reason, "GAME_NOT_FOUND");
}

async fn an_expired_game_ends_its_watches(store: StoreKind) {
    let flags = ["--idle-ttl", "300ms", "--watch-poll", "1h", "--sweep-interval", "10ms"];
    let server = TestServer::with(store, &flags).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    watch.snapshot().await;
    assert_eq!(watch.end().await, EndReason::GameExpired);
    let gone = client.get_game(v1::GetGameRequest { game_id: table.id.clone() }).await;
    assert_eq!(refusal(gone).reason, "GAME_NOT_FOUND");
}

async fn a_latest_only_watch_skips_to_the_game_as_it_stands(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let events = play_out(&mut client, &table).await;
    // Far behind is far behind, whether by a slow reader or by a resume.
    let request = v1::WatchGameRequest {
        game_id: table.id.clone(),
        resume_after: events[3].version,
        latest_only: true,
    };
    let mut watch = Watch::open(&mut client, request.clone()).await;
    assert_eq!(watch.snapshot().await, get(&mut client, &table.id).await);
    assert!(matches!(watch.message().await, Message::CaughtUp(_)));
    assert_eq!(watch.end().await, EndReason::GameFinished);
    // One behind, there is nothing to skip.
    let resume_after = events[events.len() - 2].version;
    let mut watch =
        Watch::open(&mut client, v1::WatchGameRequest { resume_after, ..request }).await;
    assert_eq!(Some(&watch.event().await), events.last());
}

async fn a_stream_ends_after_its_lifetime_and_can_be_resumed(store: StoreKind) {
    let server = TestServer::with(store, &["--watch-lifetime", "200ms"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut watch = Watch::of(&mut client, &table.id).await;
    let delivered = watch.snapshot().await.version;
    let failure = watch.failure().await;
    assert_eq!(failure.code, Code::Unavailable);
    assert_eq!(failure.reason, "STREAM_LIFETIME_REACHED");
    client.make_move(table.play(Color::Black, "d3")).await.expect("a legal move");
    let mut resumed = Watch::resumed(&mut client, &table.id, delivered).await;
    assert_eq!(revision(&resumed.event().await.version), 2);
}

async fn more_watches_than_allowed_are_refused(store: StoreKind) {
    let server = TestServer::with(store, &["--max-watches", "2"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut first = Watch::of(&mut client, &table.id).await;
    let _second = Watch::of(&mut client, &table.id).await;
    let third = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    let refused = refusal(client.watch_game(third).await);
    assert_eq!(refused.code, Code::ResourceExhausted);
    assert_eq!(refused.reason, "LIMIT_REACHED");
    assert_eq!(refused.metadata["limit"], "watches");
    assert!(refused.retry_after.is_some());
    first.snapshot().await;
}

async fn a_dropped_watch_makes_room_for_another(store: StoreKind) {
    let server = TestServer::with(store, &["--max-watches", "1"]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    for _ in 0..5 {
        let request = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
        // The server learns of a hang-up a moment after the client has forgotten it.
        let opened = async {
            loop {
                match client.watch_game(request.clone()).await {
                    Ok(opened) => return opened.into_inner(),
                    Err(status) => assert_eq!(refused(&status).reason, "LIMIT_REACHED"),
                }
                tokio::task::yield_now().await;
            }
        };
        let mut watch = Watch(timeout(PATIENCE, opened).await.expect("there is room in time"));
        watch.snapshot().await;
    }
}

async fn a_deadline_ends_a_watch(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let watch = v1::WatchGameRequest { game_id: table.id.clone(), ..Default::default() };
    let mut request = tonic::Request::new(watch);
    // Not by `set_timeout`: that would have the client end it by itself.
    request.metadata_mut().insert("grpc-timeout", "300m".parse().expect("metadata"));
    let mut watch = Watch(client.watch_game(request).await.expect("it opens").into_inner());
    watch.snapshot().await;
    let failure = watch.failure().await;
    assert_eq!(
        (failure.code, failure.reason.as_str()),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED")
    );
}

async fn many_watchers_of_many_games_all_see_everything(store: StoreKind) {
    let server = TestServer::start(store).await;
    let mut games = Vec::new();
    for _ in 0..4 {
        let mut client = server.client().await;
        let table = create(&mut client, v1::Rules::default()).await;
        let mut watchers = Vec::new();
        for _ in 0..25 {
            let mut watch = Watch::of(&mut client, &table.id).await;
            watchers.push(tokio::spawn(async move {
                let snapshot = watch.snapshot().await;
                let mut seen = Vec::new();
                loop {
                    match watch.message().await {
                        Message::Event(event) => seen.push(event),
                        Message::Heartbeat(_) => {}
                        Message::End(_) => break,
                        other => panic!("unexpected {other:?}"),
                    }
                }
                assert_chained(&seen, snapshot.version.expect("a version"));
                seen
            }));
        }
        games.push(tokio::spawn(async move {
            let played = play_out(&mut client, &table).await;
            for watcher in watchers {
                assert_eq!(watcher.await.expect("no watcher panics"), played);
            }
        }));
    }
    for game in games {
        timeout(Duration::from_secs(60), game).await.expect("in time").expect("no game panics");
    }
}
