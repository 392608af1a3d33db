//! The one table from the service's errors to what callers see. Nothing internal goes out: causes are logged here.

use std::{collections::HashMap, error::Error as _, sync::Arc, time::Duration};

use reversi_proto::v1;
use reversi_rules::Color;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::{
    error::{Error, Faults, Refusal, StoreError},
    model::GameId,
    telemetry::noted_game,
};

const DOMAIN: &str = "reversi.v1";

/// Every reason that a status can have.
pub const REASONS: [&str; 23] = [
    "DEADLINE_EXCEEDED",
    "GAME_FINISHED",
    "GAME_NOT_FOUND",
    "GAME_NOT_STARTED",
    "ILLEGAL_MOVE",
    "INTERNAL",
    "INVALID_FIELD",
    "LAYOUT_NOT_FOUND",
    "LIMIT_REACHED",
    "NOT_YOUR_TURN",
    "NO_OPEN_SEAT",
    "REQUEST_ID_REUSED",
    "SEAT_RESIGNED",
    "SEAT_TAKEN",
    "SERVER_DRAINING",
    "SERVER_OUTDATED",
    "STORE_UNAVAILABLE",
    "STREAM_LIFETIME_REACHED",
    "TOKEN_INVALID",
    "TOKEN_MISSING",
    "UNIMPLEMENTED",
    "VERSION_MISMATCH",
    "WATCHER_TOO_SLOW",
];

/// The reason within a status, for this process alone.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Reason(&'static str);

impl Reason {
    /// Why the call was refused, if it was by one of ours.
    pub fn of(status: &Status) -> Option<&'static str> {
        status.source()?.downcast_ref::<Self>().map(|reason| reason.0)
    }
}

/// When to try again after the store could not be reached.
const STORE_RETRY: Duration = Duration::from_millis(250);

/// When to try again after too many commits were waiting.
const QUEUE_RETRY: Duration = Duration::from_millis(50);

/// When to try again, at a newer replica, after this one was too old to read what a call is about.
const NEWER_RETRY: Duration = Duration::from_secs(1);

