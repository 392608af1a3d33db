//! What can go wrong, how it is said, and what to do next.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use reversi_proto::code_name;
use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

use crate::escape;
use crate::retry::is_unanswered;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// A server answered, and refused.
    Refused(Box<Status>),
    /// No server answered, or none that could. `sent`: it may have got the request nevertheless.
    NoAnswer { status: Box<Status>, sent: bool },
    /// The command line asks for something that cannot be.
    Usage(String),
    /// A history did not hold; the faults are told already.
    DoesNotHold,
    /// The result could not be written.
    Output(io::Error),
}

/// What a failure's text may refer to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// Where the server was looked for.
    pub server: &'a str,
    /// The game that the command is about.
    pub game_id: Option<&'a str>,
    /// What makes the call safe to repeat.
    pub request_id: Option<&'a str>,
}

impl Failure {
    /// Tells a refusal from a call that nobody answered; `sent` says whether a server may have got the request.
    pub fn of(fault: Status, sent: bool) -> Self {
        if is_unanswered(&fault) {
            Self::NoAnswer { status: Box::new(fault), sent }
        } else {
            Self::Refused(Box::new(fault))
        }
    }

    /// The code that the program ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Refused(_) => ExitCode::from(1),
            Self::Usage(_) => ExitCode::from(2),
            Self::NoAnswer { .. } => ExitCode::from(3),
            Self::DoesNotHold => ExitCode::from(4),
            // Whoever reads has what it wanted, as with `reversictl watch | head`.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Output(_) => ExitCode::from(1),
        }
    }

    /// What happened and what to do next, over several lines; empty when nothing is left to tell.
    pub fn text(&self, context: Context<'_>) -> String {
        match self {
            Self::Refused(status) => refusal_text(status, context),
            Self::NoAnswer { status, sent } => no_answer_text(status, *sent, context),
            Self::Usage(problem) => format!("error: {problem}"),
            Self::DoesNotHold => String::new(),
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => String::new(),
            Self::Output(error) => format!("error: cannot write the result: {error}"),
        }
    }

    /// The same for programs: `{"error": {code, reason, message, metadata, fields, next}}`.
    pub fn json(&self, context: Context<'_>) -> Option<Value> {
        let (code, reason, message, details) = match self {
            Self::Refused(status) | Self::NoAnswer { status, .. } => {
                let details = status.get_error_details();
                let reason = details.error_info().map(|info| info.reason.clone());
                let message = chain(status);
                (code_name(status.code()), reason.unwrap_or_default(), message, Some(details))
            }
            Self::Usage(problem) => ("USAGE", String::new(), problem.clone(), None),
            Self::Output(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                ("OUTPUT", String::new(), error.to_string(), None)
            }
            Self::DoesNotHold | Self::Output(_) => return None,
        };
        let details = details.unwrap_or_default();
        let metadata = details.error_info().map(|info| json!(info.metadata));
        let fields: Vec<_> = violations(&details)
            .map(|(field, problem)| json!({ "field": field, "problem": problem }))
            .collect();
        Some(json!({ "error": {
            "code": code,
            "reason": reason,
            "message": message,
            "metadata": metadata.unwrap_or_else(|| json!({})),
            "fields": fields,
            "next": match self {
                Self::Refused(status) => next_step(status, &details, context),
                Self::NoAnswer { status, sent } => after_no_answer(status, *sent, context),
                Self::Usage(_) | Self::DoesNotHold | Self::Output(_) => String::new(),
            },
        }}))
    }
}

fn violations(details: &ErrorDetails) -> impl Iterator<Item = (&str, &str)> {
    details
        .bad_request()
        .into_iter()
        .flat_map(|bad| &bad.field_violations)
        .map(|violation| (violation.field.as_str(), violation.description.as_str()))
}

fn refusal_text(status: &Status, context: Context<'_>) -> String {
    let details = status.get_error_details();
    let reason = details.error_info().map_or(code_name(status.code()), |info| &info.reason);
    let faults: Vec<_> = violations(&details)
        .map(|(field, problem)| match field {
            "" => problem.to_owned(),
            field => format!("{field}: {problem}"),
        })
        .collect();
    // A message that only repeats one of them adds nothing.
    let repeats = faults.iter().any(|fault| status.message().contains(fault));
    let message = if repeats { "the request is not valid" } else { status.message() };
    let mut text = format!("error: {} ({})", escape::text(message), escape::text(reason));
    for fault in faults {
        let _ = write!(text, "\n  {}", escape::text(&fault));
    }
    let next = next_step(status, &details, context);
    if !next.is_empty() {
        let _ = write!(text, "\n{next}");
    }
    text
}

