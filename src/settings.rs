//! Settings: from flags and `REVERSID_*` variables under the same names, every bad one reported at once.

use std::{fs, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, Parser, Subcommand};

use crate::{
    build_info, events::WatchSettings, model::Lifetimes, store::StoreUrl, telemetry::LogFormat,
};

/// A game-state service for Reversi and its variants, over gRPC.
///
/// Backends create games and make moves, clients in any language watch them live; gRPC, gRPC-Web, health and reflection
/// answer on one port. Without any flag it keeps its games in reversi.redb in this folder:
///
///   reversid
///
/// Then play a game against it in another terminal:
///
///   reversictl demo
///
/// SIGTERM or ctrl-c drains: health says NOT_SERVING, watches end with SERVER_DRAINING, calls in flight finish. A second
/// signal exits at once. Exit codes: 0 after a drain, 1 when it could not start or serve, 2 when calls were cut off by the drain
/// timeout, 64 for bad settings, 130 after a second signal.
///
/// Times are written as 500ms, 20s, 15m, 12h or 30d.
#[derive(Parser, Clone, Debug)]
#[command(
    name = "reversid",
    version,
    long_version = build_info::LONG_VERSION,
    verbatim_doc_comment,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub struct Flags {
    /// What to do in place of serving.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Where to listen: ADDRESS:PORT. Port 0 takes a free one, which the log announces.
    #[arg(long, env = "REVERSID_LISTEN", default_value = LISTEN, value_name = "ADDR")]
    listen: String,

    /// Where games live: file:PATH (one process, survives kill -9), redis://HOST:PORT, redis-sentinel://HOST:PORT,…/NAME or
    /// redis-cluster://HOST:PORT,… (shared by replicas; rediss… for TLS) or memory: (gone with the process).
    #[arg(long, env = "REVERSID_STORE", default_value = "file:reversi.redb", value_name = "URL")]
    store: String,

    /// A file of certificates, as PEM, that Redis by TLS is trusted by in place of the system's.
    #[arg(long, env = "REVERSID_REDIS_CA", value_name = "FILE")]
    redis_ca: Option<PathBuf>,

    /// When a change is acknowledged: once it is in the store (local), or once every replica of Redis has it that is not
    /// down (replicated).
    #[arg(long, env = "REVERSID_DURABILITY", default_value = "local", value_name = "LEVEL")]
    durability: String,

    /// How long a game is kept after its last change while it is not finished, and a layout after its last use.
    #[arg(long, env = "REVERSID_IDLE_TTL", default_value = "30d", value_name = "TIME")]
    idle_ttl: String,

    /// How long a finished game is kept.
    #[arg(long, env = "REVERSID_FINISHED_TTL", default_value = "90d", value_name = "TIME")]
    finished_ttl: String,

    /// How often what has expired is removed. It is gone for readers at once; this frees its space.
    #[arg(long, env = "REVERSID_SWEEP_INTERVAL", default_value = "1m", value_name = "TIME")]
    sweep_interval: String,

    /// How long a drain waits for calls in flight before it cuts them off.
    #[arg(long, env = "REVERSID_DRAIN_TIMEOUT", default_value = "20s", value_name = "TIME")]
    drain_timeout: String,

    /// How many unary calls may be in flight; more are refused with LIMIT_REACHED (calls_in_flight).
    #[arg(long, env = "REVERSID_MAX_IN_FLIGHT", default_value = "1024", value_name = "N")]
    max_in_flight: String,

    /// How many connections may be open; more wait to be accepted.
    #[arg(long, env = "REVERSID_MAX_CONNECTIONS", default_value = "10000", value_name = "N")]
    max_connections: String,

    /// How many watches may be open; more are refused with LIMIT_REACHED (watches).
    #[arg(long, env = "REVERSID_MAX_WATCHES", default_value = "10000", value_name = "N")]
    max_watches: String,

    /// How long a watcher may take nothing while data is pending before it ends with WATCHER_TOO_SLOW.
    #[arg(long, env = "REVERSID_WATCH_STALL", default_value = "30s", value_name = "TIME")]
    watch_stall: String,

    /// How long a watch is idle before a heartbeat, give or take a tenth.
    #[arg(long, env = "REVERSID_WATCH_HEARTBEAT", default_value = "15s", value_name = "TIME")]
    watch_heartbeat: String,

    /// How long a watch lasts before it ends with STREAM_LIFETIME_REACHED, give or take a tenth.
    #[arg(long, env = "REVERSID_WATCH_LIFETIME", default_value = "1h", value_name = "TIME")]
    watch_lifetime: String,

    /// How often a watched game is read again without a hint that it changed, give or take a tenth.
    #[arg(long, env = "REVERSID_WATCH_POLL", default_value = "1s", value_name = "TIME")]
    watch_poll: String,

    /// What to log, as level or target=level, comma-separated: error, warn, info, debug, trace.
    #[arg(long, env = "REVERSID_LOG", default_value = LOG, value_name = "FILTER")]
    log: String,

    /// How the log is written: text, or json with one object a line.
    #[arg(long, env = "REVERSID_LOG_FORMAT", default_value = "text", value_name = "FORMAT")]
    log_format: String,

    /// Where to send traces and metrics, by OTLP over gRPC, such as http://collector:4317. Without it the variable
    /// OTEL_EXPORTER_OTLP_ENDPOINT counts; without both nothing is sent. The SDK's other OTEL_ variables count too.
    #[arg(long, env = "REVERSID_OTLP_ENDPOINT", value_name = "URL")]
    otlp_endpoint: Option<String>,

    /// Where to serve operators over HTTP: metrics at /metrics in the Prometheus text format, a backup of a file at /backup;
    /// and health by gRPC, also while --max-connections are open. ADDRESS:PORT. Not served without it.
    #[arg(long, env = "REVERSID_ADMIN_LISTEN", value_name = "ADDR")]
    admin_listen: Option<String>,
}

