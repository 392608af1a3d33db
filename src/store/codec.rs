//! The stored form of games and layouts. Stored bytes outlive releases: what version 1 wrote is read for ever, and a newer
//! version is refused, never guessed at. `CONTRIBUTING.md` says how a form is added.
//!
//! An entry is the form's byte, a byte for live or deleted, and then
//!
//! - live: the revision and the digest, 8 bytes each, big-endian; the length of the state in one byte; the state; the
//!   records, each telling where it ends. So an entry's version can be compared, and a record appended, without
//!   reading the rest; a store that can do no more than cut and join bytes can commit.
//! - deleted: until when, and the creation's record.
//!
//! The state holds only what is costly to fold (position) or not in the records (expiry); the rest comes from the records,
//! which are all read anyway. States and records are postcard. Times of records are milliseconds since the record before,
//! which keeps them short.

use std::{collections::BTreeMap, sync::Arc};

use reversi_rules::{
    Color, ColorSet, Game as Table, Layout, Position, Rules, Square, Status, Version,
};
use serde::{Deserialize, Serialize};

use super::Lookup;
use crate::{
    error::StoreError,
    model::{Act, Creation, Game, GameId, Millis, Player, Record, RequestMark, Stored, TokenHash},
};

/// The stored form that this program writes, and the newest that it reads.
const FORM: u8 = 1;

/// The second byte of an entry.
const LIVE: u8 = 1;
const DELETED: u8 = 2;

/// What every live entry begins with, and no other.
pub const LIVE_PREFIX: [u8; 2] = [FORM, LIVE];

/// Where a live entry's version ends and the length of its state is.
const VERSION_END: usize = 2 + 16;

#[derive(Serialize, Deserialize)]
struct StateV1<'a> {
    position: &'a [u8],
    aborted: bool,
    expire_time: u64,
}

#[derive(Serialize, Deserialize)]
struct TombstoneV1<'a> {
    creation: Option<&'a [u8]>,
    until: u64,
}

#[derive(Serialize, Deserialize)]
struct RecordV1<'a> {
    /// Since the record before; the creation's own is since the epoch.
    time: u64,
    request: Option<([u8; 6], [u8; 2])>,
    #[serde(borrow)]
    act: ActV1<'a>,
}

#[derive(Serialize, Deserialize)]
enum ActV1<'a> {
    #[serde(borrow)]
    Created(CreationV1<'a>),
    SeatClaimed {
        color: u8,
        #[serde(borrow)]
        seat: SeatV1<'a>,
    },
    // A move is most of what a game is: its colour goes with the kind, and the square is ten times the rank, and the file.
    BlackMoved(u8),
    WhiteMoved(u8),
    RedMoved(u8),
    GreenMoved(u8),
    Resigned {
        color: u8,
    },
    Aborted,
}

#[derive(Serialize, Deserialize)]
struct CreationV1<'a> {
    game_id: &'a str,
    rules: &'a [u8],
    #[serde(borrow)]
    seats: Vec<Option<SeatV1<'a>>>,
    #[serde(borrow)]
    labels: BTreeMap<&'a str, &'a str>,
    owner: [u8; 16],
    salt: [u8; 16],
    command: Option<[u8; 16]>,
}

#[derive(Serialize, Deserialize)]
struct SeatV1<'a> {
    player_id: &'a str,
    display_name: &'a str,
    token: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct LayoutV1<'a> {
    layout: &'a [u8],
    until: u64,
}

fn write<T: Serialize>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("our plain types serialize into memory")
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &str) -> Result<T, StoreError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(corrupt(what, "more bytes than it has")),
        Err(error) => Err(corrupt(what, error)),
    }
}

fn corrupt(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("{what}: {error}"))
}

/// The form's byte taken off.
fn unversioned(bytes: &[u8]) -> Result<&[u8], StoreError> {
    match bytes.split_first() {
        Some((&FORM, body)) => Ok(body),
        Some((form, _)) if *form > FORM => Err(StoreError::NewerForm(*form)),
        Some((form, _)) => Err(corrupt("form", format!("{form} is none"))),
        None => Err(corrupt("form", "no bytes")),
    }
}

/// One record, after one of the time `before`; after none for a creation.
fn record_bytes(record: &Record, before: Millis) -> Vec<u8> {
    let rules;
    let act = match &record.act {
        Act::Created(creation) => {
            rules = creation.rules.to_bytes();
            ActV1::Created(creation_form(creation, &rules))
        }
        act => act_form(act),
    };
    let time = record.time.0.saturating_sub(before.0);
    let request = record.request.map(|mark| (mark.tag, mark.command));
    write(&RecordV1 { time, request, act })
}

/// The time before every creation.
const EPOCH: Millis = Millis(0);

