//! The tables of the file, and what is done in one transaction: reads in a `View`, writes in `Tables`.

use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, Table,
    TableDefinition, TableError, WriteTransaction,
};
use reversi_rules::Layout;

use crate::{
    error::{StoreError, chain},
    model::{Game, GameId, Millis, Stored},
    store::{
        Commit, Cursor, Listing, Lookup, Query, SWEEP_MAX, Swept, codec, left_out::LeftOut,
        listing::changed_rows,
    },
};

pub const GAMES: TableDefinition<&str, &[u8]> = TableDefinition::new("games");
pub const ROWS: TableDefinition<&[u8], ()> = TableDefinition::new("rows");
pub const LAYOUTS: TableDefinition<&str, &[u8]> = TableDefinition::new("layouts");
pub const EXPIRY: TableDefinition<(u64, u8, &str), ()> = TableDefinition::new("expiry");
pub const META: TableDefinition<&str, u64> = TableDefinition::new("meta");

/// The form of the file: its tables and keys. Entries carry versions of their own.
const FORM: u64 = 1;
const FORM_KEY: &str = "form";

/// The second part of an expiry key.
const GAME: u8 = 0;
const LAYOUT: u8 = 1;

/// The store did not do what it was asked; whether it will is unknown.
pub fn unavailable(error: impl std::error::Error + 'static) -> StoreError {
    StoreError::Unavailable(chain(&error))
}

/// Looks at the form of a file, and writes nothing.
///
/// # Errors
///
/// For people: the form is another.
pub fn check_form(database: &impl ReadableDatabase) -> Result<(), String> {
    let text = |error: redb::Error| error.to_string();
    let transaction = database.begin_read().map_err(|error| text(error.into()))?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(TableError::TableDoesNotExist(_)) => return Ok(()),
        Err(error) => return Err(text(error.into())),
    };
    match meta.get(FORM_KEY).map_err(|error| text(error.into()))?.map(|form| form.value()) {
        Some(FORM) | None => Ok(()),
        Some(form) => Err(format!(
            "its form is {form}, and this release reads form {FORM}: it takes the release that wrote it, or a later one"
        )),
    }
}

/// Makes the tables of a new file; checks the form of an old one.
///
/// # Errors
///
/// For people: the form is another.
pub fn prepare(database: &Database) -> Result<(), String> {
    check_form(database)?;
    let text = |error: redb::Error| error.to_string();
    let transaction = database.begin_write().map_err(|error| text(error.into()))?;
    {
        let mut meta = transaction.open_table(META).map_err(|error| text(error.into()))?;
        meta.insert(FORM_KEY, FORM).map_err(|error| text(error.into()))?;
    }
    Tables::open(&transaction).map_err(|error| error.to_string())?;
    transaction.commit().map_err(|error| text(error.into()))
}

fn lookup(
    games: &impl ReadableTable<&'static str, &'static [u8]>,
    id: &str,
) -> Result<Lookup, StoreError> {
    match games.get(id).map_err(unavailable)? {
        Some(entry) => codec::read_entry(entry.value()),
        None => Ok(Lookup::Missing),
    }
}

/// What is under `id`; none if that cannot be read, which must not stand in the way of all else.
fn readable<T>(
    id: &str,
    read: Result<T, StoreError>,
    left_out: &mut LeftOut,
) -> Result<Option<T>, StoreError> {
    match read {
        Ok(there) => Ok(Some(there)),
        Err(error) => left_out.note(id, error).map(|()| None),
    }
}

fn layout_until(
    layouts: &impl ReadableTable<&'static str, &'static [u8]>,
    id: &str,
) -> Result<Option<Millis>, StoreError> {
    let bytes = layouts.get(id).map_err(unavailable)?;
    let layout = bytes.map(|bytes| codec::read_layout(bytes.value())).transpose()?;
    Ok(layout.map(|(_, until)| until))
}

/// What was committed when it was opened.
pub struct View {
    games: ReadOnlyTable<&'static str, &'static [u8]>,
    rows: ReadOnlyTable<&'static [u8], ()>,
    layouts: ReadOnlyTable<&'static str, &'static [u8]>,
}

