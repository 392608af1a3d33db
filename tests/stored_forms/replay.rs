//! Repeats every request that made a fixture, and plays on from where it ended.

use std::collections::HashMap;

use prost::Message as _;
use reversi_proto::v1::{self, Color, game_event::Change};

use super::fixture::Fixture;
use crate::common::{self, Client, StoreKind, TestServer, refusal, watch::Watch};

/// Who plays a game of a fixture. Everything in a request follows from the game's number and its version, so that it can be
/// made again; so this is never changed for a form that a release has written.
pub struct Hand {
    number: u32,
    pub id: String,
    tokens: HashMap<i32, String>,
    pub owner: String,
    version: v1::Version,
}

/// The id of the request that makes this revision of a game; every fifth has none.
pub fn request_id(number: u32, revision: u64) -> String {
    match revision % 5 {
        0 => String::new(),
        _ => format!("{number:08x}-0000-4000-8000-{revision:012x}"),
    }
}

impl Hand {
    pub fn new(number: u32, created: v1::CreateGameResponse) -> Self {
        let table = common::table(created);
        let version = table.game.version.expect("a version");
        Self { number, id: table.id, tokens: table.tokens, owner: table.owner, version }
    }

    pub fn next_request_id(&self) -> String {
        request_id(self.number, self.version.revision + 1)
    }

    pub async fn play(
        &mut self,
        client: &mut Client,
        color: Color,
        square: &str,
    ) -> Option<v1::GameEvent> {
        let seat_token = self.tokens.get(&(color as i32))?.clone();
        let request = v1::MakeMoveRequest {
            game_id: self.id.clone(),
            square: square.into(),
            seat_token,
            color: 0,
            expected_version: self.version.revision.is_multiple_of(2).then_some(self.version),
            request_id: self.next_request_id(),
        };
        let made = client.make_move(request).await.expect("it is accepted, now or then");
        self.seen(made.into_inner().event)
    }

    pub async fn join(&mut self, client: &mut Client, color: Color, player_id: &str, name: &str) {
        let request = v1::JoinGameRequest {
            game_id: self.id.clone(),
            color: color.into(),
            player_id: player_id.into(),
            display_name: name.into(),
            request_id: self.next_request_id(),
        };
        let joined = client.join_game(request).await.expect("it is accepted, now or then");
        let joined = joined.into_inner();
        self.tokens.insert(joined.color, joined.seat_token);
        self.version = joined.game.and_then(|game| game.version).expect("a version");
    }

    pub async fn resign(&mut self, client: &mut Client, color: Color) -> Option<v1::GameEvent> {
        let request = v1::ResignGameRequest {
            game_id: self.id.clone(),
            seat_token: self.tokens[&(color as i32)].clone(),
            color: 0,
            request_id: self.next_request_id(),
        };
        let resigned = client.resign_game(request).await.expect("it is accepted, now or then");
        self.seen(resigned.into_inner().event)
    }

    pub async fn abort(&mut self, client: &mut Client) -> Option<v1::GameEvent> {
        let request = v1::AbortGameRequest {
            game_id: self.id.clone(),
            owner_token: self.owner.clone(),
            request_id: self.next_request_id(),
        };
        let aborted = client.abort_game(request).await.expect("it is accepted, now or then");
        self.seen(aborted.into_inner().event)
    }

    fn seen(&mut self, event: Option<v1::GameEvent>) -> Option<v1::GameEvent> {
        self.version = event.as_ref().and_then(|event| event.version).expect("a version");
        event
    }

    /// Repeats what made `event`, if a request id tells that it is a repeat.
    async fn repeat(&mut self, client: &mut Client, event: &v1::GameEvent) {
        let version = event.version.expect("a version");
        if self.next_request_id().is_empty() {
            self.version = version;
            return;
        }
        let told = match event.change.as_ref().expect("a change") {
            Change::Created(_) => panic!("a game is created once"),
            Change::SeatClaimed(claimed) => {
                let (player, name) = (&claimed.player_id, &claimed.display_name);
                self.join(client, claimed.color(), player, name).await;
                assert_eq!(self.version, version);
                return;
            }
            Change::MovePlayed(made) => self.play(client, made.color(), &made.square).await,
            Change::Resigned(resigned) => self.resign(client, resigned.color()).await,
            Change::Aborted(_) => self.abort(client).await,
        };
        // Nobody knows the token of a seat that was claimed without a request.
        match told {
            Some(told) => assert_eq!(&told, event),
            None => self.version = version,
        }
    }
}

/// Gets every first answer again, without a change; then plays a move, watches it, and deletes the game.
pub async fn replay(fixture: Fixture, kind: StoreKind) {
    assert!(fixture.creations.len() > 30, "every variant is there");
    let server = TestServer::at(fixture.home, 1, &[]).await;
    let mut client = server.client().await;
    let (mut deleted, mut played) = (0, 0);
    for (number, id, request) in fixture.creations {
        let request = v1::CreateGameRequest::decode(request.as_slice()).expect("a request");
        assert_eq!(request.request_id, request_id(number, 1));
        let created = client.create_game(request).await.expect("the first answer").into_inner();
        let mut hand = Hand::new(number, created);
        assert_eq!((hand.id.as_str(), hand.version.revision), (id.as_str(), 1));
        let game = client.get_game(v1::GetGameRequest { game_id: id.clone() }).await;
        let Ok(game) = game else {
            assert_eq!(refusal(game).reason, "GAME_NOT_FOUND");
            deleted += 1;
            continue;
        };
        let game = game.into_inner().game.expect("a game");
        let events = common::record(&mut client, &id, 500).await;
        for event in &events[1..] {
            hand.repeat(&mut client, event).await;
        }
        assert_eq!(common::get(&mut client, &id).await, game, "repeats change nothing");

        let mut watch = Watch::resumed(&mut client, &id, Some(v1::Version::default())).await;
        for event in &events {
            assert_eq!(&watch.event().await, event);
        }
        let now = common::position(&game);
        if let (Ok(color), Some(square)) = (Color::try_from(now.to_move), now.legal_moves.first())
            && let Some(event) = hand.play(&mut client, color, square).await
        {
            played += 1;
            watch.message().await;
            assert_eq!(watch.event().await, event);
        }
        let delete = v1::DeleteGameRequest { game_id: id, owner_token: hand.owner };
        client.delete_game(delete).await.expect("the owner may");
    }
    assert!(deleted > 0 && played > 20, "{deleted} deleted, {played} played, in {kind:?}");
}