/// What helps against a refusal. Quotes the server's metadata only escaped.
fn next_step(status: &Status, details: &ErrorDetails, context: Context<'_>) -> String {
    let game = escape::text(context.game_id.unwrap_or("GAME"));
    let reason = details.error_info().map_or("", |info| info.reason.as_str());
    let known = |key: &str| {
        let value = details.error_info().and_then(|info| info.metadata.get(key));
        value.map(|value| escape::text(value)).unwrap_or_default()
    };
    match reason {
        "GAME_NOT_FOUND" => {
            "A game is gone once it is deleted or expired. See which there are: reversictl list"
                .to_owned()
        }
        "LAYOUT_NOT_FOUND" => {
            "Draw one: reversictl layout create; or name the squares: --blocked a1,c8".to_owned()
        }
        "TOKEN_MISSING" => {
            "Give the token that create or join showed: REVERSICTL_TOKEN=… or --token".to_owned()
        }
        "TOKEN_INVALID" => format!(
            "Create and join showed a token for each seat of {game}, and create one for its owner: is it \
             the right one for this?"
        ),
        "REQUEST_ID_REUSED" => "Leave --request-id out for a new command".to_owned(),
        "VERSION_MISMATCH" => format!(
            "The game is at revision {} now. Look again: reversictl show {game}",
            known("current_revision")
        ),
        "NO_OPEN_SEAT" => format!("Watch it: reversictl watch {game}"),
        "SEAT_TAKEN" => format!("Take the next open one: reversictl join {game}"),
        "GAME_NOT_STARTED" => format!("Fill the open seats: reversictl join {game}"),
        "GAME_FINISHED" | "SEAT_RESIGNED" => {
            format!("See how it stands: reversictl show {game}")
        }
        "NOT_YOUR_TURN" => {
            let color = known("to_move").trim_start_matches("COLOR_").to_lowercase();
            format!("It is {color}'s turn. Wait for it: reversictl watch {game}")
        }
        "ILLEGAL_MOVE" => format!("Legal moves now: {}", known("legal_moves").replace(',', " ")),
        "LIMIT_REACHED" => {
            format!("The limit {} is reached; try later or send less", known("limit"))
        }
        "INVALID_FIELD" => String::new(),
        _ => match status.code() {
            Code::Unimplemented => {
                "This server does not know the call: is --server a reversid of this version?"
                    .to_owned()
            }
            Code::Internal | Code::Unknown | Code::DataLoss => {
                "This is a fault of the server; its log tells the cause".to_owned()
            }
            _ => String::new(),
        },
    }
}

fn no_answer_text(status: &Status, sent: bool, context: Context<'_>) -> String {
    let server = escape::text(context.server);
    let what = match status.code() {
        Code::DeadlineExceeded => "no answer in time from",
        _ if status.source().is_some() => "cannot reach a server at",
        _ => "not available:",
    };
    let next = after_no_answer(status, sent, context);
    format!("error: {what} {server}: {}\n{next}", escape::text(&chain(status)))
}

fn after_no_answer(status: &Status, sent: bool, context: Context<'_>) -> String {
    let mut next = if status.source().is_some() {
        "Start a server: cargo run --release; or name another: --server URL or REVERSICTL_SERVER"
    } else {
        "Try again, with a longer --timeout if it is slow"
    }
    .to_owned();
    if let Some(id) = context.request_id.filter(|_| sent) {
        let _ = write!(
            next,
            "\nWhether the change was made is not known. Repeat the same command to find out, safely, with --request-id {}",
            escape::text(id)
        );
    }
    next
}

