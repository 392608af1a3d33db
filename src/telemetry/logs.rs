//! The log: one event a line, as text or as JSON, with the ids of the trace that it belongs to.
//!
//! Whatever others wrote stays inside its value: a character that could begin a line, steer a terminal or turn the reading
//! direction is written as an escape, in both formats.

use std::{
    error::Error,
    fmt::{self, Write as _},
    str::FromStr,
    time::SystemTime,
};

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap as _, SerializeStruct as _},
};
use serde_json::Value;
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    EnvFilter,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    registry::LookupSpan,
};

use super::context;

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people: time, level, target, message, `key=value`.
    Text,
    /// For machines: one object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(format!("{text:?} is no format: write text or json")),
        }
    }
}

/// Sends what passes `filter` to standard error from here on, once a process.
pub fn log(filter: &str, format: LogFormat) {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .event_format(format)
        .init();
}

impl<S, N> FormatEvent<S, N> for LogFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let line = Line::of(event);
        let shown = match self {
            Self::Text => line.text(),
            Self::Json => harmless(&serde_json::to_string(&line).map_err(|_| fmt::Error)?),
        };
        writeln!(writer, "{shown}")
    }
}

/// An event, taken apart.
struct Line {
    time: String,
    level: &'static str,
    target: &'static str,
    message: String,
    fields: Vec<(&'static str, Value)>,
    /// Of the trace and the span.
    ids: Option<(String, Option<String>)>,
}

impl Line {
    fn of(event: &Event<'_>) -> Self {
        let metadata = event.metadata();
        let mut line = Self {
            time: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
            level: level(metadata),
            target: metadata.target(),
            message: String::new(),
            fields: Vec::new(),
            ids: context::current_ids(),
        };
        event.record(&mut line);
        // Libraries name some events in place of a message.
        if line.message.is_empty() {
            line.message = metadata.name().into();
        }
        line
    }

    fn text(&self) -> String {
        let Self { time, level, target, message, .. } = self;
        let mut text = format!("{time} {level:>5} {target}: {}", harmless(message));
        let ids = self.ids.iter().flat_map(|(trace, span)| {
            let span = span.iter().map(|span| ("span_id", span));
            std::iter::once(("trace_id", trace)).chain(span)
        });
        let ids = ids.map(|(name, id)| (name, Value::from(id.as_str())));
        for (name, value) in self.fields.iter().cloned().chain(ids) {
            let plain = value.as_str().filter(|text| is_plain(text)).map(str::to_owned);
            let shown = plain.unwrap_or_else(|| harmless(&value.to_string()));
            // Writing to a string does not fail.
            let _ = write!(text, " {name}={shown}");
        }
        text
    }
}

/// The level of an event. What OpenTelemetry's libraries call an error is a collector that is away, and no fault of ours.
fn level(metadata: &Metadata<'_>) -> &'static str {
    match *metadata.level() {
        Level::ERROR if metadata.target().starts_with("opentelemetry") => Level::WARN.as_str(),
        level => level.as_str(),
    }
}

/// Whether a value of a text line needs no quotes.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/+@".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// The text with every character that could act on a terminal, or end a line, as JSON escapes it. In JSON that is encoded
/// already such characters can only stand in strings.
fn harmless(text: &str) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            _ if acts(c) => {
                let _ = write!(shown, "\\u{:04x}", u32::from(c));
            }
            _ => shown.push(c),
        }
    }
    shown
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message = value.into(),
            name => self.fields.push((name, value.into())),
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.record_str(field, &crate::error::chain(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.fields.push((field.name(), value.into()));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.fields.push((field.name(), value.into()));
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Line", 7)?;
        object.serialize_field("time", &self.time)?;
        object.serialize_field("level", self.level)?;
        object.serialize_field("target", self.target)?;
        object.serialize_field("message", &self.message)?;
        object.serialize_field("fields", &Fields(&self.fields))?;
        if let Some((trace, span)) = &self.ids {
            object.serialize_field("trace_id", trace)?;
            if let Some(span) = span {
                object.serialize_field("span_id", span)?;
            }
        }
        object.end()
    }
}

struct Fields<'a>(&'a [(&'static str, Value)]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            object.serialize_entry(name, value)?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// What is written by events under a format.
    fn written(format: LogFormat, events: impl FnOnce()) -> String {
        #[derive(Clone, Default)]
        struct Written(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Written {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().expect("no panic").write(bytes)
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let written = Written::default();
        let writer = written.clone();
        let subscriber = tracing_subscriber::fmt()
            .event_format(format)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, events);
        let bytes = written.0.lock().expect("no panic").clone();
        String::from_utf8(bytes).expect("UTF-8")
    }

    /// A new line, a terminal's escape in both of its forms, separators, a turn of direction, and quotes to break out.
    const HOSTILE: &str = "a\nb\r\u{1b}[31m\u{9b}2J\u{2028}\u{85}\u{202e}\t\0\u{7f}\" x=1 \\";

    fn hostile() {
        tracing::info!(id = HOSTILE, debug = ?HOSTILE, shown = %HOSTILE, number = 7, "{HOSTILE}");
    }

    #[test]
    fn whatever_is_logged_stays_one_line_and_plain_characters() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let line = written(format, hostile);
            let line = line.strip_suffix('\n').expect("a whole line");
            let acts = |c: char| c.is_control() || "\u{2028}\u{202e}".contains(c);
            assert!(!line.contains(acts), "{line:?}");
        }
    }

    #[test]
    fn json_gives_back_what_was_logged() {
        let line: Value = serde_json::from_str(&written(LogFormat::Json, hostile)).expect("JSON");
        assert_eq!(line["message"], HOSTILE);
        assert_eq!(line["fields"]["id"], HOSTILE);
        assert_eq!(line["fields"]["number"], 7);
        assert_eq!((&line["level"], &line["target"]), (&"INFO".into(), &module_path!().into()));
        let time = line["time"].as_str().expect("a time");
        assert!(humantime::parse_rfc3339(time).is_ok(), "{time}");
        assert_eq!(line.get("trace_id"), None, "outside of a span there are no ids");
    }

    #[test]
    fn text_keeps_plain_values_plain_and_quotes_the_others() {
        let events = || tracing::warn!(plain = "file:x/y.redb", spaced = "a b=c", "said");
        let line = written(LogFormat::Text, events);
        let (time, rest) = line.split_once(' ').expect("a time first");
        assert!(humantime::parse_rfc3339(time).is_ok(), "{time}");
        assert_eq!(
            rest,
            format!(" WARN {}: said plain=file:x/y.redb spaced=\"a b=c\"\n", module_path!())
        );
    }

    #[test]
    fn a_collector_that_is_away_is_no_error() {
        let events = || tracing::error!(target: "opentelemetry_sdk", "away");
        let line = written(LogFormat::Text, events);
        assert!(line.contains(" WARN opentelemetry_sdk: away"), "{line}");
    }

    #[test]
    fn an_error_is_logged_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("the outer")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("the inner"));
        let error: &(dyn Error + 'static) = &error;
        let line = written(LogFormat::Text, || tracing::error!(error, "failed"));
        assert!(line.ends_with("error=\"the outer: the inner\"\n"), "{line}");
    }
}