impl View {
    pub fn open(transaction: &ReadTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            games: transaction.open_table(GAMES).map_err(unavailable)?,
            rows: transaction.open_table(ROWS).map_err(unavailable)?,
            layouts: transaction.open_table(LAYOUTS).map_err(unavailable)?,
        })
    }

    pub fn lookup(&self, id: &GameId) -> Result<Lookup, StoreError> {
        lookup(&self.games, id.as_str())
    }

    pub fn list(&self, query: &Query) -> Result<Listing, StoreError> {
        let (start, end) = query.rows();
        let range = (start.as_ref().map(Vec::as_slice), end.as_ref().map(Vec::as_slice));
        let rows = self.rows.range::<&[u8]>(range).map_err(unavailable)?;
        let mut left_out = LeftOut::default();
        let places = rows.filter_map(|row| {
            let place = match row.map_err(unavailable) {
                Ok((row, _)) => readable("a row", query.place_in(row.value()), &mut left_out),
                Err(error) => Err(error),
            };
            let there = |place: Cursor| {
                let id = place.id.as_str();
                let stored = match readable(id, lookup(&self.games, id), &mut left_out)? {
                    Some(Lookup::Found(stored)) => Some(stored),
                    Some(Lookup::Deleted(_) | Lookup::Missing) | None => None,
                };
                Ok((place, stored))
            };
            place.and_then(|place| place.map(there).transpose()).transpose()
        });
        let page = query.page(places);
        left_out.log("a listing");
        page
    }

    pub fn layout(&self, id: &str) -> Result<Option<(Layout, Millis)>, StoreError> {
        let bytes = self.layouts.get(id).map_err(unavailable)?;
        bytes.map(|bytes| codec::read_layout(bytes.value())).transpose()
    }
}

/// The tables in one write transaction. Every method checks first and writes last.
pub struct Tables<'a> {
    games: Table<'a, &'static str, &'static [u8]>,
    rows: Table<'a, &'static [u8], ()>,
    layouts: Table<'a, &'static str, &'static [u8]>,
    expiry: Table<'a, (u64, u8, &'static str), ()>,
    failed: bool,
}

