//! Creates a game, and shows its tokens this once.

use reversi_proto::v1;

use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::view::View;
use crate::{escape, words};

/// Creates the game that the flags describe.
pub async fn run(connection: &Connection, create: args::Create) -> Result<(), Failure> {
    let request = v1::CreateGameRequest {
        rules: Some(create.rules.to_wire()),
        seats: create.seats,
        labels: create.labels.into_iter().collect(),
        request_id: create.request_id.request_id,
    };
    let created = connection
        .call(request, |mut client, request| async move { client.create_game(request).await })
        .await?;
    connection.output.result(&created, || text(connection, &created))
}

fn text(connection: &Connection, created: &v1::CreateGameResponse) -> String {
    let game = created.game.clone().unwrap_or_default();
    let id = escape::text(&game.game_id);
    let first_move = game
        .position
        .as_ref()
        .and_then(|position| position.legal_moves.first())
        .map_or_else(|| "SQUARE".to_owned(), |square| escape::text(square));
    let open = game.seats.iter().any(|seat| !seat.claimed);

    let mut text = View::of(game).text(connection.output.style);
    text.push_str("\nTokens, shown this once:\n");
    for token in &created.seat_tokens {
        let token_text = escape::text(&token.seat_token);
        text.push_str(&format!("  {:<6} {token_text}\n", words::color(token.color)));
    }
    text.push_str(&format!("  owner  {}\n", escape::text(&created.owner_token)));
    text.push_str("\nNext:\n");
    if open {
        text.push_str(&format!("  reversictl join {id}\n"));
    }
    text.push_str(&format!("  reversictl watch {id}\n"));
    if !open {
        text.push_str(&format!("  REVERSICTL_TOKEN=… reversictl move {id} {first_move}\n"));
    }
    text
}
