//! One `reversid` process on a port of its own, behind a proxy that its clients reach it through.

use std::{
    fs::{self, File, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use reversi_testbed::{Port, Proxy};
use tokio::{
    net::TcpStream,
    process::{Child, Command},
    time::{Instant, sleep, timeout},
};

/// How long a process may take until it listens, and until it has drained.
const START: Duration = Duration::from_secs(20);
const DRAIN: Duration = Duration::from_secs(10);

/// How every replica is started, beside where it listens and what its store is.
const FLAGS: [&str; 10] = [
    "--watch-heartbeat",
    "300ms",
    "--watch-lifetime",
    "20s",
    "--drain-timeout",
    "5s",
    "--max-watches",
    "1000",
    "--log",
    "warn",
];

/// A replica. Killed when dropped.
pub struct Replica {
    program: PathBuf,
    arguments: Vec<String>,
    sabotage: Option<String>,
    port: Port,
    log: PathBuf,
    child: Option<Child>,
    /// Between it and its clients.
    pub proxy: Proxy,
}

impl Replica {
    /// Starts one on the store at `url`, and waits until it listens.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub async fn start(
        program: &Path,
        url: &str,
        more: &[String],
        sabotage: Option<&str>,
        log: PathBuf,
    ) -> Result<Self, String> {
        let port = Port::claim();
        let proxy = Proxy::to(port.number()).await;
        let listen = format!("127.0.0.1:{}", port.number());
        let base = ["--listen", &listen, "--store", url];
        let arguments = base.iter().chain(&FLAGS).map(ToString::to_string);
        let mut replica = Self {
            program: program.to_owned(),
            arguments: arguments.chain(more.iter().cloned()).collect(),
            sabotage: sabotage.map(ToOwned::to_owned),
            port,
            log,
            child: None,
            proxy,
        };
        replica.launch().await?;
        Ok(replica)
    }

    /// Where clients find it.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.proxy.port())
    }

    /// Starts the process again, after it has ended.
    ///
    /// # Errors
    ///
    /// It does not start.
    pub async fn launch(&mut self) -> Result<(), String> {
        let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
        let log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log: File = log.map_err(|error| failed("a log cannot be written", error))?;
        let mut command = Command::new(&self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("REVERSID_") {
                command.env_remove(name);
            }
        }
        command.args(&self.arguments).kill_on_drop(true);
        command.envs(self.sabotage.iter().map(|sabotage| ("REVERSID_SABOTAGE", sabotage)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.child = Some(command.spawn().map_err(|error| failed("reversid", error))?);
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port.number())).await.is_err() {
            if begun.elapsed() > START || self.has_ended() {
                return Err(format!("reversid does not start:\n{}", self.log()));
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Kills it without a warning.
    pub async fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill().await;
        }
    }

    /// Tells it to end, and waits until it has.
    ///
    /// # Errors
    ///
    /// It does not, or not well.
    pub async fn drain(&mut self) -> Result<(), String> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        let pid = child.id().ok_or("it has ended by itself")?.to_string();
        let _ = Command::new("kill").args(["-s", "TERM", &pid]).status().await;
        let ended = timeout(DRAIN, child.wait()).await;
        let ended = ended.map_err(|_| "it does not drain in time")?;
        // 2 says that calls were cut off, which a store that is away can cause.
        match ended.map(|status| status.code()) {
            Ok(Some(0 | 2)) => Ok(()),
            other => Err(format!("it ends with {other:?}:\n{}", self.log())),
        }
    }

    /// Whether it ended though nobody told it to.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| !matches!(child.try_wait(), Ok(None)))
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}
