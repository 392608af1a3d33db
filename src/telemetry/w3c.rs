//! A caller's context, in the headers of W3C Trace Context (level 2): taken strictly, as nobody may continue a trace that he cannot
//! read. The SDK reads much that is none.

use http::{HeaderMap, header::GetAll};
use opentelemetry::{
    Context,
    trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState},
};

/// The header of a context.
pub const TRACEPARENT: &str = "traceparent";

/// The header of what vendors add to it.
const TRACESTATE: &str = "tracestate";

/// A `tracestate` longer than what everybody must pass on is dropped, in bytes; and one of more members than there may be.
const TRACESTATE_MAX: usize = 512;
const MEMBERS_MAX: usize = 32;

/// The context that a caller sent; an empty one without, or if it is malformed.
pub fn received(headers: &HeaderMap) -> Context {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return Context::new() };
    let Some((trace, span, flags)) = parent.to_str().ok().and_then(parent_of) else {
        return Context::new();
    };
    let state = state_of(headers.get_all(TRACESTATE)).unwrap_or(TraceState::NONE);
    Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, true, state))
}

/// The same as a header's value.
pub fn traceparent(span: &SpanContext) -> String {
    format!(
        "00-{}-{}-{:02x}",
        span.trace_id(),
        span.span_id(),
        span.trace_flags() & TraceFlags::SAMPLED
    )
}

/// Trace, span and flags. A later version may have more fields after those of the first.
fn parent_of(value: &str) -> Option<(TraceId, SpanId, TraceFlags)> {
    let mut fields = value.split('-');
    let version = hex(fields.next()?, 2)?;
    let trace = TraceId::from(hex(fields.next()?, 32)?);
    let span = SpanId::from(u64::try_from(hex(fields.next()?, 16)?).ok()?);
    let flags = TraceFlags::new(u8::try_from(hex(fields.next()?, 2)?).ok()?) & TraceFlags::SAMPLED;
    let known = version == 0 && fields.next().is_none() || (1..0xff).contains(&version);
    (known && trace != TraceId::INVALID && span != SpanId::INVALID).then_some((trace, span, flags))
}

/// So many digits, all of them lower case.
fn hex(digits: &str, count: usize) -> Option<u128> {
    let sound = digits.len() == count
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    sound.then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

/// The members of all these headers, in order; none if one of them is malformed.
fn state_of(headers: GetAll<'_, http::HeaderValue>) -> Option<TraceState> {
    let values: Vec<_> =
        headers.iter().map(|value| value.to_str()).collect::<Result<_, _>>().ok()?;
    let joined = values.join(",");
    let members = joined.split(',').map(|member| member.trim_matches([' ', '\t']));
    let members = members.filter(|member| !member.is_empty()).map(|member| member.split_once('='));
    let members: Vec<_> = members.collect::<Option<_>>()?;
    let plain = |(key, value): &(&str, &str)| {
        !key.is_empty()
            && !value.is_empty()
            && value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
    };
    let sound =
        joined.len() <= TRACESTATE_MAX && members.len() <= MEMBERS_MAX && members.iter().all(plain);
    // The rest of the form is checked there.
    sound.then(|| TraceState::from_key_value(members).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn with(parents: &[&str], states: &[&str]) -> SpanContext {
        let mut headers = HeaderMap::new();
        for (name, values) in [(TRACEPARENT, parents), (TRACESTATE, states)] {
            for value in values {
                let value = http::HeaderValue::from_bytes(value.as_bytes()).expect("a value");
                headers.append(name, value);
            }
        }
        received(&headers).span().span_context().clone()
    }

    #[test]
    fn a_sound_context_is_taken() {
        let context = with(&[SENT], &["vendor=1"]);
        assert_eq!(traceparent(&context), SENT);
        assert_eq!(context.trace_state().header(), "vendor=1");
        assert!(context.is_remote());
        assert_eq!(
            traceparent(&with(&[&SENT.replace("-01", "-02")], &[])),
            SENT.replace("-01", "-00")
        );
        for later in ["01", "cc", "fe"] {
            let later = SENT.replacen("00", later, 1);
            assert_eq!(traceparent(&with(&[&later], &[])), SENT, "{later}");
            assert_eq!(
                traceparent(&with(&[&format!("{later}-more-fields")], &[])),
                SENT,
                "{later}"
            );
        }
    }

    #[test]
    fn a_malformed_context_is_none() {
        for malformed in [
            "",
            "00",
            "00-0-0-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-+7ad6b7169203331-01",
            "+0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-+1",
            "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "000-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-B7AD6B7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0A",
            "0A-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0gf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
        ] {
            assert!(!with(&[malformed], &[]).is_valid(), "{malformed:?}");
        }
        assert!(!with(&[], &["vendor=1"]).is_valid());
        assert!(!with(&[SENT, SENT], &[]).is_valid(), "a repeated header");
        assert!(!with(&[&format!("{SENT},{SENT}")], &[]).is_valid(), "the same, joined");
    }

    #[test]
    fn what_vendors_add_is_kept_whole_and_in_order_or_not_at_all() {
        let members = |count: usize| {
            let members: Vec<_> = (0..count).map(|number| format!("k{number}=v")).collect();
            members.join(",")
        };
        let long = format!("vendor={}", "x".repeat(TRACESTATE_MAX));
        let longest = members(MEMBERS_MAX);
        for (sent, kept) in [
            (&["a=1", "b=2,c=3"][..], "a=1,b=2,c=3"),
            (&["a=1 ,\tb=2", "", " , "], "a=1,b=2"),
            (&["tenant@vendor=x y!~", "0_-*/=:"], "tenant@vendor=x y!~,0_-*/=:"),
            (&[&longest], &longest),
            (&[&members(MEMBERS_MAX), "one=more"], ""),
            (&[&long], ""),
            (&["=,=,="], ""),
            (&["a=1", "b"], ""),
            (&["a="], ""),
            (&["=1"], ""),
            (&["a=1=2"], ""),
            (&["A=1"], ""),
            (&["a b=1"], ""),
            (&["a =1"], ""),
            (&["a=\u{e9}"], ""),
            (&["a=1\t2"], ""),
        ] {
            let context = with(&[SENT], sent);
            assert_eq!(traceparent(&context), SENT, "the parent stays: {sent:?}");
            assert_eq!(context.trace_state().header(), kept, "{sent:?}");
        }
    }
}