/// The message with its causes, each said once.
pub fn chain(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = status.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if text.is_empty() {
            text = cause_text;
        } else if cause_text != "transport error" && !text.contains(&cause_text) {
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::FieldViolation;

    use super::*;

    const CONTEXT: Context<'_> = Context {
        server: "http://127.0.0.1:7420",
        game_id: Some("g1"),
        request_id: Some("9f0c3d1e-0000-4000-8000-000000000000"),
    };

    fn refusal(code: Code, reason: &str, metadata: &[(&str, &str)]) -> Failure {
        let metadata = metadata.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let details = ErrorDetails::with_error_info(
            reason,
            "reversi.v1",
            metadata.collect::<HashMap<_, _>>(),
        );
        Failure::of(Status::with_error_details(code, "no", details), true)
    }

    #[test]
    fn every_refusal_of_the_contract_says_what_to_do_next() {
        let reasons = [
            ("GAME_NOT_FOUND", "reversictl list"),
            ("LAYOUT_NOT_FOUND", "reversictl layout create"),
            ("TOKEN_MISSING", "REVERSICTL_TOKEN"),
            ("TOKEN_INVALID", "g1"),
            ("REQUEST_ID_REUSED", "--request-id"),
            ("VERSION_MISMATCH", "revision 7 now. Look again: reversictl show g1"),
            ("NO_OPEN_SEAT", "reversictl watch g1"),
            ("SEAT_TAKEN", "reversictl join g1"),
            ("GAME_NOT_STARTED", "reversictl join g1"),
            ("GAME_FINISHED", "reversictl show g1"),
            ("SEAT_RESIGNED", "reversictl show g1"),
            ("NOT_YOUR_TURN", "It is white's turn"),
            ("ILLEGAL_MOVE", "Legal moves now: d3 c4"),
            ("LIMIT_REACHED", "watches"),
        ];
        let metadata = [
            ("current_revision", "7"),
            ("to_move", "COLOR_WHITE"),
            ("legal_moves", "d3,c4"),
            ("limit", "watches"),
        ];
        for (reason, next) in reasons {
            let failure = refusal(Code::FailedPrecondition, reason, &metadata);
            let text = failure.text(CONTEXT);
            assert!(text.starts_with(&format!("error: no ({reason})\n")), "{text}");
            assert!(text.contains(next), "{text}");
            let json = failure.json(CONTEXT).unwrap();
            assert_eq!(json["error"]["reason"], reason);
            assert_eq!(json["error"]["metadata"]["current_revision"], "7");
            assert!(json["error"]["next"].as_str().unwrap().contains(next));
        }
    }

    #[test]
    fn every_bad_field_is_named() {
        let details = ErrorDetails::with_bad_request(vec![
            FieldViolation::new("rules.players", "takes 2 to 4 players, not 7"),
            FieldViolation::new("rules.board\x1b[2J", "cannot be the 6x6"),
            FieldViolation::new("", "3 more faults are not listed"),
        ]);
        let failure = Failure::of(
            Status::with_error_details(Code::InvalidArgument, "2 fields are wrong", details),
            true,
        );
        assert_eq!(
            failure.text(CONTEXT),
            "error: 2 fields are wrong (INVALID_ARGUMENT)\n  rules.players: takes 2 to 4 players, \
             not 7\n  rules.board\\u{1b}[2J: cannot be the 6x6\n  3 more faults are not listed"
        );
        let json = failure.json(CONTEXT).unwrap();
        assert_eq!(json["error"]["fields"][0]["field"], "rules.players");
        assert_eq!(json["error"]["fields"][1]["problem"], "cannot be the 6x6");
    }

    #[test]
    fn an_unknown_outcome_tells_how_to_repeat_safely_and_only_then() {
        let lost = |sent| Failure::of(Status::unavailable("the store is away"), sent);
        assert!(lost(true).text(CONTEXT).contains("--request-id 9f0c3d1e"));
        assert!(!lost(false).text(CONTEXT).contains("--request-id"));
        let read_only = Context { request_id: None, ..CONTEXT };
        assert!(!lost(true).text(read_only).contains("--request-id"));
    }

    #[test]
    fn a_reader_that_has_enough_is_no_failure() {
        let closed = Failure::Output(io::ErrorKind::BrokenPipe.into());
        assert_eq!(closed.text(CONTEXT), "");
        assert_eq!(closed.json(CONTEXT), None);
        assert_eq!(format!("{:?}", closed.exit_code()), format!("{:?}", ExitCode::SUCCESS));
    }
}