impl<'a> Tables<'a> {
    pub fn open(transaction: &'a WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
            games: transaction.open_table(GAMES).map_err(unavailable)?,
            rows: transaction.open_table(ROWS).map_err(unavailable)?,
            layouts: transaction.open_table(LAYOUTS).map_err(unavailable)?,
            expiry: transaction.open_table(EXPIRY).map_err(unavailable)?,
            failed: false,
        })
    }

    /// Whether a write of this transaction failed midway.
    pub fn failed(&self) -> bool {
        self.failed
    }

    pub fn create(&mut self, stored: &Stored) -> Result<Commit, StoreError> {
        let id = stored.game.id.as_str();
        match lookup(&self.games, id)? {
            Lookup::Missing => {}
            there @ (Lookup::Found(_) | Lookup::Deleted(_)) => return Ok(Commit::Conflict(there)),
        }
        let entry = [codec::head_bytes(&stored.game), codec::last_record_bytes(stored)].concat();
        let kept = Some((Kept::live(&stored.game), entry.as_slice()));
        self.writing(|tables| tables.replace(id, None, kept))?;
        Ok(Commit::Done)
    }

    pub fn commit(&mut self, before: &Game, after: &Stored) -> Result<Commit, StoreError> {
        let id = after.game.id.as_str();
        let Some(old) = self.entry(id)? else { return Ok(Commit::Conflict(Lookup::Missing)) };
        if !old.starts_with(&codec::prefix_bytes(before.version())) {
            return Ok(Commit::Conflict(codec::read_entry(&old)?));
        }
        let head = codec::head_bytes(&after.game);
        let history = codec::history_bytes(&old)?;
        let entry = [&head, history, &codec::last_record_bytes(after)].concat();
        let kept = Some((Kept::live(&after.game), entry.as_slice()));
        self.writing(|tables| tables.replace(id, Some(Kept::live(before)), kept))?;
        Ok(Commit::Done)
    }

    pub fn delete(&mut self, id: &GameId, until: Millis) -> Result<bool, StoreError> {
        let Lookup::Found(stored) = lookup(&self.games, id.as_str())? else { return Ok(false) };
        let creation = stored.history.first().filter(|record| record.request.is_some());
        let entry = codec::tombstone_bytes(creation, until);
        let before = Some(Kept::live(&stored.game));
        let after = Some((Kept { until, game: None }, entry.as_slice()));
        self.writing(|tables| tables.replace(id.as_str(), before, after))?;
        Ok(true)
    }

    pub fn put_layout(&mut self, layout: &Layout, until: Millis) -> Result<(), StoreError> {
        let id = layout.id();
        let old = layout_until(&self.layouts, &id)?;
        if old.is_some_and(|old| old >= until) {
            return Ok(());
        }
        let bytes = codec::layout_bytes(layout, until);
        self.writing(|tables| {
            if let Some(old) = old {
                tables.expiry.remove((old.0, LAYOUT, id.as_str()))?;
            }
            tables.expiry.insert((until.0, LAYOUT, id.as_str()), ())?;
            tables.layouts.insert(id.as_str(), bytes.as_slice())?;
            Ok(())
        })
    }

    /// What cannot be read stays: it may be of a newer release.
    pub fn sweep(&mut self, now: Millis) -> Result<Swept, StoreError> {
        let mut due = Vec::new();
        let mut more = false;
        let mut left_out = LeftOut::default();
        for row in self.expiry.range(..=(now.0, u8::MAX, "")).map_err(unavailable)? {
            let (key, _) = row.map_err(unavailable)?;
            let (until, kind, id) = key.value();
            let there = match kind {
                GAME => lookup(&self.games, id),
                LAYOUT => layout_until(&self.layouts, id).map(|_| Lookup::Missing),
                kind => Err(StoreError::Corrupt(format!("an expiry row is of no kind {kind}"))),
            };
            let Some(there) = readable(id, there, &mut left_out)? else { continue };
            if due.len() == SWEEP_MAX {
                more = true;
                break;
            }
            due.push((until, kind, id.to_owned(), there));
        }
        left_out.log("a sweep");
        self.writing(|tables| {
            for (until, kind, id, there) in &due {
                if *kind == LAYOUT {
                    tables.expiry.remove((*until, LAYOUT, id.as_str()))?;
                    tables.layouts.remove(id.as_str())?;
                    continue;
                }
                let game = match there {
                    Lookup::Found(stored) => Some(&stored.game),
                    Lookup::Deleted(_) | Lookup::Missing => None,
                };
                tables.replace(id, Some(Kept { until: Millis(*until), game }), None)?;
            }
            Ok(())
        })?;
        Ok(Swept { removed: due.len(), more })
    }

    fn entry(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let entry = self.games.get(id).map_err(unavailable)?;
        Ok(entry.map(|entry| entry.value().to_vec()))
    }

    /// Runs the writing part of a method; if that fails, the transaction must not be committed.
    fn writing<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, redb::StorageError>,
    ) -> Result<T, StoreError> {
        let written = write(self);
        self.failed |= written.is_err();
        written.map_err(unavailable)
    }

    /// Replaces what is under `id` by `after`, its bytes with it; expiry and index rows follow.
    fn replace(
        &mut self,
        id: &str,
        before: Option<Kept>,
        after: Option<(Kept, &[u8])>,
    ) -> Result<(), redb::StorageError> {
        let (gone, come) =
            changed_rows(before.and_then(|kept| kept.game), after.and_then(|(kept, _)| kept.game));
        for row in gone {
            self.rows.remove(row.as_slice())?;
        }
        for row in come {
            self.rows.insert(row.as_slice(), ())?;
        }
        if let Some(before) = before {
            self.expiry.remove((before.until.0, GAME, id))?;
        }
        match after {
            Some((kept, entry)) => {
                self.expiry.insert((kept.until.0, GAME, id), ())?;
                self.games.insert(id, entry)?;
            }
            None => {
                self.games.remove(id)?;
            }
        }
        Ok(())
    }
}

/// What expiry and index rows need to know of an entry.
#[derive(Clone, Copy)]
struct Kept<'a> {
    until: Millis,
    /// The game, if the entry is live.
    game: Option<&'a Game>,
}

impl<'a> Kept<'a> {
    fn live(game: &'a Game) -> Self {
        Self { until: game.kept_until(), game: Some(game) }
    }
}
