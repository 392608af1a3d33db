//! Judges a change on a game as stored: the contract's table of refusals, in its order. Pure: the same game and command
//! always get the same verdict, so a verdict stands for exactly as long as the game's version does.

use std::sync::LazyLock;

use reversi_rules::{Cell, Color, Refusal as RulesRefusal, Square, Version};

use super::command::{Action, ChangeGame};
use crate::{
    error::{Error, Faults, Refusal},
    model::{Act, Event, Game, Lifetimes, Millis, Record, RequestMark, Role, Stored, Token},
    sabotage::{Sabotage, sabotaged},
};

/// A token that is made when it is first needed, and then stays the same for one command.
pub type Fresh = LazyLock<Token>;

/// What is to be done about a command.
#[derive(Debug)]
pub enum Verdict {
    /// It was done before, at this revision: answer from the history.
    Done {
        /// The revision that it committed.
        revision: u64,
    },
    /// Commit this record, and then say so.
    Commit(Box<Plan>),
}

/// A change that the rules allow.
#[derive(Debug)]
pub struct Plan {
    /// What to append.
    pub record: Record,
    /// What the game is then.
    pub game: Game,
    /// What watchers and the caller are told.
    pub event: Event,
}

/// Judges `command` on `stored` at the time `now`. `fresh` is the token that a seat gets when no request derives it.
///
/// # Errors
///
/// [`Error::Refused`], for the first reason in the order of the contract.
pub fn judge(
    stored: &Stored,
    command: &ChangeGame,
    fresh: &Fresh,
    lifetimes: Lifetimes,
    now: Millis,
) -> Result<Verdict, Error> {
    let game = &stored.game;
    let refuse = |refusal| Error::Refused { refusal, version: game.version() };
    let role = authorize(game, &command.action).map_err(refuse)?;

    let mark = command
        .request
        .as_ref()
        .map(|request| RequestMark::new(&game.salt, request, &fingerprint(role, &command.action)));
    if let Some(mark) = mark
        && !sabotaged(Sabotage::RequestIds)
        && let Some((revision, record)) = stored.find(mark.tag)
    {
        let same =
            record.request == Some(mark) && answers(revision, &record.act, role, &command.action);
        return match same {
            true => Ok(Verdict::Done { revision }),
            false => Err(refuse(Refusal::RequestIdReused)),
        };
    }

    let act = act(game, command, role, fresh).map_err(refuse)?;
    // Time never runs backwards within a game, whatever the clock does.
    let record = Record { time: now.max(game.update_time), request: mark, act };
    let mut game = game.clone();
    let event = game.apply(&record, lifetimes).map_err(|refusal| match refusal {
        RulesRefusal::Malformed(what) => Error::Internal(format!("a malformed change: {what}")),
        refusal => refuse(translate(refusal)),
    })?;
    Ok(Verdict::Commit(Box::new(Plan { record, game, event })))
}

/// Whose command it is; `None` where no token is needed.
fn authorize(game: &Game, action: &Action) -> Result<Option<Role>, Refusal> {
    let (token, owner) = match action {
        Action::Join { .. } => return Ok(None),
        Action::Move { token, .. } | Action::Resign { token } => (token, false),
        Action::Abort { token } => (token, true),
    };
    let token = token.as_ref().ok_or(Refusal::TokenMissing)?;
    match game.role_of(token) {
        Some(role) if owner == (role == Role::Owner) => Ok(Some(role)),
        Some(_) | None => Err(Refusal::TokenInvalid),
    }
}

fn fingerprint(role: Option<Role>, action: &Action) -> Vec<u8> {
    let mut bytes = action.fingerprint();
    bytes.push(match role {
        None | Some(Role::Owner) => 0,
        Some(Role::Seat(color)) => color.number(),
    });
    bytes
}

