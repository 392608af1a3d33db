//! The life of the process: settings, build, announce, serve, drain, say how it ended.

use std::{process::ExitCode, time::Duration};

use clap::Parser as _;
use reversid::{
    app::{App, Ended, health},
    build_info,
    settings::{Command, Flags, Health, Settings},
    telemetry,
};
use tokio::{
    runtime::Handle,
    signal::unix::{Signal, SignalKind, signal},
    task::spawn_blocking,
};

/// Exit codes; `--help` tells them.
const FAILED: u8 = 1;
const CUT_OFF: u8 = 2;
const BAD_SETTINGS: u8 = 64;
const SECOND_SIGNAL: i32 = 130;

/// How long a blocking task may hold up the exit.
const RUNTIME_END: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { BAD_SETTINGS } else { 0 });
        }
    };
    if let Some(Command::Health(health)) = &flags.command {
        return ask(health);
    }
    let settings = match flags.check() {
        Ok(settings) => settings,
        Err(faults) => {
            for fault in faults {
                eprintln!("reversid: {fault}");
            }
            eprintln!("reversid: --help explains every setting");
            return ExitCode::from(BAD_SETTINGS);
        }
    };
    telemetry::log(&settings.log, settings.log_format);

    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime did not start: {error}"))
        .and_then(|runtime| {
            let ended = runtime.block_on(live(settings));
            runtime.shutdown_timeout(RUNTIME_END);
            ended
        });
    match ended {
        Ok(Ended::Drained) => {
            tracing::info!("drained");
            ExitCode::SUCCESS
        }
        Ok(Ended::CutOff) => {
            tracing::warn!("the drain timeout cut calls off");
            ExitCode::from(CUT_OFF)
        }
        Err(error) => {
            // In the form of the log, unless that is told nothing.
            tracing::error!("{error}");
            if !tracing::enabled!(tracing::Level::ERROR) {
                eprintln!("reversid: {error}");
            }
            ExitCode::from(FAILED)
        }
    }
}

/// The life of the process that asks another one.
fn ask(asked: &Health) -> ExitCode {
    let answer = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime did not start: {error}"))
        .and_then(|runtime| runtime.block_on(health::ask(asked.address, asked.live)));
    match answer {
        Ok(answer) => {
            println!("reversid: {answer}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("reversid: {problem}");
            ExitCode::from(FAILED)
        }
    }
}

async fn live(settings: Settings) -> Result<Ended, String> {
    let mut signals = Signals::install().map_err(|error| format!("no signals: {error}"))?;
    let store = settings.store.to_string();
    let drain_timeout = settings.drain_timeout;
    tracing::info!(version = build_info::VERSION, commit = build_info::COMMIT, store, "reversid");
    // On a thread of its own: after a crash all of a file is checked, which may take minutes.
    let runtime = Handle::current();
    let building = spawn_blocking(move || runtime.block_on(App::build(settings)));
    let app = tokio::select! {
        built = building => built.map_err(|error| format!("it was not built: {error}"))??,
        () = signals.next() => {
            tracing::info!("ended before it was ready");
            return Ok(Ended::Drained);
        }
    };
    tracing::info!("listening on {}", app.address());
    if let Some(address) = app.admin_address() {
        tracing::info!("metrics at http://{address}/metrics");
    }
    app.run(async move {
        signals.next().await;
        tracing::info!(?drain_timeout, "draining; a second signal exits at once");
        tokio::spawn(async move {
            signals.next().await;
            tracing::warn!("second signal, exiting at once");
            std::process::exit(SECOND_SIGNAL);
        });
    })
    .await
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn install() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
