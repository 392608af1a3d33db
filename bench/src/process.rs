//! The processes that are measured: started on loopback, asked what they used of the processor, and gone when dropped.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tokio::{
    sync::oneshot,
    time::{Instant, sleep, timeout},
};

use crate::recording::Recording;

/// How long a process may take until it can be used.
const START: Duration = Duration::from_secs(20);

/// What the kernel counts processor time in: Linux tells programs hundredths of a second on every machine.
const TICK: Duration = Duration::from_millis(10);

/// A process that is killed when it is dropped.
struct Process(Child);

impl Process {
    fn spawn(command: &mut Command) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = command.get_program().display().to_string();
        command.spawn().map(Self).map_err(|error| format!("{program} does not start: {error}"))
    }

    /// The processor time that it has used, in itself and in the kernel.
    fn cpu(&self) -> Result<Duration, String> {
        let path = format!("/proc/{}/stat", self.0.id());
        let stat = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        // The second field is a name in parentheses; the fourteenth and fifteenth are what we want.
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
        let ticks =
            ticks.sum::<Result<u32, _>>().map_err(|_| format!("{path} has another form"))?;
        Ok(TICK * ticks)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A service that said where it listens.
pub struct Server {
    process: Process,
    address: String,
}

impl Server {
    /// The real one, on the store at `url`.
    pub async fn reversid(program: &Path, url: &str) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["--listen", "127.0.0.1:0", "--store", url]);
        Self::start(command).await
    }

    /// The bare one, on a place like it.
    pub async fn bare(program: &Path, url: &str, recording: &Recording) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(["bare", "--store", url]).args(recording.arguments());
        Self::start(command).await
    }

    async fn start(mut command: Command) -> Result<Self, String> {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("REVERSID_") {
                command.env_remove(name);
            }
        }
        let mut process = Process::spawn(command.stderr(Stdio::piped()))?;
        let log = process.0.stderr.take().ok_or("a process has no error stream")?;
        let (told, address) = oneshot::channel();
        // Reads to the end, so that the process can always write. Dropped with it goes the sender.
        thread::spawn(move || {
            let mut told = Some(told);
            let mut last = VecDeque::new();
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                if let Some((_, address)) = line.split_once("listening on ")
                    && let Some(told) = told.take()
                {
                    let _ = told.send(Ok(format!("http://{address}")));
                }
                last.push_back(line);
                last.truncate(20);
            }
            if let Some(told) = told.take() {
                let _ = told.send(Err(Vec::from(last).join("\n")));
            }
        });
        let told = timeout(START, address).await;
        let told = told.map_err(|_| "a service does not say where it listens")?;
        let address = told.map_err(|_| "a service's log cannot be read")?;
        let address = address.map_err(|log| format!("a service did not start:\n{log}"))?;
        Ok(Self { process, address })
    }

    /// Where it listens, as a URL.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The processor time that it has used.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn cpu(&self) -> Result<Duration, String> {
        self.process.cpu()
    }
}

/// A `redis-server` that keeps nothing on disk.
pub struct Redis {
    process: Process,
    port: u16,
}

impl Redis {
    /// Whether there is one to start.
    pub fn is_installed() -> bool {
        let mut command = Command::new("redis-server");
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Starts one, and waits until it answers.
    pub async fn start(folder: &Path) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| format!("there is no free port: {error}"))?.port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"]).arg(folder);
        command.args(["--save", "", "--appendonly", "no"]).stderr(Stdio::null());
        let mut redis = Self { process: Process::spawn(&mut command)?, port };
        let client = redis::Client::open(redis.url()).map_err(|error| error.to_string())?;
        let begun = Instant::now();
        while begun.elapsed() < START && matches!(redis.process.0.try_wait(), Ok(None)) {
            if client.get_multiplexed_async_connection().await.is_ok() {
                return Ok(redis);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Err("redis-server does not answer".into())
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// The processor time that it has used.
    ///
    /// # Errors
    ///
    /// It is gone.
    pub fn cpu(&self) -> Result<Duration, String> {
        self.process.cpu()
    }
}
