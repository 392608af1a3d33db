//! Takes an open seat, and shows its token this once.

use reversi_proto::v1;

use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::view::View;
use crate::{escape, words};

/// Takes the seat that the flags name, or the next open one.
pub async fn run(connection: &Connection, join: args::Join) -> Result<(), Failure> {
    let request = v1::JoinGameRequest {
        game_id: join.game_id,
        color: join.seat.map_or(0, |color| color.number().into()),
        player_id: join.player,
        display_name: join.name,
        request_id: join.request_id.request_id,
    };
    let joined = connection
        .call(request, |mut client, request| async move { client.join_game(request).await })
        .await?;
    connection.output.result(&joined, || {
        let game = joined.game.clone().unwrap_or_default();
        let id = escape::text(&game.game_id);
        format!(
            "{}\nYou play {}. The token, shown this once:\n  {}\n\nNext:\n  reversictl watch {id}\n  \
             REVERSICTL_TOKEN=… reversictl move {id} SQUARE\n",
            View::of(game).text(connection.output.style),
            words::color(joined.color),
            escape::text(&joined.seat_token),
        )
    })
}
