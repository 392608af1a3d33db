//! Calls that survive a server that is away for a moment: which faults are worth another attempt, and how long to wait before it.
//!
//! Every attempt sends the same message, so the same `request_id`: a change whose answer was lost is not made twice.

use std::error::Error;
use std::time::Duration;

use tonic::{Code, ConnectError, Request, Response, Status, TimeoutExpired};
use tonic_types::StatusExt as _;

use crate::connect::{Client, Connection};
use crate::errors::Failure;
use crate::escape;
use crate::random::Random;

/// How often a call is tried: with the waits between, about a second where the server is away and answers at once.
const ATTEMPTS_MAX: u32 = 4;

/// A longer wait is announced.
const SILENT_WAIT_MAX: Duration = Duration::from_secs(2);

/// The longest wait that a server may ask for.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// Growing waits between attempts, spread at random so that many clients do not return at once.
#[derive(Debug)]
pub struct Backoff {
    next: Duration,
    longest: Duration,
    random: Random,
}

impl Backoff {
    /// Waits of up to 200 ms first, and up to `longest` in the end.
    pub fn new(longest: Duration) -> Self {
        let first = Duration::from_millis(200);
        Self { next: first, longest, random: Random::from_seed(Random::fresh_seed()) }
    }

    /// How long to wait after this fault: at least as long as the server asks for.
    pub fn after(&mut self, fault: &Status) -> Duration {
        let spread = self.next.mul_f64(0.5 + 0.5 * self.random.fraction());
        self.next = (self.next * 2).min(self.longest);
        spread + asked_wait(fault).unwrap_or_default().min(WAIT_MAX)
    }
}

/// How long the server asks to wait.
pub fn asked_wait(fault: &Status) -> Option<Duration> {
    fault.get_details_retry_info().and_then(|info| info.retry_delay)
}

/// Whether no server answered, or none that could: what became of the call is then unknown.
///
/// A fault of the transport carries its cause, and one that a server sent does not.
pub fn is_unanswered(fault: &Status) -> bool {
    matches!(fault.code(), Code::Unavailable | Code::DeadlineExceeded) || fault.source().is_some()
}

/// Whether the fault comes from one of this type.
fn is_caused_by<E: Error + 'static>(fault: &Status) -> bool {
    std::iter::successors(fault.source(), |&cause| cause.source()).any(|cause| cause.is::<E>())
}

fn is_worth_another(fault: &Status) -> bool {
    is_unanswered(fault) || fault.code() == Code::ResourceExhausted && asked_wait(fault).is_some()
}

impl Connection {
    /// Makes a call, again where that can help, and returns its answer.
    ///
    /// # Errors
    ///
    /// [`Failure::Refused`] with the server's answer, or [`Failure::NoAnswer`] after the last attempt.
    pub async fn call<Q, A, F>(
        &self,
        request: Q,
        method: impl Fn(Client, Request<Q>) -> F,
    ) -> Result<A, Failure>
    where
        Q: Clone,
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let mut backoff = Backoff::new(Duration::from_secs(2));
        let mut attempt = 1;
        let mut sent = false;
        loop {
            let fault = match self.attempt(request.clone(), &method).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            sent |= !is_caused_by::<ConnectError>(&fault);
            if !is_worth_another(&fault) || attempt == ATTEMPTS_MAX {
                return Err(Failure::of(fault, sent));
            }
            let wait = backoff.after(&fault);
            if wait > SILENT_WAIT_MAX {
                let why = escape::text(fault.message());
                self.output.notice(&format!("{why}; trying again in {:.0} s", wait.as_secs_f32()));
            }
            tokio::time::sleep(wait).await;
            attempt += 1;
        }
    }

    /// One attempt, within the time that it may take.
    async fn attempt<Q, A, F>(
        &self,
        message: Q,
        method: impl Fn(Client, Request<Q>) -> F,
    ) -> Result<A, Status>
    where
        F: Future<Output = Result<Response<A>, Status>>,
    {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        let answer = method(self.client.clone(), request);
        match tokio::time::timeout(self.timeout, answer).await {
            // The transport has its own clock for the same time, and calls it something else.
            Ok(Err(fault)) if is_caused_by::<TimeoutExpired>(&fault) => Err(self.too_late()),
            Ok(answer) => answer.map(Response::into_inner),
            Err(_) => Err(self.too_late()),
        }
    }

    fn too_late(&self) -> Status {
        Status::deadline_exceeded(format!("nothing within {:?}", self.timeout))
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_are_spread() {
        let mut backoff = Backoff::new(Duration::from_secs(2));
        let fault = Status::unavailable("");
        let waits: Vec<_> = (0..20).map(|_| backoff.after(&fault)).collect();
        assert!(waits[0] >= Duration::from_millis(100) && waits[0] <= Duration::from_millis(200));
        assert!(waits[10..].iter().all(|w| (1000..=2000).contains(&w.as_millis())));
        assert!(waits[10..].windows(2).any(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn a_wait_is_as_long_as_the_server_asks_but_bounded() {
        let asks = |seconds| {
            let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(seconds)));
            Status::with_error_details(Code::ResourceExhausted, "", details)
        };
        let mut backoff = Backoff::new(Duration::from_secs(2));
        assert!(backoff.after(&asks(7)) >= Duration::from_secs(7));
        assert!(backoff.after(&asks(100_000)) <= WAIT_MAX + Duration::from_secs(2));
    }

    #[test]
    fn only_what_another_attempt_can_mend_is_tried_again() {
        let details = ErrorDetails::with_retry_info(Some(Duration::from_secs(1)));
        let full = Status::with_error_details(Code::ResourceExhausted, "", details);
        for fault in [Status::unavailable(""), Status::deadline_exceeded(""), full] {
            assert!(is_worth_another(&fault), "{fault:?}");
        }
        let refusals = [
            Code::ResourceExhausted,
            Code::FailedPrecondition,
            Code::Aborted,
            Code::Internal,
            Code::NotFound,
        ];
        for code in refusals {
            assert!(!is_worth_another(&Status::new(code, "")), "{code:?}");
        }
    }
}