/// What the caller is told of `error`.
pub fn status(error: Error) -> Status {
    let game_id = noted_game();
    let game_id = game_id.as_ref().map(GameId::as_str);
    match &error {
        Error::Invalid(faults) => {
            Answer::new(Code::InvalidArgument, "INVALID_FIELD").faults(faults)
        }
        Error::GameNotFound => Answer::new(Code::NotFound, "GAME_NOT_FOUND"),
        Error::LayoutNotFound => Answer::new(Code::NotFound, "LAYOUT_NOT_FOUND"),
        Error::Refused { refusal, version } => {
            refused(refusal).metadata("current_revision", version.revision)
        }
        Error::Limit { limit, retry } => Answer::new(Code::ResourceExhausted, "LIMIT_REACHED")
            .metadata("limit", limit)
            .retry(*retry),
        Error::Store(StoreError::QueueFull) => {
            Answer::new(Code::ResourceExhausted, "LIMIT_REACHED")
                .metadata("limit", "store_queue")
                .retry(Some(QUEUE_RETRY))
        }
        Error::Store(StoreError::Unavailable(cause) | StoreError::NotDone(cause)) => {
            tracing::error!(cause, "the store is unavailable");
            Answer::new(Code::Unavailable, "STORE_UNAVAILABLE")
                .text("the store is unavailable: retry with the same request_id")
                .retry(Some(STORE_RETRY))
        }
        Error::Store(error @ StoreError::NewerForm(_)) => {
            tracing::warn!(%error, game_id, "a newer release wrote what was asked for");
            Answer::new(Code::Unavailable, "SERVER_OUTDATED")
                .text("written by a newer server than this one: nothing was changed; retry, another may be newer")
                .retry(Some(NEWER_RETRY))
        }
        Error::Deadline => Answer::new(Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        Error::Draining => Answer::new(Code::Unavailable, "SERVER_DRAINING"),
        Error::StreamLifetime => Answer::new(Code::Unavailable, "STREAM_LIFETIME_REACHED"),
        Error::WatcherTooSlow => Answer::new(Code::ResourceExhausted, "WATCHER_TOO_SLOW"),
        Error::Unimplemented { .. } => Answer::new(Code::Unimplemented, "UNIMPLEMENTED"),
        Error::Store(StoreError::Corrupt(cause)) | Error::Internal(cause) => {
            tracing::error!(cause, game_id, "a call failed by a fault of ours");
            Answer::new(Code::Internal, "INTERNAL").text("internal error")
        }
    }
    .into_status(&error)
}

fn refused(refusal: &Refusal) -> Answer {
    let precondition = |reason| Answer::new(Code::FailedPrecondition, reason);
    match refusal {
        Refusal::TokenMissing => Answer::new(Code::Unauthenticated, "TOKEN_MISSING"),
        Refusal::TokenInvalid => Answer::new(Code::PermissionDenied, "TOKEN_INVALID"),
        Refusal::RequestIdReused => Answer::new(Code::InvalidArgument, "REQUEST_ID_REUSED"),
        Refusal::Unfit(faults) => {
            Answer::new(Code::InvalidArgument, "INVALID_FIELD").faults(faults)
        }
        Refusal::VersionMismatch => Answer::new(Code::Aborted, "VERSION_MISMATCH"),
        Refusal::NoOpenSeat => precondition("NO_OPEN_SEAT"),
        Refusal::SeatTaken(_) => precondition("SEAT_TAKEN"),
        Refusal::NotStarted => precondition("GAME_NOT_STARTED"),
        Refusal::Finished => precondition("GAME_FINISHED"),
        Refusal::SeatResigned(_) => precondition("SEAT_RESIGNED"),
        Refusal::NotYourTurn { to_move } => {
            precondition("NOT_YOUR_TURN").metadata("to_move", color_name(*to_move))
        }
        Refusal::IllegalMove { legal } => {
            let legal: Vec<_> = legal.iter().map(|square| square.to_string()).collect();
            precondition("ILLEGAL_MOVE").metadata("legal_moves", legal.join(","))
        }
    }
}

fn color_name(color: Color) -> &'static str {
    match color {
        Color::Black => v1::Color::Black,
        Color::White => v1::Color::White,
        Color::Red => v1::Color::Red,
        Color::Green => v1::Color::Green,
    }
    .as_str_name()
}

/// A status being put together.
struct Answer {
    code: Code,
    reason: &'static str,
    /// In place of the error's own text.
    text: Option<&'static str>,
    metadata: HashMap<String, String>,
    faults: Faults,
    retry: Option<Duration>,
}

impl Answer {
    fn new(code: Code, reason: &'static str) -> Self {
        Self {
            code,
            reason,
            text: None,
            metadata: HashMap::new(),
            faults: Faults::default(),
            retry: None,
        }
    }

    fn text(mut self, text: &'static str) -> Self {
        self.text = Some(text);
        self
    }

    fn metadata(mut self, key: &str, value: impl ToString) -> Self {
        self.metadata.insert(key.into(), value.to_string());
        self
    }

    fn faults(mut self, faults: &Faults) -> Self {
        self.faults = faults.clone();
        self
    }

    fn retry(mut self, after: Option<Duration>) -> Self {
        self.retry = after;
        self
    }

    fn into_status(self, error: &Error) -> Status {
        let mut text = self.text.map_or_else(|| error.to_string(), Into::into);
        let mut details = ErrorDetails::new();
        details.set_error_info(self.reason, DOMAIN, self.metadata);
        for fault in self.faults.listed() {
            details.add_bad_request_violation(fault.field.as_str(), fault.problem.as_str());
        }
        if let Some(first) = self.faults.listed().first() {
            text = format!("{}: {}", first.field, first.problem);
        }
        match self.faults.unlisted() {
            0 => {}
            more => {
                details.add_bad_request_violation("", format!("{more} more faults are not listed"));
            }
        }
        if let Some(after) = self.retry {
            details.set_retry_info(Some(after));
        }
        let mut status = Status::with_error_details(self.code, text, details);
        status.set_source(Arc::new(Reason(self.reason)));
        status
    }
}
