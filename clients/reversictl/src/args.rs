//! What can be asked for on the command line: the one place that names flags, their values and their help. A table more than
//! code, and as long as the commands are many.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use reversi_proto::v1;
use reversi_rules::Color;

use crate::rules_args::RulesArgs;
use crate::values::{duration, label, seat, version};

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 the server refused; 2 the command line is wrong; 3 no answer (the server cannot be reached, is not \
available or took too long); 4 a history did not hold.

With --json, results are the contract's messages in the JSON mapping of protobuf, one object a line on standard output; \
an error is one line {\"error\":{…}} and a remark one line {\"notice\":…} on standard error.";

/// Plays, watches and checks games of Reversi on a reversid server.
///
/// `reversictl demo` shows a game at once.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "For every command")]
pub struct Global {
    /// Where the server is.
    #[arg(
        long,
        global = true,
        env = "REVERSICTL_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:7420"
    )]
    pub server: String,
    /// Results as JSON, one object a line.
    #[arg(long, global = true)]
    pub json: bool,
    /// When to use colours; auto: on a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,
    /// How long one attempt of a call may take, such as 500ms, 10s or 1m.
    #[arg(long, global = true, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Duration,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plays a random game against a running server while watching it, and verifies it.
    Demo(Demo),
    /// Creates a game.
    Create(Create),
    /// Takes an open seat of a game.
    Join(Join),
    /// Shows a game as it stands.
    Show(OneGame),
    /// Places a disc.
    Move(Move),
    /// Gives up.
    Resign(Resign),
    /// Ends a game without a winner, as its owner.
    Abort(Abort),
    /// Deletes a game and its history, as its owner.
    Delete(Delete),
    /// Shows a game as it is played, until it ends; reconnects by itself.
    Watch(Watch),
    /// Lists games, newest first.
    List(List),
    /// Lists what happened in a game, oldest first.
    History(History),
    /// Replays a game's history by the rules, and checks every digest, event and the game as it stands.
    Verify(OneGame),
    /// Draws and shows sets of blocked squares.
    #[command(subcommand)]
    Layout(Layout),
    /// Counts the games of each length from the start of a variant, here and without a server.
    Perft(Perft),
}

impl Command {
    /// What makes its call safe to repeat, where it changes something.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Self::Create(Create { request_id, .. })
            | Self::Join(Join { request_id, .. })
            | Self::Move(Move { request_id, .. })
            | Self::Resign(Resign { request_id, .. })
            | Self::Abort(Abort { request_id, .. }) => Some(&request_id.request_id),
            Self::Demo(_)
            | Self::Show(_)
            | Self::Delete(_)
            | Self::Watch(_)
            | Self::List(_)
            | Self::History(_)
            | Self::Verify(_)
            | Self::Layout(_)
            | Self::Perft(_) => None,
        }
    }

    /// The game it is about, if it is about one.
    pub fn game_id(&self) -> Option<&str> {
        match self {
            Self::Join(join) => Some(&join.game_id),
            Self::Show(one) | Self::Verify(one) => Some(&one.game_id),
            Self::Move(play) => Some(&play.game_id),
            Self::Resign(resign) => Some(&resign.game_id),
            Self::Abort(abort) => Some(&abort.game_id),
            Self::Delete(delete) => Some(&delete.game_id),
            Self::Watch(watch) => Some(&watch.game_id),
            Self::History(history) => Some(&history.game_id),
            Self::Demo(_) | Self::Create(_) | Self::List(_) | Self::Layout(_) | Self::Perft(_) => {
                None
            }
        }
    }
}

/// Names a game.
#[derive(Args, Debug)]
pub struct OneGame {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
}

/// Makes a call safe to repeat.
#[derive(Args, Debug)]
pub struct RequestId {
    /// A UUID that makes the call safe to repeat: the same id and command get the first answer. Default: a fresh one.
    #[arg(long, value_name = "UUID", default_value_t = uuid::Uuid::new_v4().to_string(),
          hide_default_value = true)]
    pub request_id: String,
}

/// The right to play a seat.
#[derive(Args, Debug)]
pub struct SeatRight {
    /// The seat's token, from create or join. A flag can be seen in the machine's list of processes: the environment is safer.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "REVERSICTL_TOKEN",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub token: Option<String>,
    /// The seat's colour in place of a token, for callers with a service credential; then no token is sent.
    #[arg(long, value_name = "COLOR")]
    pub seat: Option<Color>,
}

impl SeatRight {
    /// Token and colour as the contract takes them: one of the two.
    pub fn to_wire(&self) -> (String, i32) {
        match (self.seat, &self.token) {
            (Some(color), _) => (String::new(), color.number().into()),
            (None, token) => (token.clone().unwrap_or_default(), 0),
        }
    }
}

/// The right to end a game.
#[derive(Args, Debug)]
pub struct OwnerRight {
    /// The owner's token, from create. A flag can be seen in the machine's list of processes: the environment is safer.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "REVERSICTL_TOKEN",
        hide_env_values = true,
        allow_hyphen_values = true
    )]
    pub token: Option<String>,
}

