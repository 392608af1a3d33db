//! The order and the filters of a listing, and the index rows that serve them in every store.
//!
//! A game has one row under each of its facets: one under `All`, one under its status, one under each player id and each
//! label. A row is the facet's bytes, then the creation time counted down, then the id, so that the rows of one facet lie
//! together, newest first. A query walks the rows of its rarest facet and checks the rest on the game itself.

use std::{collections::BTreeSet, ops::Bound, sync::Arc};

use reversi_rules::Status;

use crate::{
    error::StoreError,
    model::{Game, GameId, Millis, Seat, Stored},
};

/// How many rows one page looks at, so that a filter that matches almost nothing cannot hold the store.
pub const SCAN_MAX: usize = 2_000;

/// Bytes of labels after which a page ends, so that it fits the 4 MiB that most clients read by default: all else of a game
/// takes less than 2 KiB, and a page holds 500.
const LABEL_BYTES_MAX: usize = 2 << 20;

/// What to list, and from where on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Only games of this status.
    pub status: Option<Status>,
    /// Only games in which a seat has this player id.
    pub player_id: Option<String>,
    /// Only games with exactly this label.
    pub label: Option<(String, String)>,
    /// Only games that come after this one.
    pub after: Option<Cursor>,
    /// How many games at most.
    pub limit: usize,
}

/// A place in the order of a listing: a game's, whether it still exists or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// When it was created.
    pub create_time: Millis,
    /// Its name.
    pub id: GameId,
}

/// A page.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// In order.
    pub games: Vec<Game>,
    /// Where to go on, unless this was all.
    pub next: Option<Cursor>,
}

/// What a game can be found under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facet {
    /// Everything.
    All,
    /// Its status.
    Status(Status),
    /// A player id of its seats.
    Player(String),
    /// One of its labels.
    Label(String, String),
}

impl Facet {
    /// All facets of a game; one player's seats may give the same one twice.
    pub fn of(game: &Game) -> impl Iterator<Item = Self> {
        let players = game.seats.iter().map(|seat| &seat.player.player_id);
        [Self::All, Self::Status(game.table.status())]
            .into_iter()
            .chain(players.filter(|id| !id.is_empty()).map(|id| Self::Player(id.clone())))
            .chain(game.labels.iter().map(|(key, value)| Self::Label(key.clone(), value.clone())))
    }

    /// Bytes of which none is a prefix of another's.
    fn bytes(&self) -> Vec<u8> {
        fn text(bytes: &mut Vec<u8>, text: &str) {
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            bytes.extend(length.to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        let mut bytes = Vec::new();
        match self {
            Self::All => bytes.push(0),
            Self::Status(status) => bytes.extend([1, status.number()]),
            Self::Player(id) => {
                bytes.push(2);
                text(&mut bytes, id);
            }
            Self::Label(key, value) => {
                bytes.push(3);
                text(&mut bytes, key);
                text(&mut bytes, value);
            }
        }
        bytes
    }
}

impl Cursor {
    /// The place of `game`.
    pub fn of(game: &Game) -> Self {
        Self { create_time: game.create_time, id: game.id.clone() }
    }

    /// Bytes that are in the order of places.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = (!self.create_time.0).to_be_bytes().to_vec();
        bytes.extend(self.id.as_str().as_bytes());
        bytes
    }

    /// The place that such bytes stand for.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when they stand for none.
    pub fn read(bytes: &[u8]) -> Result<Self, StoreError> {
        let place = bytes.split_first_chunk().and_then(|(time, id)| {
            let create_time = Millis(!u64::from_be_bytes(*time));
            Some(Self { create_time, id: GameId::new(std::str::from_utf8(id).ok()?) })
        });
        place.ok_or_else(|| StoreError::Corrupt("an index row names no game".into()))
    }
}

/// All index rows of a game as it stands.
fn rows_of(game: &Game) -> BTreeSet<Vec<u8>> {
    let place = Cursor::of(game).bytes();
    Facet::of(game).map(|facet| [facet.bytes(), place.clone()].concat()).collect()
}

/// The index rows that go and those that come when `before` is replaced by `after`; nothing may be on either side.
pub fn changed_rows(before: Option<&Game>, after: Option<&Game>) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    if before.zip(after).is_some_and(|(before, after)| same_rows(before, after)) {
        return Default::default();
    }
    let [old, new] = [before, after].map(|game| game.map(rows_of).unwrap_or_default());
    (old.difference(&new).cloned().collect(), new.difference(&old).cloned().collect())
}

/// Whether two states of one game have the same index rows, as before and after most moves; told without making them.
pub fn same_rows(before: &Game, after: &Game) -> bool {
    let player =
        |(before, after): (&Seat, &Seat)| before.player.player_id == after.player.player_id;
    before.create_time == after.create_time
        && before.table.status() == after.table.status()
        && before.seats.len() == after.seats.len()
        && before.seats.iter().zip(&after.seats).all(player)
        && before.labels == after.labels
}

impl Query {
    /// The rarest facet that every game of the listing has.
    pub fn facet(&self) -> Facet {
        if let Some(id) = &self.player_id {
            Facet::Player(id.clone())
        } else if let Some((key, value)) = &self.label {
            Facet::Label(key.clone(), value.clone())
        } else if let Some(status) = self.status {
            Facet::Status(status)
        } else {
            Facet::All
        }
    }

    /// The index rows to walk, in order.
    pub fn rows(&self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let facet = self.facet().bytes();
        let end = [facet.as_slice(), &[0xff; 8], &[0xff; GameId::MAX_BYTES]].concat();
        let start = match &self.after {
            Some(cursor) => Bound::Excluded([facet, cursor.bytes()].concat()),
            None => Bound::Included(facet),
        };
        (start, Bound::Included(end))
    }

    /// The place that an index row of this query stands for.
    ///
    /// # Errors
    ///
    /// [`StoreError::Corrupt`] when it is none.
    pub fn place_in(&self, row: &[u8]) -> Result<Cursor, StoreError> {
        Cursor::read(row.get(self.facet().bytes().len()..).unwrap_or_default())
    }

    /// Whether `game` belongs in the listing.
    pub fn matches(&self, game: &Game) -> bool {
        self.status.is_none_or(|status| status == game.table.status())
            && self.player_id.as_ref().is_none_or(|id| {
                game.seats.iter().any(|seat| !id.is_empty() && seat.player.player_id == *id)
            })
            && self.label.as_ref().is_none_or(|(key, value)| game.labels.get(key) == Some(value))
    }

    /// Makes the page from the places that the rows stand for, in order, with the games that are there still. Stops at
    /// the limit of the page, of its bytes or of the scan.
    ///
    /// # Errors
    ///
    /// The first that `places` gives.
    pub fn page(
        &self,
        places: impl Iterator<Item = Result<(Cursor, Option<Arc<Stored>>), StoreError>>,
    ) -> Result<Listing, StoreError> {
        let mut listing = Listing::default();
        let mut last = None;
        let mut label_bytes = 0;
        for (scanned, place) in places.enumerate() {
            let full = listing.games.len() == self.limit || label_bytes >= LABEL_BYTES_MAX;
            if full || scanned == SCAN_MAX {
                listing.next = last;
                break;
            }
            let (place, stored) = place?;
            last = Some(place);
            if let Some(stored) = stored.filter(|stored| self.matches(&stored.game)) {
                let labels = stored.game.labels.iter();
                label_bytes += labels.map(|(key, value)| key.len() + value.len()).sum::<usize>();
                listing.games.push(stored.game.clone());
            }
        }
        Ok(listing)
    }
}
