//! Page tokens: where a listing goes on, and which listing it is, so that no token is used for another. Not secret, not
//! signed: whoever makes one up gets a page that could have been asked for anyway.

use data_encoding::BASE64URL_NOPAD;
use reversi_rules::Status;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    model::{GameId, Millis},
    store::{Cursor, Query},
};

/// The first byte of a token: which kind, and which form of it.
const GAMES_V1: u8 = 1;
const EVENTS_V1: u8 = 2;

/// Bytes of a token that are looked at; every filter that is taken fits.
const TOKEN_MAX: usize = 2_048;

fn write<T: Serialize>(kind: u8, value: &T) -> String {
    let body = postcard::to_allocvec(value).expect("our plain types serialize into memory");
    BASE64URL_NOPAD.encode(&[&[kind], body.as_slice()].concat())
}

fn read<T: DeserializeOwned>(kind: u8, text: &str) -> Option<T> {
    if text.len() > TOKEN_MAX {
        return None;
    }
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
    let (first, body) = bytes.split_first()?;
    let (value, rest) = postcard::take_from_bytes(body).ok()?;
    (*first == kind && rest.is_empty()).then_some(value)
}

#[derive(Serialize, Deserialize)]
struct GamesForm {
    status: u8,
    player_id: Option<String>,
    label: Option<(String, String)>,
    create_time: u64,
    id: String,
}

/// Where a ListGames goes on.
pub struct GamesToken {
    /// The filter of its first page.
    pub status: Option<Status>,
    /// Likewise.
    pub player_id: Option<String>,
    /// Likewise.
    pub label: Option<(String, String)>,
    after: Cursor,
}

impl GamesToken {
    /// The token of the page after the one of `query` that ended at `after`.
    pub fn write(query: &Query, after: &Cursor) -> String {
        let form = GamesForm {
            status: query.status.map_or(0, |status| status.number()),
            player_id: query.player_id.clone(),
            label: query.label.clone(),
            create_time: after.create_time.0,
            id: after.id.to_string(),
        };
        write(GAMES_V1, &form)
    }

    /// A token, if it is one.
    pub fn read(text: &str) -> Option<Self> {
        let form: GamesForm = read(GAMES_V1, text)?;
        let status = match form.status {
            0 => None,
            number => Some(Status::from_number(number)?),
        };
        let after = Cursor { create_time: Millis(form.create_time), id: GameId::new(form.id) };
        Some(Self { status, player_id: form.player_id, label: form.label, after })
    }

    /// The query of the page that it stands for.
    pub fn query(self, limit: usize) -> Query {
        let Self { status, player_id, label, after } = self;
        Query { status, player_id, label, after: Some(after), limit }
    }
}

/// Where a ListGameEvents goes on.
#[derive(Serialize, Deserialize)]
pub struct EventsToken {
    game_id: String,
    /// The `after_revision` of the first page.
    first: u64,
    /// The last revision delivered so far.
    after: u64,
}

impl EventsToken {
    /// Stands for the first page.
    pub fn first(game_id: &GameId, after: u64) -> Self {
        Self { game_id: game_id.to_string(), first: after, after }
    }

    /// A token, if it is one.
    pub fn read(text: &str) -> Option<Self> {
        read(EVENTS_V1, text)
    }

    /// Whether it is of the listing that began with `first`, or that left its `after_revision` out.
    pub fn continues(&self, first: &Self) -> bool {
        self.game_id == first.game_id && (first.first == 0 || first.first == self.first)
    }

    /// After which revision its page begins.
    pub fn after(&self) -> u64 {
        self.after
    }

    /// The token of the page after the one that ended at `last`.
    pub fn write(&self, last: u64) -> String {
        let next = Self { game_id: self.game_id.clone(), first: self.first, after: last };
        write(EVENTS_V1, &next)
    }
}
