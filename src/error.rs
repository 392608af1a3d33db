//! Every way a call can be refused or fail, without a word of transport.

use std::time::Duration;

use reversi_rules::{Color, SquareSet, Version};

/// Why a call was not answered. A refused call changed nothing; for [`Error::Store`] and [`Error::Deadline`] the outcome
/// is unknown until the call is repeated under its request id.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The form of the request is at fault, in every way listed.
    #[error("the request is malformed")]
    Invalid(Faults),
    /// No such game, or it is deleted or expired.
    #[error("no such game")]
    GameNotFound,
    /// No such layout.
    #[error("no such layout")]
    LayoutNotFound,
    /// The game was judged, and the call refused.
    #[error("{refusal}")]
    Refused {
        /// Why.
        refusal: Refusal,
        /// The version that it was judged at.
        version: Version,
    },
    /// A named limit is reached.
    #[error("the limit {limit} is reached")]
    Limit {
        /// The limit's name.
        limit: &'static str,
        /// When to come back, where waiting helps.
        retry: Option<Duration>,
    },
    /// The store did not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The caller's deadline passed.
    #[error("the deadline passed before the outcome was known")]
    Deadline,
    /// The server is going away.
    #[error("the server is draining")]
    Draining,
    /// The watch has lasted as long as one may.
    #[error("the stream has reached its lifetime")]
    StreamLifetime,
    /// The watcher did not read.
    #[error("nothing could be written for too long while data was pending")]
    WatcherTooSlow,
    /// The contract has it, the service does not yet.
    #[error("{what} is not built yet")]
    Unimplemented {
        /// What is missing.
        what: &'static str,
    },
    /// A fault of ours; the text is for operators, not for callers.
    #[error("internal: {0}")]
    Internal(String),
}

/// Why a call does not fit the game as it stands, in the order of the contract.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal {
    /// A token is needed.
    #[error("a token is needed")]
    TokenMissing,
    /// The token is not this game's.
    #[error("the token is not one of this game's for this call")]
    TokenInvalid,
    /// The request id stands for another command.
    #[error("the request id was used before with another command")]
    RequestIdReused,
    /// A field is wrong for this game.
    #[error("a field does not fit this game")]
    Unfit(Faults),
    /// The caller judged another version.
    #[error("the expected version is not the current one")]
    VersionMismatch,
    /// All seats are taken.
    #[error("no seat is open")]
    NoOpenSeat,
    /// This seat is taken.
    #[error("the seat of {0} is taken")]
    SeatTaken(Color),
    /// Seats are still open.
    #[error("the game has not started: seats are still open")]
    NotStarted,
    /// The game is over.
    #[error("the game is finished")]
    Finished,
    /// This seat has resigned.
    #[error("{0} has resigned")]
    SeatResigned(Color),
    /// Another colour is to move.
    #[error("{to_move} is to move")]
    NotYourTurn {
        /// Whose turn it is.
        to_move: Color,
    },
    /// Not a legal move now.
    #[error("not a legal move now")]
    IllegalMove {
        /// What would be.
        legal: SquareSet,
    },
}

/// One field that is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its path from the request, such as `rules.players`.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

/// Faults of one request: the first few in full, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    listed: Vec<Fault>,
    total: usize,
}

impl Faults {
    /// How many are listed; the rest are counted. Keeps error details small enough for every client's header limit.
    pub const LISTED_MAX: usize = 20;

    /// Adds a fault.
    pub fn add(&mut self, field: impl Into<String>, problem: impl Into<String>) {
        self.total += 1;
        if self.listed.len() < Self::LISTED_MAX {
            self.listed.push(Fault { field: field.into(), problem: problem.into() });
        }
    }

    /// One fault alone.
    pub fn one(field: impl Into<String>, problem: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add(field, problem);
        faults
    }

    /// `Ok` with `value` when nothing is at fault.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with all the faults otherwise.
    pub fn or<T>(self, value: T) -> Result<T, Error> {
        if self.total == 0 { Ok(value) } else { Err(Error::Invalid(self)) }
    }

    /// Whether nothing is at fault.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The faults listed, first come first.
    pub fn listed(&self) -> &[Fault] {
        &self.listed
    }

    /// How many were found beyond those listed.
    pub fn unlisted(&self) -> usize {
        self.total - self.listed.len()
    }
}

/// Why a store did not answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Its answer was lost: what was asked may or may not have happened.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// It cannot be reached, or turned the call away: nothing happened.
    #[error("the store is unavailable: {0}")]
    NotDone(String),
    /// More commits wait than may: nothing happened.
    #[error("too many commits are waiting for the store")]
    QueueFull,
    /// What is stored is in the form of this number, of a newer release: nothing happened.
    #[error("stored in form {0}, which a newer release wrote: this server must be upgraded")]
    NewerForm(u8),
    /// What is stored cannot be read: nothing happened.
    #[error("stored bytes cannot be read: {0}")]
    Corrupt(String),
}

/// What went wrong, and each cause below it that adds to what was said.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.contains(&text) {
            said = format!("{said}: {text}");
        }
        cause = error.source();
    }
    said
}

impl StoreError {
    /// Whether the store is away, which may pass.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::NotDone(_) => true,
            Self::QueueFull | Self::NewerForm(_) | Self::Corrupt(_) => false,
        }
    }
}
