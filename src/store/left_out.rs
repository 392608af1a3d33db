//! What a listing or a sweep passes over because this release cannot read it. It stays as it is, for one that can, and stands in
//! nobody's way; the log has one line for all of it.

use std::collections::HashSet;

use crate::error::StoreError;

/// Entries that could not be read.
#[derive(Debug, Default)]
pub struct LeftOut {
    newer: Kind,
    corrupt: Kind,
    /// Under which ids, of what was noted once.
    noted: HashSet<String>,
}

/// How many, and the first of them.
#[derive(Debug, Default)]
struct Kind {
    count: usize,
    first: Option<(String, StoreError)>,
}

impl LeftOut {
    /// Notes that what is under `id` cannot be read.
    ///
    /// # Errors
    ///
    /// `error`, when it says nothing about what is stored.
    pub fn note(&mut self, id: &str, error: StoreError) -> Result<(), StoreError> {
        let kind = match error {
            StoreError::NewerForm(_) => &mut self.newer,
            StoreError::Corrupt(_) => &mut self.corrupt,
            StoreError::Unavailable(_) | StoreError::NotDone(_) | StoreError::QueueFull => {
                return Err(error);
            }
        };
        kind.count += 1;
        kind.first.get_or_insert_with(|| (id.to_owned(), error));
        Ok(())
    }

    /// The same of what may be come upon again, which counts once.
    ///
    /// # Errors
    ///
    /// `error`, when it says nothing about what is stored.
    pub fn note_once(&mut self, id: &str, error: StoreError) -> Result<(), StoreError> {
        if self.noted.insert(id.to_owned()) { self.note(id, error) } else { Ok(()) }
    }

    /// Says it, if there is anything to say: one line for those of a newer release, which is to be expected while replicas
    /// are upgraded, and one for the others, which never is.
    pub fn log(&self, during: &'static str) {
        if let Kind { count, first: Some((id, error)) } = &self.newer {
            tracing::warn!(count, first = id, %error, during, "newer entries are left out");
        }
        if let Kind { count, first: Some((id, error)) } = &self.corrupt {
            tracing::error!(count, first = id, %error, during, "unreadable entries are left out");
        }
    }
}
