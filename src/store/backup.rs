//! A copy of a whole store as of one moment, made while it is in use.

use std::{fs::File, io};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio_stream::{Stream, StreamExt as _};
use tokio_util::io::ReaderStream;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// A complete copy, in a file that has no name and is gone when this is dropped, or the process ends.
#[derive(Debug)]
pub struct Backup {
    /// Read from its beginning; nothing writes to it.
    pub file: File,
    /// How long it is.
    pub bytes: u64,
    /// There is one at a time, so that they cannot fill the disk.
    pub(super) _place: OwnedSemaphorePermit,
}

impl Backup {
    /// All of it, piece by piece, each read when it is asked for.
    pub fn into_pieces(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        let Self { file, bytes: _, _place: place } = self;
        let pieces = ReaderStream::with_capacity(tokio::fs::File::from_std(file), PIECE);
        pieces.map(move |piece| {
            let _kept_until_all_is_read = &place;
            piece
        })
    }
}

/// Why there is no copy. The store is as it was.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store is not backed up in this way; what to do instead.
    #[error("{0}")]
    Elsewhere(&'static str),
    /// Another one is being made or read.
    #[error("another backup is under way")]
    Running,
    /// The disk has not so much to spare beside what the service may need.
    #[error("a backup takes {needed} bytes of free space beside the store, and {free} are free")]
    NoRoom {
        /// At the most, with what is left to the service.
        needed: u64,
        /// Now.
        free: u64,
    },
    /// It was begun, and given up.
    #[error("the backup failed: {0}")]
    Failed(String),
}
