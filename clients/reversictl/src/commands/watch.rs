//! Shows a game as it is played; on a terminal in place, else as one block an event.

use std::error::Error as _;
use std::time::Duration;

use reversi_proto::v1;
use reversi_proto::v1::watch_game_response::Message;
use tonic::Status;

use crate::args;
use crate::connect::Connection;
use crate::errors::{Failure, chain};
use crate::follow::{Follower, Update};
use crate::output::Output;
use crate::view::View;
use crate::{escape, json};

/// Follows the game until it ends.
///
/// # Errors
///
/// [`Failure::DoesNotHold`] at the end, when the chain broke on the way.
pub async fn run(connection: &Connection, watch: &args::Watch) -> Result<(), Failure> {
    let follower = Follower::new(connection, &watch.game_id, watch.after)
        .latest_only(watch.latest_only)
        .once(watch.once);
    show(connection.output, follower).await
}

/// Shows everything that the follower meets.
pub async fn show(output: Output, mut follower: Follower) -> Result<(), Failure> {
    let mut screen =
        Screen { output, view: View::default(), drawn: false, holds: true, hinted: false };
    while let Some(update) = follower.next().await? {
        screen.show(&update)?;
    }
    if screen.holds { Ok(()) } else { Err(Failure::DoesNotHold) }
}

struct Screen {
    output: Output,
    view: View,
    drawn: bool,
    holds: bool,
    /// Since the last message it was told what to do about a server that is away.
    hinted: bool,
}

impl Screen {
    fn show(&mut self, update: &Update) -> Result<(), Failure> {
        match update {
            Update::Message { message, broken } => {
                self.hinted = false;
                if let Some(broken) = broken {
                    self.holds = false;
                    self.output.notice(&format!("the chain is broken: {broken}"));
                }
                if self.output.json {
                    self.output.line(&json::line(&**message))
                } else {
                    self.show_message(message)
                }
            }
            Update::Lost { fault, wait } => {
                self.tell_loss(fault, *wait);
                Ok(())
            }
        }
    }

    fn tell_loss(&mut self, fault: &Status, wait: Duration) {
        let hint = fault.source().is_some() && !std::mem::replace(&mut self.hinted, true);
        let hint =
            if hint { ". Is the server running? Start one: cargo run --release" } else { "" };
        self.output.notice(&format!(
            "disconnected: {}; reconnecting in {:.1} s{hint}",
            escape::text(&chain(fault)),
            wait.as_secs_f32()
        ));
    }

    fn show_message(&mut self, message: &v1::WatchGameResponse) -> Result<(), Failure> {
        match &message.message {
            Some(Message::Snapshot(game)) => self.view = View::of(game.clone()),
            Some(Message::Event(event)) => self.view.apply(event),
            Some(Message::Reset(reset)) => {
                self.output.notice(match v1::ResetReason::try_from(reset.reason) {
                    Ok(v1::ResetReason::RevisionAhead) => {
                        "the server does not have what was shown last: it lost changes; going on from what it has"
                    }
                    Ok(v1::ResetReason::HistoryDiverged) => {
                        "the game went on differently from what was shown; going on from what the server has"
                    }
                    Ok(v1::ResetReason::Unspecified) | Err(_) => "the server starts over",
                });
                self.view = View::of(reset.game.clone().unwrap_or_default());
            }
            Some(Message::End(end)) => {
                self.output.notice(match v1::EndReason::try_from(end.reason) {
                    Ok(v1::EndReason::GameFinished) => "the game is over",
                    Ok(v1::EndReason::GameDeleted) => "the game was deleted",
                    Ok(v1::EndReason::GameExpired) => "the game has expired",
                    Ok(v1::EndReason::Unspecified) | Err(_) => "the watch is over",
                });
                return Ok(());
            }
            Some(Message::CaughtUp(_) | Message::Heartbeat(_)) | None => return Ok(()),
        }
        if !std::mem::replace(&mut self.drawn, true) {
            self.output.clear()?;
        }
        self.output.frame(&self.view.text(self.output.style))
    }
}
