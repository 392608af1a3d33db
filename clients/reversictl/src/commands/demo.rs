//! A newcomer's first minute: a random game against a running server, shown as a watch delivers it, and verified.

use std::time::Duration;

use reversi_proto::v1;

use super::{verify, watch};
use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::escape;
use crate::follow::Follower;
use crate::random::Random;

/// How long a person needs to see a move.
const DELAY_ON_TERMINAL: Duration = Duration::from_millis(150);

/// Plays and watches at the same time, then verifies.
pub async fn run(connection: &Connection, demo: args::Demo) -> Result<(), Failure> {
    let output = connection.output;
    let default_delay = if output.terminal { DELAY_ON_TERMINAL } else { Duration::ZERO };
    let delay = demo.delay.unwrap_or(default_delay);
    let rng_seed = demo.rng_seed.unwrap_or_else(Random::fresh_seed);

    let created = create(connection, &demo).await?;
    let game = created.game.clone().unwrap_or_default();
    let game_id = game.game_id.clone();
    // From the creation on, so that no move is missed however late the watch opens.
    let follower = Follower::new(connection, &game_id, Some(v1::Version::default()));
    let mut player = Player {
        connection,
        tokens: created.seat_tokens,
        random: Random::from_seed(rng_seed),
        delay,
    };
    tokio::try_join!(watch::show(output, follower), player.play(game))?;

    verify::run(connection, &game_id).await?;
    if !output.json {
        let id = escape::text(&game_id);
        output.line(&format!(
            "\nPlayed at random with --rng-seed {rng_seed}. Go on:\n  reversictl show {id}\n  \
             reversictl history {id}\n  reversictl create --seat you --seat friend"
        ))?;
    }
    Ok(())
}

/// Creates a game in which every seat is taken, so that all tokens are here.
async fn create(
    connection: &Connection,
    demo: &args::Demo,
) -> Result<v1::CreateGameResponse, Failure> {
    let rules = demo.rules.to_wire();
    let players = if rules.players == 0 { 2 } else { rules.players.min(4) };
    let seats = (0..players)
        .map(|_| v1::NewSeat { player_id: "demo".to_owned(), ..Default::default() })
        .collect();
    let request = v1::CreateGameRequest {
        rules: Some(rules),
        seats,
        request_id: uuid::Uuid::new_v4().to_string(),
        ..Default::default()
    };
    connection
        .call(request, |mut client, request| async move { client.create_game(request).await })
        .await
}

/// All players of a game at once, without a plan.
struct Player<'a> {
    connection: &'a Connection,
    tokens: Vec<v1::SeatToken>,
    random: Random,
    delay: Duration,
}

impl Player<'_> {
    /// Plays to the end.
    async fn play(&mut self, game: v1::Game) -> Result<(), Failure> {
        let mut position = game.position.unwrap_or_default();
        let mut version = game.version;
        while !position.legal_moves.is_empty() {
            tokio::time::sleep(self.delay).await;
            let event = self.place(&game.game_id, &position, version).await?;
            version = event.version;
            position = event.position.unwrap_or_default();
        }
        Ok(())
    }

    async fn place(
        &mut self,
        game_id: &str,
        position: &v1::Position,
        version: Option<v1::Version>,
    ) -> Result<v1::GameEvent, Failure> {
        let square = &position.legal_moves[self.random.below(position.legal_moves.len())];
        let token = self.tokens.iter().find(|token| token.color == position.to_move);
        let request = v1::MakeMoveRequest {
            game_id: game_id.to_owned(),
            square: square.clone(),
            seat_token: token.map(|token| token.seat_token.clone()).unwrap_or_default(),
            expected_version: version,
            request_id: uuid::Uuid::new_v4().to_string(),
            ..Default::default()
        };
        let moved = self
            .connection
            .call(request, |mut client, request| async move { client.make_move(request).await })
            .await?;
        Ok(moved.event.unwrap_or_default())
    }
}
