//! What a player does: places a disc, gives up.

use reversi_proto::v1;

use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::view::View;

/// Places a disc.
pub async fn place(connection: &Connection, play: args::Move) -> Result<(), Failure> {
    let (seat_token, color) = play.right.to_wire();
    let request = v1::MakeMoveRequest {
        game_id: play.game_id,
        square: play.square,
        seat_token,
        color,
        expected_version: play.expect,
        request_id: play.request_id.request_id,
    };
    let moved = connection
        .call(request, |mut client, request| async move { client.make_move(request).await })
        .await?;
    connection.output.result(&moved, || event_text(connection, moved.event.as_ref()))
}

/// Gives up.
pub async fn resign(connection: &Connection, resign: args::Resign) -> Result<(), Failure> {
    let (seat_token, color) = resign.right.to_wire();
    let request = v1::ResignGameRequest {
        game_id: resign.game_id,
        seat_token,
        color,
        request_id: resign.request_id.request_id,
    };
    let resigned = connection
        .call(request, |mut client, request| async move { client.resign_game(request).await })
        .await?;
    connection.output.result(&resigned, || event_text(connection, resigned.event.as_ref()))
}

/// What a change did, and how the game stands after it.
pub fn event_text(connection: &Connection, event: Option<&v1::GameEvent>) -> String {
    View::of_event(&event.cloned().unwrap_or_default()).text(connection.output.style)
}
