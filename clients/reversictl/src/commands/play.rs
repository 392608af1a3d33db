//! What a player does: places a disc, gives up.

use reversi_proto::v1;

use crate::args;
use crate::connect::Session;
use crate::errors::Failure;
use crate::view::View;

/// Places a disc.
pub async fn place(session: &Session, play: args::Move) -> Result<(), Failure> {
    let (seat_token, color) = play.right.to_wire();
    let request = v1::MakeMoveRequest {
        game_id: play.game_id,
        square: play.square,
        seat_token,
        color,
        expected_version: play.expect,
        request_id: play.request_id.request_id,
    };
    let moved = session
        .call(request, |mut client, request| async move { client.make_move(request).await })
        .await?;
    session.output.result(&moved, || event_text(session, moved.event.as_ref()))
}

/// Gives up.
pub async fn resign(session: &Session, resign: args::Resign) -> Result<(), Failure> {
    let (seat_token, color) = resign.right.to_wire();
    let request = v1::ResignGameRequest {
        game_id: resign.game_id,
        seat_token,
        color,
        request_id: resign.request_id.request_id,
    };
    let resigned = session
        .call(request, |mut client, request| async move { client.resign_game(request).await })
        .await?;
    session.output.result(&resigned, || event_text(session, resigned.event.as_ref()))
}

/// What a change did, and how the game stands after it.
pub fn event_text(session: &Session, event: Option<&v1::GameEvent>) -> String {
    View::of_event(&event.cloned().unwrap_or_default()).text(session.output.style)
}
