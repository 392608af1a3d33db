//! Shows a game as it stands.

use reversi_proto::v1;

use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::view::View;

/// Reads the game and draws it.
pub async fn run(connection: &Connection, show: &args::OneGame) -> Result<(), Failure> {
    let answer = get(connection, &show.game_id).await?;
    connection.output.result(&answer, || {
        View::of(answer.game.clone().unwrap_or_default()).text(connection.output.style)
    })
}

/// Reads a game.
pub async fn get(connection: &Connection, game_id: &str) -> Result<v1::GetGameResponse, Failure> {
    let request = v1::GetGameRequest { game_id: game_id.to_owned() };
    connection
        .call(request, |mut client, request| async move { client.get_game(request).await })
        .await
}
