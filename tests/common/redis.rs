//! Real Redis servers, one for each test that wants one.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A running `redis-server` of its own, killed when dropped.
pub struct RedisServer {
    child: Child,
    port: u16,
    folder: PathBuf,
    flags: Vec<String>,
}

impl RedisServer {
    /// Starts one that keeps its files, if any, in `folder`, with more `flags` than it needs to run.
    pub fn start(folder: &Path, flags: &[&str]) -> Self {
        // Another process may take the port before the server does; then the next is tried.
        for _ in 0..20 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let port = free.expect("a free port").port();
            let flags: Vec<_> = flags.iter().map(ToString::to_string).collect();
            let child = spawn(folder, port, &flags);
            let mut server = Self { child, port, folder: folder.to_owned(), flags };
            if server.answers() {
                return server;
            }
        }
        panic!("no redis-server could be started");
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Asks it something, as an operator would.
    pub fn ask(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(command)
            .output()
            .expect("redis-cli runs");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Kills it without a warning.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again on the same port and files.
    pub fn restart(&mut self) {
        self.kill();
        self.child = spawn(&self.folder, self.port, &self.flags);
        assert!(self.answers(), "redis-server starts again");
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

fn spawn(folder: &Path, port: u16, flags: &[String]) -> Child {
    let spawned = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--dir"])
        .arg(folder)
        .args(["--save", "", "--appendonly", "no"])
        .args(flags)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    spawned.expect("redis-server is installed (apt-get install redis-server); ./test installs it")
}
