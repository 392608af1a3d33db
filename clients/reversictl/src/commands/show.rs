//! Shows a game as it stands.

use reversi_proto::v1;

use crate::args;
use crate::connect::Session;
use crate::errors::Failure;
use crate::view::View;

/// Reads the game and draws it.
pub async fn run(session: &Session, show: &args::OneGame) -> Result<(), Failure> {
    let answer = get(session, &show.game_id).await?;
    session.output.result(&answer, || {
        View::of(answer.game.clone().unwrap_or_default()).text(session.output.style)
    })
}

/// Reads a game.
pub async fn get(session: &Session, game_id: &str) -> Result<v1::GetGameResponse, Failure> {
    let request = v1::GetGameRequest { game_id: game_id.to_owned() };
    session.call(request, |mut client, request| async move { client.get_game(request).await }).await
}
