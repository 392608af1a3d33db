//! One file a concern of the command line: each turns flags into calls, and answers into results.

use crate::args::{Cli, Command};
use crate::connect::Connection;
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
    let connection = &Connection::new(&cli.global, output)?;
    match cli.command {
        Command::Demo(demo) => demo::run(connection, demo).await,
        Command::Create(create) => create::run(connection, create).await,
        Command::Join(join) => join::run(connection, join).await,
        Command::Show(show) => show::run(connection, &show).await,
        Command::Move(play) => play::place(connection, play).await,
        Command::Resign(resign) => play::resign(connection, resign).await,
        Command::Abort(abort) => own::abort(connection, abort).await,
        Command::Delete(delete) => own::delete(connection, delete).await,
        Command::Watch(watch) => watch::run(connection, &watch).await,
        Command::List(list) => list::games(connection, list).await,
        Command::History(history) => list::history(connection, &history).await,
        Command::Verify(verify) => verify::run(connection, &verify.game_id).await,
        Command::Layout(layout) => layout::run(connection, layout).await,
        Command::Perft(_) => Ok(()),
    }
}
