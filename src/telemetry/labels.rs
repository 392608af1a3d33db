//! The values that attributes of metrics can have. Each set is closed here, so that nothing a client sends can add one.

use reversi_rules::{Board, Objective, Status};

use crate::error::StoreError;

/// Gives an enum its values, all of them and each as text.
macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$of])* $variant),+
        }

        impl $name {
            /// Every one.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The value of the attribute.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
        }
    };
}

labels! {
    /// What is asked of a store.
    Operation {
        /// Read a game.
        Load => "load",
        /// Put a new game.
        Create => "create",
        /// Compare and append.
        Commit => "commit",
        /// Put a tombstone.
        Delete => "delete",
        /// Read a page.
        List => "list",
        /// Keep a layout.
        PutLayout => "put_layout",
        /// Read a layout.
        Layout => "layout",
        /// Remove what has expired.
        Sweep => "sweep",
    }
}

labels! {
    /// What a change of a game is.
    Change {
        /// It is new.
        Create => "create",
        /// A seat is taken.
        Join => "join",
        /// A disc is placed.
        Move => "move",
        /// A player gives up.
        Resign => "resign",
        /// The owner ends it.
        Abort => "abort",
        /// The owner deletes it.
        Delete => "delete",
    }
}

labels! {
    /// How an attempt to commit ended.
    Outcome {
        /// It is durable.
        Done => "done",
        /// Another change came first.
        Conflict => "conflict",
        /// The store failed.
        Failed => "failed",
    }
}

labels! {
    /// Why a watch, or all of a game's, had to catch up.
    CatchUp {
        /// A watch resumed behind the last version.
        Resume => "resume",
        /// A hint came, and there was more than one change.
        Gap => "gap",
        /// No hint came: the poll found the change.
        Poll => "poll",
    }
}

labels! {
    /// Why a watcher's history was not ours.
    Reset {
        /// It had more than there is.
        RevisionAhead => "revision_ahead",
        /// It had another.
        HistoryDiverged => "history_diverged",
    }
}

labels! {
    /// How a watch ended.
    WatchEnd {
        /// Everything was delivered.
        GameFinished => "game_finished",
        /// The game was deleted.
        GameDeleted => "game_deleted",
        /// The game expired.
        GameExpired => "game_expired",
        /// The process goes.
        ServerDraining => "server_draining",
        /// It lasted as long as one may.
        StreamLifetimeReached => "stream_lifetime_reached",
        /// It was not read.
        WatcherTooSlow => "watcher_too_slow",
        /// The caller's deadline passed.
        DeadlineExceeded => "deadline_exceeded",
        /// The caller went.
        ClientGone => "client_gone",
        /// The game vanished.
        GameNotFound => "game_not_found",
        /// The store failed.
        StoreUnavailable => "store_unavailable",
        /// A newer release wrote the game.
        ServerOutdated => "server_outdated",
        /// A fault of ours.
        Internal => "internal",
    }
}

/// The kinds of errors that a store has.
pub const STORE_ERRORS: [&str; 5] =
    ["unavailable", "not_done", "queue_full", "newer_form", "corrupt"];

/// The kind of a store's error.
pub const fn store_error(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "unavailable",
        StoreError::NotDone(_) => "not_done",
        StoreError::QueueFull => "queue_full",
        StoreError::NewerForm(_) => "newer_form",
        StoreError::Corrupt(_) => "corrupt",
    }
}

/// A game's status.
pub const fn status(status: Status) -> &'static str {
    match status {
        Status::WaitingForPlayers => "waiting",
        Status::InProgress => "in_progress",
        Status::Finished => "finished",
    }
}

/// A game's board.
pub const fn board(board: Board) -> &'static str {
    match board {
        Board::Cross => "cross",
        other => other.name(),
    }
}

/// A game's objective.
pub const fn objective(objective: Objective) -> &'static str {
    match objective {
        Objective::MostDiscs => "most_discs",
        Objective::FewestDiscs => "fewest_discs",
    }
}
