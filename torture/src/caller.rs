//! One client: it calls any replica, hangs up now and then, and repeats a call under the same request id until it is settled.

use std::{
    error::Error as _,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::{sleep, timeout};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt as _;

use crate::{
    log::Refused,
    random::Random,
    world::{Client, World, any},
};

/// What a caller leaves the server to answer, and a little more after which it hangs up.
const DEADLINE: Duration = Duration::from_secs(4);
const HANG_UP: Duration = Duration::from_secs(5);

/// How long an attempt that was not answered may be under way in the server: until its deadline, and a little more.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// How often of a hundred times a caller hangs up on purpose, and after how many milliseconds at most.
const CANCELLED: usize = 8;
const CANCELLED_AFTER: usize = 30;

/// How long calls are repeated once nothing breaks any more, before they count as never settled.
const PATIENCE: Duration = Duration::from_secs(15);

/// A client with connections of its own.
pub struct Caller {
    /// What it shares with others.
    pub world: Arc<World>,
    /// Its choices.
    pub random: Random,
    clients: Vec<Client>,
}

/// An answered call.
#[derive(Debug)]
pub struct Settled<R> {
    /// When the first attempt began.
    pub begun: Instant,
    /// When the last one did.
    pub last_begun: Instant,
    /// When it was answered.
    pub ended: Instant,
    /// The answer; none if there was none to the end.
    pub answer: Option<Result<R, Refused>>,
}

/// What is known after an attempt.
enum Attempt<R> {
    Answered(Result<R, Refused>),
    /// It may or may not have been done.
    Unknown,
    /// What no correct service says.
    Wrong(Status),
}

impl Caller {
    /// A client that has not connected yet.
    pub fn new(world: &Arc<World>, random: Random) -> Self {
        Self { world: world.clone(), random, clients: world.clients() }
    }

    /// Makes a call, and again until it is answered. `wrong` hears what no correct service says; then it is left at that.
    pub async fn settle<T, R, F>(
        &mut self,
        message: T,
        call: impl Fn(Client, Request<T>) -> F,
        mut wrong: impl FnMut(Status),
    ) -> Settled<R>
    where
        T: Clone,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let begun = Instant::now();
        let mut last_begun = begun;
        let mut under_way_until = begun;
        let mut calm_since = None;
        loop {
            let client = any(&self.clients, &mut self.random);
            let attempt = self.attempt(message.clone(), client, &call).await;
            let ended = Instant::now();
            let settled = |answer| Settled { begun, last_begun, ended, answer };
            match attempt {
                Attempt::Answered(Err(_)) if ended < under_way_until => {
                    // An earlier attempt may yet be done: what is told after that is the truth.
                    self.world.count("refusals asked again");
                    sleep(under_way_until - ended).await;
                    last_begun = Instant::now();
                    continue;
                }
                Attempt::Answered(answer) => return settled(Some(answer)),
                Attempt::Wrong(status) => {
                    wrong(status);
                    return settled(None);
                }
                Attempt::Unknown => under_way_until = last_begun + UNDER_WAY,
            }
            if self.world.is_calm() && calm_since.get_or_insert(ended).elapsed() > PATIENCE {
                return settled(None);
            }
            self.world.count("calls repeated with the outcome unknown");
            sleep(self.random.millis(5, 150)).await;
            last_begun = Instant::now();
        }
    }

    async fn attempt<T, R, F>(
        &mut self,
        message: T,
        client: Client,
        call: impl Fn(Client, Request<T>) -> F,
    ) -> Attempt<R>
    where
        F: Future<Output = Result<Response<R>, Status>>,
    {
        self.world.count("calls");
        let mut request = Request::new(message);
        request.set_timeout(DEADLINE);
        let cancelled = !self.world.is_calm() && self.random.percent(CANCELLED);
        let patience = if cancelled { self.random.millis(0, CANCELLED_AFTER) } else { HANG_UP };
        match timeout(patience, call(client, request)).await {
            Ok(Ok(answer)) => Attempt::Answered(Ok(answer.into_inner())),
            Ok(Err(status)) => judge(status),
            Err(_) => {
                if cancelled {
                    self.world.count("calls cancelled");
                }
                Attempt::Unknown
            }
        }
    }
}

/// What a failed attempt says of its outcome.
fn judge<R>(status: Status) -> Attempt<R> {
    let Some(info) = status.get_details_error_info() else {
        return if is_internal(&status) { Attempt::Wrong(status) } else { Attempt::Unknown };
    };
    match info.reason.as_str() {
        "STORE_UNAVAILABLE" | "DEADLINE_EXCEEDED" | "LIMIT_REACHED" => Attempt::Unknown,
        "GAME_NOT_FOUND" | "VERSION_MISMATCH" | "NO_OPEN_SEAT" | "SEAT_TAKEN"
        | "GAME_NOT_STARTED" | "GAME_FINISHED" | "SEAT_RESIGNED" | "NOT_YOUR_TURN"
        | "ILLEGAL_MOVE" => {
            let revision = info.metadata.get("current_revision");
            Attempt::Answered(Err(Refused {
                revision: revision.and_then(|revision| revision.parse().ok()),
                reason: info.reason,
                more: info.metadata,
            }))
        }
        _ => Attempt::Wrong(status),
    }
}

/// Whether the service itself said `INTERNAL`. What this end makes of a connection that breaks has a source.
fn is_internal(status: &Status) -> bool {
    status.code() == Code::Internal && status.source().is_none()
}

/// The reason of a status; empty where the service told none.
pub fn reason(status: &Status) -> String {
    match status.get_details_error_info() {
        Some(info) => info.reason,
        None if is_internal(status) => "INTERNAL".to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn internal_is_wrong_where_the_service_said_it() {
        let said = Status::internal("a task failed");
        assert_eq!(reason(&said), "INTERNAL");
        assert!(matches!(judge::<()>(said), Attempt::Wrong(_)));
        let mut made_here = Status::internal("h2 protocol error");
        made_here.set_source(Arc::new(std::io::Error::other("a connection is cut")));
        assert_eq!(reason(&made_here), "");
        assert!(matches!(judge::<()>(made_here), Attempt::Unknown));
        assert!(matches!(judge::<()>(Status::unavailable("")), Attempt::Unknown));
        let of = |reason: &str| {
            let more = [("current_revision".to_owned(), "3".to_owned())];
            let details = ErrorDetails::with_error_info(reason, "", more);
            Status::with_error_details(Code::Unavailable, "", details)
        };
        assert!(matches!(judge::<()>(of("STORE_UNAVAILABLE")), Attempt::Unknown));
        assert!(matches!(judge::<()>(of("INTERNAL")), Attempt::Wrong(_)));
        let Attempt::Answered::<()>(Err(refused)) = judge(of("NOT_YOUR_TURN")) else { panic!() };
        assert_eq!(refused.revision, Some(3));
    }
}
