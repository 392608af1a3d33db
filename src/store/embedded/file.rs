//! The open file. redb takes no more writes after one has failed, a full disk being the usual reason; so the file is then
//! opened again, and all is well once the disk is.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        PoisonError, RwLock, RwLockWriteGuard,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{Database, DatabaseError};

use super::tables;
use crate::{error::StoreError, store::closed};

/// How much of the file is kept in memory.
const CACHE_BYTES: usize = 64 << 20;

/// How much is written to see whether the disk takes anything.
const PROBE_BYTES: usize = 64 << 10;

/// What the file is on.
pub trait Disk: Send + Sync {
    /// Opens the file, again and again if need be.
    ///
    /// # Errors
    ///
    /// For people.
    fn open(&self) -> Result<Database, String>;

    /// Whether the disk takes anything at all.
    ///
    /// # Errors
    ///
    /// Why not.
    fn probe(&self) -> io::Result<()>;
}

/// A file that is opened again after a failed write.
pub struct DataFile {
    disk: Box<dyn Disk>,
    /// None while it is closed. Read-locked by reads and writes, write-locked to close and to open again.
    database: RwLock<Option<Database>>,
    failed: AtomicBool,
    /// Whether somebody waits to close the file: what takes long with it gives up then.
    wanted: AtomicBool,
}

impl DataFile {
    /// Opens the file at `path`, or makes it. Takes a while after a crash, and says so in the log.
    ///
    /// # Errors
    ///
    /// For people: another process has the file, it is no store, or its form is newer than this program.
    pub fn open(path: &Path) -> Result<Self, String> {
        Self::on(Box::new(path.to_owned()))
    }

    /// Opens it on a disk of another kind.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    pub fn on(disk: Box<dyn Disk>) -> Result<Self, String> {
        let database = RwLock::new(Some(disk.open()?));
        Ok(Self { disk, database, failed: AtomicBool::new(false), wanted: AtomicBool::new(false) })
    }

    /// Does something with the open file. Blocks while it is opened again.
    ///
    /// # Errors
    ///
    /// Those of `work`; [`StoreError::Unavailable`] while the file is closed.
    pub fn run<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        work(database.as_ref().ok_or_else(closed)?)
    }

    /// Whether somebody waits for what runs now to end.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The file for the caller alone, once what runs has ended.
    fn exclusively(&self) -> RwLockWriteGuard<'_, Option<Database>> {
        self.wanted.store(true, Ordering::Relaxed);
        let database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        self.wanted.store(false, Ordering::Relaxed);
        database
    }

    /// Whether the last write failed.
    pub fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Notes how a write ended.
    pub fn note(&self, failed: bool) {
        self.failed.store(failed, Ordering::Relaxed);
    }

    /// Closes the file and opens it again. Blocks until every read has ended. While the disk takes nothing at all the file
    /// stays open as it is, for reads.
    ///
    /// # Errors
    ///
    /// For people: why it cannot be opened. Unless the disk takes nothing, it stays closed until this is called again.
    pub fn reopen(&self) -> Result<(), String> {
        self.disk.probe().map_err(|error| error.to_string())?;
        let mut database = self.exclusively();
        // Gone before the new one comes: it holds the lock of the file.
        drop(database.take());
        *database = Some(self.disk.open()?);
        Ok(())
    }

    /// Lets go of the file for good.
    pub fn close(&self) {
        drop(self.exclusively().take());
    }
}

impl Disk for PathBuf {
    fn open(&self) -> Result<Database, String> {
        open(self)
    }

    fn probe(&self) -> io::Result<()> {
        let path = self.with_extension("probe");
        let written = File::create(&path).and_then(|mut file| {
            file.write_all(&[0; PROBE_BYTES])?;
            file.sync_all()
        });
        let removed = fs::remove_file(&path);
        written.and(removed)
    }
}

fn open(path: &Path) -> Result<Database, String> {
    let shown = path.display();
    let create = || {
        // Opening a file writes to it; one of another form is to stay as it is. What cannot be read without a repair is
        // looked at after that.
        if let Ok(database) = Database::builder().open_read_only(path) {
            tables::check_form(&database).map_err(|error| format!("cannot be used: {error}"))?;
        }
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .set_repair_callback(|repair| {
                let percent = (repair.progress() * 100.0).round();
                tracing::warn!(percent, "the store was not closed properly: checking it");
            })
            .create(path);
        let database = database.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch => {
                "is in use by another process: stop that one, or give this one another --store"
                    .to_owned()
            }
            error => format!("cannot be opened as a store: {error}"),
        })?;
        tables::prepare(&database).map_err(|error| format!("cannot be used: {error}"))?;
        Ok(database)
    };
    // A file that is damaged in an odd place makes redb panic.
    let opened = catch_unwind(AssertUnwindSafe(create));
    let opened =
        opened.unwrap_or_else(|_| Err("cannot be opened as a store: it is damaged".to_owned()));
    opened.map_err(|problem| format!("{shown} {problem}"))
}