#[derive(Args, Debug)]
pub struct Demo {
    #[command(flatten)]
    pub rules: RulesArgs,
    /// How long to wait between moves. Default: 150ms on a terminal, else 0.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub delay: Option<Duration>,
    /// Makes the moves the same each time (with --seed, the blocked squares too). Default: a fresh one.
    #[arg(long, value_name = "N")]
    pub rng_seed: Option<u64>,
}

#[derive(Args, Debug)]
pub struct Create {
    #[command(flatten)]
    pub rules: RulesArgs,
    /// Who sits where, once for each seat in turn order: PLAYER_ID, PLAYER_ID=DISPLAY NAME, an empty text for a seat taken
    /// without a name, or `open` for one that waits to be joined. Default: all are open.
    #[arg(long = "seat", value_name = "WHO", value_parser = seat, allow_hyphen_values = true)]
    pub seats: Vec<v1::NewSeat>,
    /// A note of your own on the game, to list by; may be repeated.
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = label, allow_hyphen_values = true)]
    pub labels: Vec<(String, String)>,
    #[command(flatten)]
    pub request_id: RequestId,
}

#[derive(Args, Debug)]
pub struct Join {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    /// Which seat. Default: the next open one in turn order.
    #[arg(long, value_name = "COLOR")]
    pub seat: Option<Color>,
    /// Your own name for the player.
    #[arg(
        long,
        value_name = "PLAYER_ID",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub player: String,
    /// A name for people to read.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub name: String,
    #[command(flatten)]
    pub request_id: RequestId,
}

#[derive(Args, Debug)]
pub struct Move {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    /// Where to place the disc, such as d3.
    #[arg(value_name = "SQUARE")]
    pub square: String,
    #[command(flatten)]
    pub right: SeatRight,
    /// Move only if the game is at this version.
    #[arg(long, value_name = "REVISION[:DIGEST]", value_parser = version)]
    pub expect: Option<v1::Version>,
    #[command(flatten)]
    pub request_id: RequestId,
}

#[derive(Args, Debug)]
pub struct Resign {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    #[command(flatten)]
    pub right: SeatRight,
    #[command(flatten)]
    pub request_id: RequestId,
}

#[derive(Args, Debug)]
pub struct Abort {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    #[command(flatten)]
    pub right: OwnerRight,
    #[command(flatten)]
    pub request_id: RequestId,
}

#[derive(Args, Debug)]
pub struct Delete {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    #[command(flatten)]
    pub right: OwnerRight,
}

#[derive(Args, Debug)]
pub struct Watch {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    /// Show what came after this version instead of the game as it stands; 0: from the creation on.
    #[arg(long, value_name = "REVISION[:DIGEST]", value_parser = version)]
    pub after: Option<v1::Version>,
    /// When this reader falls behind, skip to the game as it stands.
    #[arg(long)]
    pub latest_only: bool,
    /// Stop when the connection is lost instead of reconnecting.
    #[arg(long)]
    pub once: bool,
}

#[derive(Args, Debug)]
pub struct List {
    /// Games in this status alone.
    #[arg(long, value_name = "STATUS")]
    pub status: Option<Status>,
    /// Games in which a seat has this player id alone.
    #[arg(
        long,
        value_name = "PLAYER_ID",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub player: String,
    /// Games with this label alone.
    #[arg(
        long,
        value_name = "KEY=VALUE",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    pub label: String,
    /// At most how many; 0: all.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub limit: usize,
}

/// Where games are in their life.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Status {
    Waiting,
    InProgress,
    Finished,
}

#[derive(Args, Debug)]
pub struct History {
    /// The game's id.
    #[arg(value_name = "GAME")]
    pub game_id: String,
    /// Later revisions alone.
    #[arg(long, value_name = "REVISION", default_value_t = 0)]
    pub after: u64,
}

#[derive(Debug, Subcommand)]
pub enum Layout {
    /// Draws blocked squares and stores them for any number of games.
    Create(LayoutCreate),
    /// Shows a stored layout.
    Get {
        /// The layout's id.
        #[arg(value_name = "LAYOUT")]
        layout_id: String,
    },
}

#[derive(Args, Debug)]
pub struct LayoutCreate {
    /// How many squares, 1 to 4.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u32,
    /// 6x6, 8x8, 10x10, octagon or cross-board.
    #[arg(long, value_name = "BOARD")]
    pub board: Option<reversi_rules::Board>,
    /// How many corners hold handicap discs, 0 to 4.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub handicap: u32,
    /// What to draw from; the same seed draws the same squares. Default: the server draws one.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

#[derive(Args, Debug)]
pub struct Perft {
    /// To how many plies; a forced pass is one.
    #[arg(value_name = "DEPTH")]
    pub depth: u32,
    #[command(flatten)]
    pub rules: RulesArgs,
    /// The count behind each first move, at full depth.
    #[arg(long)]
    pub divide: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
