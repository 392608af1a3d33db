//! Real Redis servers, one for each test that wants one.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::Port;

/// A running `redis-server` of its own, killed when dropped.
pub struct RedisServer {
    child: Child,
    port: Port,
    arguments: Vec<String>,
}

impl RedisServer {
    /// Starts one that keeps its files, if any, in `folder`, with more `flags` than it needs to run; of a flag given twice the
    /// last counts.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        let port = Port::claim();
        let number = port.number().to_string();
        let folder = folder.to_str().expect("a path that can be written");
        let base = ["--port", &number, "--bind", "127.0.0.1", "--dir", folder];
        let nothing_kept = ["--save", "", "--appendonly", "no"];
        Self::run(port, &[&base[..], &nothing_kept, flags].concat())
    }

    /// Starts one with these arguments alone, which tell it the port.
    pub(crate) fn run(port: Port, arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        let mut server = Self { child: spawn(&arguments), port, arguments };
        assert!(server.answers(), "redis-server starts with {:?}", server.arguments);
        server
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port())
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Asks it something, as an operator would. Lists come a line an element; a server that is down answers with an error's
    /// text.
    pub fn ask(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port().to_string()])
            .args(command)
            .output()
            .expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// A field of its `INFO`; empty if it has none, or the server is down.
    pub fn info(&self, field: &str) -> String {
        let info = self.ask(&["INFO", "everything"]);
        let value = |line: &str| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned());
        info.lines().find_map(value).unwrap_or_default().trim_end().to_owned()
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again on the same port and files; killed first, if it runs.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.arguments);
        assert!(self.answers(), "redis-server starts again");
    }

    /// Stops it from doing anything, while its connections stay open; until [`go_on`](Self::go_on).
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Ends a pause.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let script = format!("kill -s {name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &script]).status();
        assert!(status.expect("there is a shell").success(), "redis-server runs");
    }

    /// Waits until it answers, if it does.
    fn answers(&mut self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return false;
            }
            if self.ask(&["PING"]) == "PONG" {
                return true;
            }
        }
        false
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(arguments: &[String]) -> Child {
    let spawned = Command::new("redis-server")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    spawned.expect("redis-server is installed (apt-get install redis-server); ./test installs it")
}
