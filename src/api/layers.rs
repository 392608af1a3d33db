//! What every call passes through, outermost first: gRPC alone, what is told of it (`observe`), and for the contract `bound` (deadline,
//! whole message, calls in flight), then `explain` right around tonic. One layer does it all: each of its own would
//! cost every call copies of the router and futures on the heap.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use bytes::BytesMut;
use http::{HeaderName, HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tonic::{Code, Status};

use super::{observe::Call, status::status};
use crate::{
    error::{Error, Faults},
    model::Deadline,
    telemetry::Telemetry,
};

/// The largest request message, in bytes. Every request that can succeed fits many times.
pub const MESSAGE_MAX: usize = 256 << 10;

/// A message up to this size is small. Every request that can succeed is.
const MESSAGE_SMALL: usize = 16 << 10;

/// How many messages that are not small may be on their way or in flight: what they hold of memory is theirs by intent alone.
const LARGE_MESSAGES_MAX: usize = 256;

/// When to try again after that.
const LARGE_MESSAGES_RETRY: Duration = Duration::from_secs(1);

/// What goes before a message on the wire: a flag and its length.
const MESSAGE_PREFIX: usize = 5;

/// How long a unary call may last at the most, whatever its caller would wait.
const CALL_MAX: Duration = Duration::from_secs(60);

/// When to try again after too many calls were in flight.
const IN_FLIGHT_RETRY: Duration = Duration::from_millis(100);

const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

const SERVICE_PATH: &str = "/reversi.v1.GameService/";

/// The calls that are in flight.
#[derive(Clone)]
pub struct InFlight {
    places: Arc<Semaphore>,
    large_messages: Arc<Semaphore>,
    /// Waited for by a drain, which turns no call away that has come this far.
    tasks: TaskTracker,
    telemetry: Telemetry,
}

impl InFlight {
    /// At most `max` calls, each of them counted on `tasks`.
    pub fn new(max: usize, tasks: TaskTracker, telemetry: Telemetry) -> Self {
        let large_messages = Arc::new(Semaphore::new(LARGE_MESSAGES_MAX));
        Self { places: Arc::new(Semaphore::new(max)), large_messages, tasks, telemetry }
    }

    /// A place for one more, until it is dropped.
    fn place(&self) -> Result<impl Sized, Error> {
        let retry = Some(IN_FLIGHT_RETRY);
        match self.places.try_acquire() {
            Ok(place) => Ok((place, self.tasks.token(), self.telemetry.metrics.in_flight())),
            Err(_) => Err(Error::Limit { limit: "calls_in_flight", retry }),
        }
    }
}

/// Answers whatever is no gRPC as the protocol asks, before it is taken for a message; hands the rest on.
pub async fn pass(State(in_flight): State<InFlight>, request: Request, next: Next) -> Response {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let grpc = content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"));
    if !grpc {
        return StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response();
    }
    let deadline = request.headers().get("grpc-timeout").and_then(timeout).map(Deadline::after);
    let call = Call::begin(&in_flight.telemetry, &request, deadline);
    let answer = async {
        match request.uri().path().starts_with(SERVICE_PATH) {
            true => bound(&in_flight, request, deadline, next).await,
            false => next.run(request).await,
        }
    };
    match call {
        Some(call) => call.answer(answer).await,
        None => answer.await,
    }
}

/// Bounds a call of the contract: its deadline, its message, and how many are in flight. Only a call whose whole message
/// is here is in flight.
async fn bound(
    in_flight: &InFlight,
    request: Request,
    deadline: Option<Deadline>,
    next: Next,
) -> Response {
    let last = Instant::now() + CALL_MAX;
    let last = deadline.map_or(last, |deadline| deadline.at.min(last));
    let (mut parts, body) = request.into_parts();
    if let Some(deadline) = deadline {
        parts.extensions.insert(deadline);
    }
    // Ours counts; tonic's would answer CANCELLED.
    parts.headers.remove("grpc-timeout");
    let call = async {
        let (message, _large) = receive(body, deadline, &in_flight.large_messages).await?;
        let _place = in_flight.place()?;
        Ok(explain(Request::from_parts(parts, message), next).await)
    };
    let answered = tokio::time::timeout_at(last, call).await;
    answered.unwrap_or(Err(Error::Deadline)).unwrap_or_else(refusal)
}

/// Reads a whole message; with it comes a place among the large ones, if it is one.
async fn receive(
    mut body: Body,
    deadline: Option<Deadline>,
    large_messages: &Semaphore,
) -> Result<(Body, Option<SemaphorePermit<'_>>), Error> {
    let malformed = |problem| Err(Error::Invalid(Faults::one("", problem)));
    let mut message = BytesMut::new();
    let mut place = None;
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            // The caller went.
            return match deadline.is_some_and(Deadline::is_near) {
                true => Err(Error::Deadline),
                false => malformed("is not a whole message"),
            };
        };
        let Ok(data) = frame.into_data() else { continue };
        if message.len() + data.len() > MESSAGE_PREFIX + MESSAGE_MAX {
            return Err(Error::Limit { limit: "message_bytes", retry: None });
        }
        message.extend_from_slice(&data);
        if message.len() > MESSAGE_PREFIX + MESSAGE_SMALL && place.is_none() {
            let retry = Some(LARGE_MESSAGES_RETRY);
            let full = |_| Error::Limit { limit: "large_messages", retry };
            place = Some(large_messages.try_acquire().map_err(full)?);
        }
    }
    match is_one_message(&message) {
        true => Ok((Body::from(message.freeze()), place)),
        false => malformed("must be exactly one message, as long as its prefix says"),
    }
}

/// Whether a body is a flag, a length, and that many bytes. tonic would overlook a second message.
fn is_one_message(body: &[u8]) -> bool {
    body.split_first_chunk::<MESSAGE_PREFIX>().is_some_and(|([_flag, length @ ..], message)| {
        usize::try_from(u32::from_be_bytes(*length)) == Ok(message.len())
    })
}

/// Gives the refusals that tonic makes before any handler runs the form of ours: what it cannot decode is INTERNAL to it,
/// what it does not know UNIMPLEMENTED.
async fn explain(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    match Status::from_header_map(response.headers()) {
        Some(theirs) if theirs.details().is_empty() => match theirs.code() {
            Code::Internal => refusal(Error::Invalid(Faults::one(
                "",
                "cannot be decoded as this request's message",
            ))),
            Code::Unimplemented => unimplemented(response),
            _ => response,
        },
        Some(_) | None => response,
    }
}

/// An unknown method, or an unknown compression; then tonic says which are known, and that stays.
fn unimplemented(response: Response) -> Response {
    let known = response.headers().get(ACCEPT_ENCODING);
    let what = if known.is_some() { "this compression" } else { "this method" };
    let mut refusal = refusal(Error::Unimplemented { what });
    refusal.headers_mut().extend(known.map(|known| (ACCEPT_ENCODING, known.clone())));
    refusal
}

fn refusal(error: Error) -> Response {
    status(error).into_http()
}

/// Reads a `grpc-timeout`: at most eight digits and a unit.
fn timeout(value: &HeaderValue) -> Option<Duration> {
    let (digits, unit) = value.to_str().ok()?.split_at_checked(value.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit())
    {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number * 60 * 60),
        "M" => Duration::from_secs(number * 60),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}