/// The record of the last commit, as it is appended.
pub fn last_record_bytes(stored: &Stored) -> Vec<u8> {
    let Some((last, earlier)) = stored.history.split_last() else { return Vec::new() };
    record_bytes(last, earlier.last().map_or(EPOCH, |record| record.time))
}

fn creation_form<'a>(creation: &'a Creation, rules: &'a [u8]) -> CreationV1<'a> {
    CreationV1 {
        game_id: creation.game_id.as_str(),
        rules,
        seats: creation
            .seats
            .iter()
            .map(|seat| seat.as_ref().map(|(player, token)| seat_form(player, *token)))
            .collect(),
        labels: creation.labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
        owner: creation.owner.0,
        salt: creation.salt,
        command: creation.command,
    }
}

fn seat_form(player: &Player, token: TokenHash) -> SeatV1<'_> {
    SeatV1 { player_id: &player.player_id, display_name: &player.display_name, token: token.0 }
}

fn act_form(act: &Act) -> ActV1<'_> {
    match act {
        Act::Created(_) => unreachable!("a creation is only ever the first record"),
        Act::SeatClaimed { color, player, token } => {
            ActV1::SeatClaimed { color: color.number(), seat: seat_form(player, *token) }
        }
        Act::MovePlayed { color, square } => {
            let square = square.rank() * 10 + square.file();
            match color {
                Color::Black => ActV1::BlackMoved(square),
                Color::White => ActV1::WhiteMoved(square),
                Color::Red => ActV1::RedMoved(square),
                Color::Green => ActV1::GreenMoved(square),
            }
        }
        Act::Resigned { color } => ActV1::Resigned { color: color.number() },
        Act::Aborted => ActV1::Aborted,
    }
}

/// What a live entry of this version begins with, and no other entry does.
pub fn prefix_bytes(version: Version) -> [u8; VERSION_END] {
    let mut bytes = [0; VERSION_END];
    bytes[..2].copy_from_slice(&LIVE_PREFIX);
    bytes[2..10].copy_from_slice(&version.revision.to_be_bytes());
    bytes[10..].copy_from_slice(&version.digest.to_be_bytes());
    bytes
}

/// A live entry of `game` up to its records.
pub fn head_bytes(game: &Game) -> Vec<u8> {
    let state = write(&StateV1 {
        position: &game.table.position().to_bytes(),
        aborted: game.table.aborted(),
        expire_time: game.expire_time.0,
    });
    let length = u8::try_from(state.len()).expect("a position takes far less than 255 bytes");
    [&prefix_bytes(game.version()), [length].as_slice(), &state].concat()
}

/// The records of a live entry.
///
/// # Errors
///
/// [`StoreError::Corrupt`] when the bytes are no live entry.
pub fn history_bytes(entry: &[u8]) -> Result<&[u8], StoreError> {
    live_parts(entry).map(|(_, history)| history)
}

/// The state and the records of a live entry.
fn live_parts(entry: &[u8]) -> Result<(&[u8], &[u8]), StoreError> {
    let parts = entry.split_at_checked(VERSION_END).and_then(|(prefix, rest)| {
        let (length, rest) = rest.split_first()?;
        prefix.starts_with(&LIVE_PREFIX).then(|| rest.split_at_checked((*length).into()))?
    });
    parts.ok_or_else(|| corrupt("entry", "not a live one"))
}

/// The tombstone of a game.
pub fn tombstone_bytes(creation: Option<&Record>, until: Millis) -> Vec<u8> {
    let creation = creation.map(|record| record_bytes(record, EPOCH));
    let form = TombstoneV1 { creation: creation.as_deref(), until: until.0 };
    [&[FORM, DELETED], write(&form).as_slice()].concat()
}

/// What an entry holds.
///
/// # Errors
///
/// [`StoreError::NewerForm`]; [`StoreError::Corrupt`].
pub fn read_entry(entry: &[u8]) -> Result<Lookup, StoreError> {
    match unversioned(entry)?.split_first() {
        Some((&LIVE, _)) => Ok(Lookup::Found(Arc::new(read_stored(entry)?))),
        Some((&DELETED, body)) => {
            let form: TombstoneV1 = read(body, "tombstone")?;
            let creation = form.creation.map(read_history).transpose()?;
            let creation = creation.and_then(|mut records| records.pop());
            Ok(Lookup::Deleted(creation.map(Box::new)))
        }
        Some((kind, _)) => Err(corrupt("entry", format!("of no kind {kind}"))),
        None => Err(corrupt("entry", "ends after its form")),
    }
}

fn read_history(mut bytes: &[u8]) -> Result<Vec<Record>, StoreError> {
    let mut history: Vec<Record> = Vec::new();
    while !bytes.is_empty() {
        let (form, rest): (RecordV1, _) =
            postcard::take_from_bytes(bytes).map_err(|error| corrupt("record", error))?;
        let before = history.last().map_or(EPOCH, |record| record.time);
        history.push(read_record(form, before)?);
        bytes = rest;
    }
    Ok(history)
}