/// What the binary does beside serving.
#[derive(Subcommand, Clone, Debug)]
pub enum Command {
    /// Asks a running server whether it is well: exit code 0 if it is, else 1 and a line that says why; 64 for bad settings.
    ///
    /// It is well when its store can do its part, so that calls are welcome. It is not when it drains.
    Health(Health),
}

/// Which server to ask, and what.
#[derive(Args, Clone, Debug)]
pub struct Health {
    /// Where it listens: ADDRESS:PORT. One that stands for every address, such as 0.0.0.0, is asked on this machine.
    #[arg(long, env = "REVERSID_LISTEN", default_value = LISTEN, value_name = "ADDR")]
    pub address: SocketAddr,

    /// Ask whether the process lives, whatever its store does.
    #[arg(long)]
    pub live: bool,
}

/// What is logged unless told otherwise.
const LOG: &str = "info";

/// Where the server listens unless told otherwise.
const LISTEN: &str = "127.0.0.1:7420";

/// The settings, each sound.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where games live.
    pub store: StoreUrl,
    /// How long they are kept.
    pub lifetimes: Lifetimes,
    /// How often what has expired is removed.
    pub sweep_interval: Duration,
    /// How long a drain waits.
    pub drain_timeout: Duration,
    /// How many unary calls may be in flight.
    pub max_in_flight: usize,
    /// How many connections may be open.
    pub max_connections: usize,
    /// The bounds of a watch.
    pub watch: WatchSettings,
    /// How often a watched game is read without a hint.
    pub watch_poll: Duration,
    /// What to log.
    pub log: String,
    /// How the log is written.
    pub log_format: LogFormat,
    /// Where traces and metrics are sent.
    pub otlp_endpoint: Option<String>,
    /// Where metrics are served.
    pub admin_listen: Option<SocketAddr>,
}

/// Reads values one after the other and keeps what is wrong with each.
struct Reader {
    faults: Vec<String>,
}

impl Reader {
    fn value<T: Clone>(&mut self, flag: &str, read: Result<T, String>, in_place: T) -> T {
        read.unwrap_or_else(|problem| {
            let variable = flag.replace('-', "_").to_uppercase();
            self.faults.push(format!("--{flag} (REVERSID_{variable}): {problem}"));
            in_place
        })
    }

    fn time(&mut self, flag: &str, text: &str) -> Duration {
        let read = match humantime::parse_duration(text) {
            Ok(time) if time < MIN_TIME => Err("must be at least 1ms".into()),
            Ok(time) if time > MAX_TIME => Err("must be at most 100 years".into()),
            Ok(time) => Ok(time),
            Err(_) => Err(format!("{text:?} is no time: write 500ms, 20s, 15m, 12h or 30d")),
        };
        self.value(flag, read, MIN_TIME)
    }

