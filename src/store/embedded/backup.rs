//! Copies the file while it is in use: one read transaction, which sees what was committed before it and nothing later, into a
//! new file of the same form. The writer never waits for it; what it frees meanwhile stays in the file until the copy is done.

use std::{
    fs::File,
    io::{Seek as _, SeekFrom},
    path::Path,
};

use redb::{
    Database, Durability, Key, ReadTransaction, ReadableDatabase as _, ReadableTable as _,
    StorageBackend, TableDefinition, Value, backends::FileBackend,
};

use super::{
    file::DataFile,
    tables::{EXPIRY, GAMES, LAYOUTS, META, ROWS},
};
use crate::store::backup::BackupError;

/// What is left to the service of the disk's free space.
const RESERVE_BYTES: u64 = 64 << 20;

/// How much of the copy is kept in memory.
const CACHE_BYTES: usize = 16 << 20;

/// How many rows, of 1 KB mostly and 20 KB at the most, are copied before there is another look at whether to go on.
const CHUNK: usize = 4_096;

/// Makes the copy in a file of the same folder that has no name. Blocks while it lasts; answers the file and its length.
///
/// # Errors
///
/// Those of a [`BackupError`]; it gives up when the store fails or closes.
pub fn copy(file: &DataFile, path: &Path) -> Result<(File, u64), BackupError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let size = path.metadata().map_err(failed)?.len();
    let room = |needed| match free_bytes(folder).map_err(failed)? {
        free if free < needed => Err(BackupError::NoRoom { needed, free }),
        _ => Ok(()),
    };
    room(size + RESERVE_BYTES)?;
    let mut target = tempfile::tempfile_in(folder).map_err(failed)?;
    let backend = FileBackend::new(target.try_clone().map_err(failed)?).map_err(failed)?;
    let copied = file.run(|database| {
        Ok(copy_to(database, backend, || match file.is_wanted() {
            true => Err(BackupError::Failed("the store was closed meanwhile".into())),
            false => room(RESERVE_BYTES),
        }))
    });
    copied.map_err(failed)??;
    let bytes = target.seek(SeekFrom::End(0)).map_err(failed)?;
    target.seek(SeekFrom::Start(0)).map_err(failed)?;
    Ok((target, bytes))
}

fn failed(error: impl std::fmt::Display) -> BackupError {
    BackupError::Failed(error.to_string())
}

fn free_bytes(folder: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Copies every table; before each chunk `go_on` is asked.
pub(super) fn copy_to(
    database: &Database,
    backend: impl StorageBackend,
    go_on: impl Fn() -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let source = database.begin_read().map_err(failed)?;
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    let target = builder.create_with_backend(backend).map_err(failed)?;
    copy_table(&source, &target, GAMES, &go_on)?;
    copy_table(&source, &target, ROWS, &go_on)?;
    copy_table(&source, &target, LAYOUTS, &go_on)?;
    copy_table(&source, &target, EXPIRY, &go_on)?;
    // The form comes last: before it the file is no store.
    copy_table(&source, &target, META, &go_on)?;
    target.begin_write().map_err(failed)?.commit().map_err(failed)
}

fn copy_table<K: Key + 'static, V: Value + 'static>(
    source: &ReadTransaction,
    target: &Database,
    definition: TableDefinition<K, V>,
    go_on: &impl Fn() -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let table = source.open_table(definition).map_err(failed)?;
    let mut rows = table.iter().map_err(failed)?.peekable();
    loop {
        go_on()?;
        let mut write = target.begin_write().map_err(failed)?;
        // On disk with the last commit; nobody sees the file before.
        write.set_durability(Durability::None).map_err(failed)?;
        {
            let mut table = write.open_table(definition).map_err(failed)?;
            for row in rows.by_ref().take(CHUNK) {
                let (key, value) = row.map_err(failed)?;
                table.insert(key.value(), value.value()).map_err(failed)?;
            }
        }
        write.commit().map_err(failed)?;
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}