fn read_record(form: RecordV1, before: Millis) -> Result<Record, StoreError> {
    Ok(Record {
        time: Millis(before.0.saturating_add(form.time)),
        request: form.request.map(|(tag, command)| RequestMark { tag, command }),
        act: match form.act {
            ActV1::Created(creation) => Act::Created(Box::new(read_creation(creation)?)),
            ActV1::SeatClaimed { color, seat } => {
                let (player, token) = read_seat(seat);
                Act::SeatClaimed { color: read_color(color)?, player, token }
            }
            ActV1::BlackMoved(square) => read_move(Color::Black, square)?,
            ActV1::WhiteMoved(square) => read_move(Color::White, square)?,
            ActV1::RedMoved(square) => read_move(Color::Red, square)?,
            ActV1::GreenMoved(square) => read_move(Color::Green, square)?,
            ActV1::Resigned { color } => Act::Resigned { color: read_color(color)? },
            ActV1::Aborted => Act::Aborted,
        },
    })
}

fn read_move(color: Color, square: u8) -> Result<Act, StoreError> {
    let square = Square::new(square % 10, square / 10).ok_or_else(|| corrupt("square", square))?;
    Ok(Act::MovePlayed { color, square })
}

fn read_creation(form: CreationV1) -> Result<Creation, StoreError> {
    Ok(Creation {
        game_id: GameId::new(form.game_id),
        rules: Rules::from_bytes(form.rules).map_err(|error| corrupt("rules", error))?,
        seats: form.seats.into_iter().map(|seat| seat.map(read_seat)).collect(),
        labels: form.labels.into_iter().map(|(k, v)| (k.into(), v.into())).collect(),
        owner: TokenHash(form.owner),
        salt: form.salt,
        command: form.command,
    })
}

fn read_seat(form: SeatV1) -> (Player, TokenHash) {
    let player =
        Player { player_id: form.player_id.into(), display_name: form.display_name.into() };
    (player, TokenHash(form.token))
}

fn read_color(number: u8) -> Result<Color, StoreError> {
    Color::from_number(number).ok_or_else(|| corrupt("color", number))
}

fn read_stored(entry: &[u8]) -> Result<Stored, StoreError> {
    let (state, history) = live_parts(entry)?;
    let number = |at: usize| entry[at..at + 8].try_into().map(u64::from_be_bytes);
    let (Ok(revision), Ok(digest)) = (number(2), number(10)) else {
        return Err(corrupt("entry", "without a version"));
    };
    let state: StateV1 = read(state, "state")?;
    let history = read_history(history)?;
    let no_creation = || corrupt("history", "does not begin with a creation");
    let first = history.first().ok_or_else(no_creation)?;
    let Act::Created(creation) = &first.act else { return Err(no_creation()) };
    let mut seats = creation.seated();
    for record in &history {
        record.act.seat(&mut seats);
    }
    if history.len() as u64 != revision {
        return Err(corrupt("history", "not one record a revision"));
    }
    let claimed: ColorSet = Color::ALL
        .into_iter()
        .zip(&seats)
        .filter(|(_, seat)| seat.token.is_some())
        .map(|(color, _)| color)
        .collect();
    let position = Position::from_bytes(&creation.rules, state.position)
        .map_err(|error| corrupt("position", error))?;
    let version = Version { revision, digest };
    let table = Table::from_parts(claimed, position, state.aborted, version)
        .map_err(|error| corrupt("state", error))?;
    let update_time = history.last().map_or(first.time, |record| record.time);
    Ok(Stored {
        game: Game {
            id: creation.game_id.clone(),
            seats,
            labels: creation.labels.clone(),
            owner: creation.owner,
            salt: creation.salt,
            create_time: first.time,
            update_time,
            finish_time: (table.status() == Status::Finished).then_some(update_time),
            named_until: first.named_until(),
            expire_time: Millis(state.expire_time),
            table,
        },
        history,
    })
}

/// A layout that is kept until `until`.
pub fn layout_bytes(layout: &Layout, until: Millis) -> Vec<u8> {
    let form = LayoutV1 { layout: &layout.to_bytes(), until: until.0 };
    [&[FORM], write(&form).as_slice()].concat()
}

/// A stored layout and until when it is kept.
///
/// # Errors
///
/// [`StoreError::NewerForm`]; [`StoreError::Corrupt`].
pub fn read_layout(bytes: &[u8]) -> Result<(Layout, Millis), StoreError> {
    let form: LayoutV1 = read(unversioned(bytes)?, "layout")?;
    let layout = Layout::from_bytes(form.layout).map_err(|error| corrupt("layout", error))?;
    Ok((layout, Millis(form.until)))
}

#[cfg(test)]
mod tests;