/// Whether the act that was committed at `revision` can be what such a command was answered with.
fn answers(revision: u64, act: &Act, role: Option<Role>, action: &Action) -> bool {
    match (act, action) {
        (Act::SeatClaimed { color, player, .. }, Action::Join { color: asked, player: who }) => {
            asked.is_none_or(|asked| asked == *color) && player == who
        }
        (Act::MovePlayed { color, square }, Action::Move { square: asked, expected, .. }) => {
            let judged_on = |version: Version| version.revision.checked_add(1) == Some(revision);
            role == Some(Role::Seat(*color)) && square == asked && expected.is_none_or(judged_on)
        }
        (Act::Resigned { color }, Action::Resign { .. }) => role == Some(Role::Seat(*color)),
        (Act::Aborted, Action::Abort { .. }) => true,
        (
            Act::Created(_)
            | Act::SeatClaimed { .. }
            | Act::MovePlayed { .. }
            | Act::Resigned { .. }
            | Act::Aborted,
            _,
        ) => false,
    }
}

/// The act that the command asks for, once its fields fit the game and the caller has judged the version that is there.
fn act(
    game: &Game,
    command: &ChangeGame,
    role: Option<Role>,
    fresh: &Fresh,
) -> Result<Act, Refusal> {
    let seat = || match role {
        Some(Role::Seat(color)) => Ok(color),
        Some(Role::Owner) | None => Err(Refusal::TokenInvalid),
    };
    Ok(match &command.action {
        Action::Join { color, player } => {
            let color = match color {
                Some(color) => *color,
                None => game.table.next_open_seat().ok_or(Refusal::NoOpenSeat)?,
            };
            let token = seat_token(game, command, color, fresh);
            Act::SeatClaimed { color, player: player.clone(), token: token.hash() }
        }
        Action::Move { square, expected, .. } => {
            fit(game, *square)?;
            let current = game.version();
            let fits = expected.is_none_or(|expected| {
                expected.revision == current.revision
                    && (expected.digest == 0 || expected.digest == current.digest)
            });
            if !fits {
                return Err(Refusal::VersionMismatch);
            }
            Act::MovePlayed { color: seat()?, square: *square }
        }
        Action::Resign { .. } => Act::Resigned { color: seat()? },
        Action::Abort { .. } => Act::Aborted,
    })
}

/// The token of a seat that this command claims: derived where a request names the command, so that it can be shown again.
pub fn seat_token(game: &Game, command: &ChangeGame, color: Color, fresh: &Fresh) -> Token {
    match &command.request {
        Some(request) => Token::derive(request, &game.salt, &game.id, Role::Seat(color)),
        None => Token::clone(fresh),
    }
}

fn fit(game: &Game, square: Square) -> Result<(), Refusal> {
    Err(translate(match game.table.position().cell(square) {
        Cell::Outside => RulesRefusal::SquareOffBoard(square),
        Cell::Blocked => RulesRefusal::SquareBlocked(square),
        Cell::Empty | Cell::Neutral | Cell::Disc(_) => return Ok(()),
    }))
}

fn translate(refusal: RulesRefusal) -> Refusal {
    let unfit = |field: &str, problem: String| Refusal::Unfit(Faults::one(field, problem));
    match refusal {
        RulesRefusal::NoSuchColor(color) => unfit("color", format!("no seat of {color} here")),
        RulesRefusal::SquareOffBoard(square) => {
            unfit("square", format!("{square} is not on this board"))
        }
        RulesRefusal::SquareBlocked(square) => unfit("square", format!("{square} is blocked")),
        RulesRefusal::NoOpenSeat => Refusal::NoOpenSeat,
        RulesRefusal::SeatTaken(color) => Refusal::SeatTaken(color),
        RulesRefusal::NotStarted => Refusal::NotStarted,
        RulesRefusal::Finished => Refusal::Finished,
        RulesRefusal::SeatResigned(color) => Refusal::SeatResigned(color),
        RulesRefusal::NotYourTurn { to_move } => Refusal::NotYourTurn { to_move },
        RulesRefusal::IllegalMove { legal, .. } => Refusal::IllegalMove { legal },
        RulesRefusal::Malformed(what) => unfit("change", what.to_owned()),
    }
}
