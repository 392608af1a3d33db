//! Every span there is: one a call, one a call of the store within it, one a delivery of an event.
//!
//! They are made by OpenTelemetry's own interface and not from the log's spans, so that no filter of the log has a say in
//! what is exported or what is whose parent.

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use http::{HeaderMap, HeaderValue};
use opentelemetry::{
    Context, KeyValue,
    context::FutureExt as _,
    trace::{Link, Span as _, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::trace::{SdkTracer, Span};

use super::{
    Delivery,
    context::Origin,
    conventions::{
        DB_OPERATION_NAME, DB_SYSTEM_NAME, ERROR_TYPE, GAME_ID, GRPC, OTHER, REASON, REVISION,
        RPC_METHOD, RPC_METHOD_ORIGINAL, RPC_RESPONSE_STATUS_CODE, RPC_SYSTEM_NAME, STORE,
    },
    labels::{self, Operation},
    w3c::{self, TRACEPARENT},
};
use crate::{error::StoreError, model::GameId};

/// How many spans one event may make here: more watchers than that get it without.
const DELIVERIES_MAX: usize = 64;

/// Bytes of an unknown method's name that its span tells.
const ORIGINAL_MAX: usize = 128;

/// Makes spans, or does nothing when nobody takes them. Cheap to clone.
#[derive(Clone)]
pub struct Spans {
    tracer: Option<SdkTracer>,
}

/// The codes that are a server's fault by the conventions. Any other is an ordinary answer.
const FAULTS: [&str; 6] =
    ["UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"];

impl Spans {
    pub(super) fn new(tracer: Option<SdkTracer>) -> Self {
        Self { tracer }
    }

    /// Begins the span of a call: `method` is its full name, or none if it is none of ours; `path` is what was called.
    pub fn call(&self, method: Option<&'static str>, path: &str, headers: &HeaderMap) -> CallSpan {
        let parent = w3c::received(headers).with_value(Game::default());
        let Some(tracer) = &self.tracer else { return CallSpan(parent) };
        let mut attributes = vec![
            KeyValue::new(RPC_SYSTEM_NAME, GRPC),
            KeyValue::new(RPC_METHOD, method.unwrap_or(OTHER)),
        ];
        if method.is_none() {
            let name: String = path.trim_start_matches('/').chars().take(ORIGINAL_MAX).collect();
            attributes.push(KeyValue::new(RPC_METHOD_ORIGINAL, name));
        }
        let builder = tracer
            .span_builder(method.unwrap_or(GRPC))
            .with_kind(SpanKind::Server)
            .with_attributes(attributes);
        CallSpan(parent.with_span(builder.start_with_context(tracer, &parent)))
    }

    /// Begins the span of a call of the store, if it is for a call that is recorded.
    pub fn store(&self, store: StoreKind, operation: Operation) -> StoreSpan {
        let recorded = |tracer: &SdkTracer| {
            Context::map_current(|context| {
                if !context.span().is_recording() {
                    return None;
                }
                let mut attributes = vec![
                    KeyValue::new(STORE, store.name),
                    KeyValue::new(DB_OPERATION_NAME, operation.text()),
                ];
                let mut kind = SpanKind::Internal;
                if store.is_database {
                    attributes.push(KeyValue::new(DB_SYSTEM_NAME, store.name));
                    kind = SpanKind::Client;
                }
                let builder = tracer.span_builder(operation.text()).with_kind(kind);
                let span = builder.with_attributes(attributes).start_with_context(tracer, context);
                Some(span)
            })
        };
        StoreSpan(self.tracer.as_ref().and_then(recorded))
    }

    /// Makes the span of a delivery that is over: part of the trace of the change that caused the event, linked to that
    /// change and to the call that opened the watch. None if the change was not recorded, or made enough of them.
    pub(super) fn delivered(&self, delivery: &Delivery) {
        let Some((tracer, caused)) = self.tracer.as_ref().zip(delivery.caused.as_ref()) else {
            return;
        };
        let Some(change) = caused.take().map(Origin::span_context) else { return };
        let links = [Some(change.clone()), delivery.watch.map(Origin::span_context)];
        let links = links.into_iter().flatten().map(|to| Link::new(to, Vec::new(), 0));
        let builder = tracer
            .span_builder("deliver event")
            .with_kind(SpanKind::Consumer)
            .with_start_time(delivery.begun)
            .with_attributes([
                KeyValue::new(GAME_ID, delivery.game_id.as_str().to_owned()),
                KeyValue::new(REVISION, delivery.revision as i64),
            ])
            .with_links(links.collect());
        let parent = Context::new().with_remote_span_context(change);
        builder.start_with_context(tracer, &parent).end();
    }
}

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreKind {
    /// What it is called here and, if it is a database, by the conventions.
    pub name: &'static str,
    /// Whether it is a database of its own, which a call goes out to.
    pub is_database: bool,
}

/// A call's span, which is the parent of what the call does; its caller's, where nobody takes ours.
pub struct CallSpan(Context);

/// Which game a call is about. Kept beside the span, which may not be recorded.
#[derive(Default)]
struct Game(OnceLock<GameId>);

impl CallSpan {
    /// Of the call that this is part of.
    pub fn current() -> Self {
        Self(Context::current())
    }

    /// Runs the call within.
    pub fn within<F: Future>(&self, call: F) -> impl Future<Output = F::Output> {
        call.with_context(self.0.clone())
    }

    /// Goes within, until what is returned is dropped.
    pub fn enter(&self) -> impl Sized {
        self.0.clone().attach()
    }

    /// Ends it with the answer's code and, of an error, its reason; the answer's headers get its context.
    pub fn end(&self, code: &'static str, reason: Option<&'static str>, headers: &mut HeaderMap) {
        let span = self.0.span();
        if span.is_recording() {
            span.set_attribute(KeyValue::new(RPC_RESPONSE_STATUS_CODE, code));
            if let Some(reason) = reason {
                span.set_attribute(KeyValue::new(REASON, reason));
            }
            if FAULTS.contains(&code) {
                span.set_attribute(KeyValue::new(ERROR_TYPE, code));
                span.set_status(Status::error(""));
            }
        }
        let context = span.span_context();
        if context.is_valid() && !context.is_remote() {
            tell(context, headers);
        }
        span.end();
    }
}

fn tell(span: &SpanContext, headers: &mut HeaderMap) {
    if let Ok(value) = HeaderValue::try_from(w3c::traceparent(span)) {
        headers.insert(TRACEPARENT, value);
    }
}

/// A store call's span.
pub struct StoreSpan(Option<Span>);

impl StoreSpan {
    /// Ends it, with the error if there was one.
    pub fn end(self, error: Option<&StoreError>) {
        let Some(mut span) = self.0 else { return };
        if let Some(error) = error {
            span.set_attribute(KeyValue::new(ERROR_TYPE, labels::store_error(error)));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// Says on the current span, and for the log, which game its call is about.
pub fn note_game(id: &GameId) {
    Context::map_current(|context| {
        if let Some(Game(game)) = context.get() {
            game.get_or_init(|| id.clone());
        }
    });
    note(|| KeyValue::new(GAME_ID, id.as_str().to_owned()));
}

/// Which game the current call is about, once that was noted.
pub fn noted_game() -> Option<GameId> {
    Context::map_current(|context| context.get::<Game>()?.0.get().cloned())
}

/// Says on the current span which revision its call made or saw.
pub fn note_revision(revision: u64) {
    note(|| KeyValue::new(REVISION, revision as i64));
}

fn note(attribute: impl FnOnce() -> KeyValue) {
    Context::map_current(|context| {
        let span = context.span();
        if span.is_recording() {
            span.set_attribute(attribute());
        }
    });
}

/// What caused an event, shared by all who deliver it here.
#[derive(Clone, Debug)]
pub struct Caused {
    origin: Origin,
    left: Arc<AtomicUsize>,
}

impl Caused {
    /// By this span.
    pub fn by(origin: Origin) -> Self {
        Self { origin, left: Arc::new(AtomicUsize::new(DELIVERIES_MAX)) }
    }

    /// The span, as often as deliveries may make one.
    fn take(&self) -> Option<Origin> {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        taken.ok().map(|_| self.origin)
    }
}
