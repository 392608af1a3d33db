//! The context of a trace here: what is current, compact in a hint to other replicas, and carried along to where work goes on.

use std::future::Future;

use opentelemetry::{
    Context,
    context::FutureExt as _,
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};
use reversi_rules::Version;

/// The trace that is current here and, of it, our own span, in hexadecimal. Where no spans are made a call still belongs to
/// the trace of its caller.
pub(super) fn current_ids() -> Option<(String, Option<String>)> {
    Context::map_current(|context| {
        let span = context.span();
        let span = span.span_context();
        let own = (!span.is_remote()).then(|| span.span_id().to_string());
        span.is_valid().then(|| (span.trace_id().to_string(), own))
    })
}

/// The work, belonging to the trace that is current here wherever it runs.
pub fn carried<F: Future>(work: F) -> impl Future<Output = F::Output> {
    work.with_current_context()
}

/// A span that is recorded somewhere, as others refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    trace: TraceId,
    span: SpanId,
}

impl Origin {
    /// The span that is current here, if it is recorded.
    pub fn current() -> Option<Self> {
        Context::map_current(|context| {
            let span = context.span();
            let span = span.span_context();
            let recorded = span.is_valid() && span.is_sampled() && !span.is_remote();
            recorded.then(|| Self { trace: span.trace_id(), span: span.span_id() })
        })
    }

    pub(super) fn span_context(self) -> SpanContext {
        SpanContext::new(self.trace, self.span, TraceFlags::SAMPLED, true, TraceState::NONE)
    }
}

/// Which span caused which version of a game: what a hint carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What the change resulted in.
    pub version: Version,
    /// The change's span.
    pub origin: Origin,
}

impl Cause {
    /// The span that is current here, as the cause of `version`; none if it is not recorded.
    pub fn current(version: Version) -> Option<Self> {
        Origin::current().map(|origin| Self { version, origin })
    }

    /// For other replicas: a byte for the form, trace, span, revision, digest.
    pub fn to_bytes(self) -> Vec<u8> {
        let Self { version: Version { revision, digest }, origin: Origin { trace, span } } = self;
        let mut bytes = vec![FORM];
        bytes.extend(trace.to_bytes());
        bytes.extend(span.to_bytes());
        bytes.extend(revision.to_be_bytes());
        bytes.extend(digest.to_be_bytes());
        bytes
    }

    /// What another replica sent; none if it sent nothing, or in a form that is not known here.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&form, rest) = bytes.split_first()?;
        let (trace, rest) = rest.split_first_chunk()?;
        let (span, rest) = rest.split_first_chunk()?;
        let (revision, digest) = rest.split_first_chunk()?;
        let revision = u64::from_be_bytes(*revision);
        let version = Version { revision, digest: u64::from_be_bytes(digest.try_into().ok()?) };
        let (trace, span) = (TraceId::from_bytes(*trace), SpanId::from_bytes(*span));
        let known = form == FORM && trace != TraceId::INVALID && span != SpanId::INVALID;
        known.then_some(Self { version, origin: Origin { trace, span } })
    }
}

/// The first form of a cause's bytes.
const FORM: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn cause() -> Cause {
        let trace = TraceId::from_bytes(std::array::from_fn(|at| at as u8 + 1));
        let origin = Origin { trace, span: SpanId::from_bytes([7; 8]) };
        Cause { version: Version { revision: 61, digest: u64::MAX - 1 }, origin }
    }

    #[test]
    fn a_cause_crosses_as_41_bytes_and_anything_else_is_none() {
        let bytes = cause().to_bytes();
        assert_eq!(bytes.len(), 41);
        assert_eq!(Cause::from_bytes(&bytes), Some(cause()));
        for length in 0..41 {
            assert_eq!(Cause::from_bytes(&bytes[..length]), None);
        }
        assert_eq!(Cause::from_bytes(&[&bytes[..], &[0]].concat()), None, "a longer form");
        assert_eq!(Cause::from_bytes(&[0; 41]), None, "no ids");
        let newer = [&[2], &bytes[1..]].concat();
        assert_eq!(Cause::from_bytes(&newer), None, "a newer form");
    }
}