    fn address(&mut self, flag: &str, text: &str) -> SocketAddr {
        let read = text.parse().map_err(|_| {
            format!("{text:?} is no ADDRESS:PORT, such as 127.0.0.1:7420 or 0.0.0.0:7420")
        });
        self.value(flag, read, SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// The collector's URL: what was given for it, or else the SDK's own variable.
    fn endpoint(&mut self, given_url: Option<String>) -> Option<String> {
        let problem = |url: &str| match url.contains('@') {
            // Not shown: it may be a password.
            true => "a collector's URL has no user and no password".to_owned(),
            false => format!("{url:?} is no http://HOST:PORT of a collector"),
        };
        if let Some(url) = given_url {
            let read = if is_endpoint(&url) { Ok(url) } else { Err(problem(&url)) };
            return Some(self.value("otlp-endpoint", read, String::new()));
        }
        let url = given(&std::env::var(OTLP_ENDPOINT).ok())?;
        if !is_endpoint(&url) {
            self.faults.push(format!("{OTLP_ENDPOINT}: {}", problem(&url)));
        }
        Some(url)
    }

    fn number(&mut self, flag: &str, text: &str) -> usize {
        let read = match usize::from_str(text) {
            Ok(number) if (1..=MAX_NUMBER).contains(&number) => Ok(number),
            _ => Err(format!("{text:?} is no number from 1 to {MAX_NUMBER}")),
        };
        self.value(flag, read, 1)
    }
}

/// What was given and is not blank, as a variable is that somebody passes on unset.
fn given(text: &Option<String>) -> Option<String> {
    text.clone().filter(|text| !text.is_empty())
}

/// The variable that every program with this SDK takes its collector from.
const OTLP_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Whether a collector can be there. Over TLS none can: one beside the server passes on to it. It is told no password, which
/// a log would have.
fn is_endpoint(url: &str) -> bool {
    let uri = http::Uri::try_from(url).ok().filter(|uri| uri.scheme_str() == Some("http"));
    let authority = uri.as_ref().and_then(http::Uri::authority);
    authority.is_some_and(|authority| {
        let host = authority.host();
        // A port that is none is not told as one; nor does it begin with the host where a user comes first.
        let rest = authority.as_str().strip_prefix(host).filter(|_| !host.is_empty());
        let is_port =
            |port: &str| port.strip_prefix(':').is_some_and(|it| it.parse::<u16>().is_ok());
        rest.is_some_and(|rest| rest.is_empty() || is_port(rest))
    })
}

const MIN_TIME: Duration = Duration::from_millis(1);
const MAX_TIME: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
const MAX_NUMBER: usize = 1_000_000;

impl Flags {
    /// Checks every setting.
    ///
    /// # Errors
    ///
    /// A line for each bad one, for people.
    pub fn check(&self) -> Result<Settings, Vec<String>> {
        let mut reader = Reader { faults: Vec::new() };
        let log = if self.log.is_empty() { LOG } else { &self.log };
        let filter = tracing_subscriber::EnvFilter::try_new(log).map(|_| log.to_owned());
        let filter = filter.map_err(|error| format!("{log:?} is no filter: {error}"));
        let settings = Settings {
            listen: reader.address("listen", &self.listen),
            store: self.store(&mut reader),
            lifetimes: Lifetimes {
                idle: reader.time("idle-ttl", &self.idle_ttl),
                finished: reader.time("finished-ttl", &self.finished_ttl),
            },
            sweep_interval: reader.time("sweep-interval", &self.sweep_interval),
            drain_timeout: reader.time("drain-timeout", &self.drain_timeout),
            max_in_flight: reader.number("max-in-flight", &self.max_in_flight),
            max_connections: reader.number("max-connections", &self.max_connections),
            watch: WatchSettings {
                max: reader.number("max-watches", &self.max_watches),
                stall: reader.time("watch-stall", &self.watch_stall),
                heartbeat: reader.time("watch-heartbeat", &self.watch_heartbeat),
                lifetime: reader.time("watch-lifetime", &self.watch_lifetime),
            },
            watch_poll: reader.time("watch-poll", &self.watch_poll),
            log: reader.value("log", filter, String::new()),
            log_format: reader.value("log-format", self.log_format.parse(), LogFormat::Text),
            otlp_endpoint: reader.endpoint(given(&self.otlp_endpoint)),
            admin_listen: given(&self.admin_listen)
                .map(|address| reader.address("admin-listen", &address)),
        };
        if reader.faults.is_empty() { Ok(settings) } else { Err(reader.faults) }
    }

    fn store(&self, reader: &mut Reader) -> StoreUrl {
        let parsed = StoreUrl::parse(&self.store);
        let sound = parsed.is_ok();
        let mut store = reader.value("store", parsed, StoreUrl::Memory);
        // What goes with the store is judged by the store that was meant.
        if let Some(path) = &self.redis_ca {
            let read = fs::read(path)
                .map_err(|error| format!("{} cannot be read: {error}", path.display()));
            store = match read {
                Ok(pem) if sound => reader.value("redis-ca", store.clone().trusting(pem), store),
                Ok(_) => store,
                Err(problem) => reader.value("redis-ca", Err(problem), store),
            };
        }
        match self.durability.as_str() {
            "local" => store,
            "replicated" if sound => reader.value("durability", store.clone().replicated(), store),
            "replicated" => store,
            other => {
                let problem = format!("{other:?} is neither local nor replicated");
                reader.value("durability", Err(problem), store)
            }
        }
    }
}
