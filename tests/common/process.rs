//! The real binary as a process: started, watched through its log, signalled, killed, and waited for.

use std::{
    net::SocketAddr,
    path::Path,
    process::{ExitStatus, Output, Stdio},
};

use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};
use tonic::transport::Channel;

use super::{Client, PATIENCE};

/// The binary with flags, and without this process's variables for it.
pub fn reversid(arguments: &[&str]) -> Command {
    without_variables(env!("CARGO_BIN_EXE_reversid").as_ref(), arguments)
}

/// A program that will run the binary, or is it.
pub fn without_variables(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).kill_on_drop(true).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        let ours = ["REVERSID_", "OTEL_"].iter().any(|own| name.to_string_lossy().starts_with(own));
        if ours {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command that is to end by itself.
pub async fn run(mut command: Command) -> Output {
    let ended = timeout(PATIENCE, command.output()).await.expect("it ends by itself, in time");
    ended.expect("it can be started")
}

/// What it wrote to its error stream.
pub fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the log is UTF-8")
}

/// A running server. Killed when dropped.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    /// All that was logged so far.
    log: watch::Receiver<String>,
}

impl Process {
    /// Starts the binary on the file at `path`, with more flags, and waits until it listens.
    pub async fn start(path: &Path, flags: &[&str]) -> Self {
        let store = format!("file:{}", path.display());
        let base = ["--listen", "127.0.0.1:0", "--store", &store];
        Self::of(reversid(&[&base, flags].concat())).await
    }

    /// Starts a command that becomes the binary, and waits until it listens.
    pub async fn of(command: Command) -> Self {
        let mut process = Self::begun(command);
        let log = process.logged("listening on ").await;
        let rest = log.split("listening on ").nth(1);
        let address = rest.and_then(|rest| rest.split(['"', '\n']).next());
        process.address = address.and_then(|text| text.parse().ok()).expect("an address is told");
        process
    }

    /// Starts a command that becomes the binary, and waits for nothing.
    pub fn begun(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let (log, logged) = watch::channel(String::new());
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                log.send_modify(|log| {
                    log.push_str(&line);
                    log.push('\n');
                });
            }
        });
        let address = SocketAddr::from(([0, 0, 0, 0], 0));
        Self { child, address, log: logged }
    }

    /// Where it serves metrics.
    pub async fn admin(&self) -> SocketAddr {
        let log = self.logged("/metrics").await;
        let address =
            log.split("metrics at http://").nth(1).and_then(|rest| rest.split('/').next());
        address.and_then(|text| text.parse().ok()).expect("an address is told")
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it was not waited for")
    }

    /// Waits until this was logged, and answers the log so far.
    pub async fn logged(&self, text: &str) -> String {
        let mut log = self.log.clone();
        let logged = timeout(PATIENCE, log.wait_for(|log| log.contains(text))).await;
        match logged {
            Ok(Ok(log)) => log.clone(),
            Ok(Err(_)) => panic!("it ended without a word of {text:?}:\n{}", *self.log.borrow()),
            Err(_) => panic!("it says nothing of {text:?}:\n{}", *self.log.borrow()),
        }
    }

    pub fn log(&self) -> String {
        self.log.borrow().clone()
    }

    pub async fn client(&self) -> Client {
        Client::new(self.channel().await.into())
    }

    pub async fn channel(&self) -> Channel {
        let endpoint = Channel::from_shared(format!("http://{}", self.address));
        endpoint.expect("an address").connect().await.expect("the server accepts")
    }

    /// Sends signals, by name and in order: `TERM`, `INT`, `STOP`, `CONT`.
    pub async fn signal(&self, names: &[&str]) {
        let pid = self.pid();
        let script: Vec<_> = names.iter().map(|name| format!("kill -s {name} {pid}")).collect();
        let status = Command::new("sh").args(["-c", &script.join(" && ")]).status().await;
        assert!(status.expect("there is a shell").success(), "the process takes signals");
    }

    /// SIGKILL: no chance to do anything more.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        ended.expect("it ends in time").expect("it can be waited for")
    }

    /// The memory that it holds now, in bytes, as the kernel counts it.
    pub fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(path).expect("the process runs, on Linux");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        let kib = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
        kib * 1024
    }
}
