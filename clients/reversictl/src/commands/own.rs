//! What a game's owner does: ends it, deletes it.

use std::cell::Cell;

use reversi_proto::v1;
use tonic::{Code, Response};

use super::play::event_text;
use crate::args;
use crate::connect::Connection;
use crate::errors::Failure;
use crate::escape;

/// Ends a game without a winner.
pub async fn abort(connection: &Connection, abort: args::Abort) -> Result<(), Failure> {
    let request = v1::AbortGameRequest {
        game_id: abort.game_id,
        owner_token: abort.right.token.unwrap_or_default(),
        request_id: abort.request_id.request_id,
    };
    let aborted = connection
        .call(request, |mut client, request| async move { client.abort_game(request).await })
        .await?;
    connection.output.result(&aborted, || event_text(connection, aborted.event.as_ref()))
}

/// Deletes a game. Where an earlier attempt was left without an answer, finding no game means that it was deleted.
pub async fn delete(connection: &Connection, delete: args::Delete) -> Result<(), Failure> {
    let request = v1::DeleteGameRequest {
        game_id: delete.game_id.clone(),
        owner_token: delete.right.token.unwrap_or_default(),
    };
    let attempts = Cell::new(0);
    let deleted = connection
        .call(request, |mut client, request| {
            attempts.set(attempts.get() + 1);
            let again = attempts.get() > 1;
            async move {
                match client.delete_game(request).await {
                    Err(fault) if again && fault.code() == Code::NotFound => {
                        Ok(Response::new(v1::DeleteGameResponse {}))
                    }
                    answer => answer,
                }
            }
        })
        .await?;
    connection.output.result(&deleted, || format!("Deleted {}.", escape::text(&delete.game_id)))
}
