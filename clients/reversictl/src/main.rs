//! `reversictl`: plays, watches and checks games on a reversid server from a terminal or a script.
//!
//! Flags (`args`) become one command (`commands`), which calls the server over one connection (`connect`, `retry`, `follow`)
//! and says its results through `output`: as JSON (`json`), or as text (`view`, `render`, `words`), in which nothing that others
//! wrote can steer the terminal (`escape`). What goes wrong is told in `errors`.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test panics to fail"))]
#![allow(missing_docs, reason = "a program's items are no interface; what needs a word has one")]

mod args;
mod commands;
mod connect;
mod errors;
mod escape;
mod follow;
mod json;
mod output;
mod random;
mod render;
mod retry;
mod rules_args;
mod style;
mod values;
mod verify;
mod view;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::Cli;
use crate::errors::{Context, Failure};
use crate::output::Output;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(problem) if problem.use_stderr() && std::env::args().any(|arg| arg == "--json") => {
            let failure = Failure::Usage(problem.render().to_string());
            eprintln!("{}", failure.json(Context::default()).unwrap_or_default());
            return failure.exit_code();
        }
        Err(asked_or_wrong) => asked_or_wrong.exit(),
    };
    let output = Output::new(&cli.global);
    let server = cli.global.server.clone();
    let game_id = cli.command.game_id().map(str::to_owned);
    let request_id = cli.command.request_id().map(str::to_owned);
    let Err(failure) = commands::run(cli, output).await else { return ExitCode::SUCCESS };
    let context =
        Context { server: &server, game_id: game_id.as_deref(), request_id: request_id.as_deref() };
    report(&failure, output, context);
    failure.exit_code()
}

/// Tells a failure on standard error.
fn report(failure: &Failure, output: Output, context: Context<'_>) {
    let told = if output.json {
        failure.json(context).map(|error| escape::json(&error.to_string()))
    } else {
        Some(failure.text(context)).filter(|text| !text.is_empty())
    };
    if let Some(told) = told {
        eprintln!("{told}");
    }
}
