//! One file a concern of the command line: each turns flags into calls, and answers into results.

use crate::args::{Cli, Command};
use crate::connect::Session;
use crate::errors::Failure;
use crate::output::Output;

mod create;
mod demo;
mod join;
mod layout;
mod list;
mod own;
mod perft;
mod play;
mod show;
mod verify;
mod watch;

/// Does what the command line asks.
///
/// # Errors
///
/// Why it could not be done; what was said until then stands.
pub async fn run(cli: Cli, output: Output) -> Result<(), Failure> {
    if let Command::Perft(command) = &cli.command {
        return perft::run(output, command);
    }
    let session = &Session::new(&cli.global, output)?;
    match cli.command {
        Command::Demo(demo) => demo::run(session, demo).await,
        Command::Create(create) => create::run(session, create).await,
        Command::Join(join) => join::run(session, join).await,
        Command::Show(show) => show::run(session, &show).await,
        Command::Move(play) => play::place(session, play).await,
        Command::Resign(resign) => play::resign(session, resign).await,
        Command::Abort(abort) => own::abort(session, abort).await,
        Command::Delete(delete) => own::delete(session, delete).await,
        Command::Watch(watch) => watch::run(session, &watch).await,
        Command::List(list) => list::games(session, list).await,
        Command::History(history) => list::history(session, &history).await,
        Command::Verify(verify) => verify::run(session, &verify.game_id).await,
        Command::Layout(layout) => layout::run(session, layout).await,
        Command::Perft(_) => Ok(()),
    }
}
