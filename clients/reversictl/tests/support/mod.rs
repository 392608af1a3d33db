//! Runs the `reversictl` binary as a user would, with a limit, and `reversid` for it to talk to.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Once, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// No command here takes a tenth of it.
const LIMIT: Duration = Duration::from_secs(60);

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The objects on standard output.
    pub fn json(&self) -> Vec<Value> {
        let lines = self.stdout.lines();
        lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect()
    }

    /// The only object on standard output of a command that went well.
    pub fn object(&self) -> Value {
        assert_eq!(self.code, 0, "{self:?}");
        let mut objects = self.json();
        assert_eq!(objects.len(), 1, "{self:?}");
        objects.remove(0)
    }

    /// The error on standard error.
    pub fn error(&self) -> Value {
        let line = self.stderr.lines().last().unwrap_or_default();
        let told: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:?}"));
        told["error"].clone()
    }
}

/// The trace that every command is started in.
pub const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A command that runs, and is killed when it is forgotten.
pub struct Running {
    child: Child,
    stdout: mpsc::Receiver<String>,
    stderr: thread::JoinHandle<String>,
}

/// Starts `reversictl` with these arguments, separated by spaces, and one of its own, which may hold spaces.
pub fn start(server: &str, arguments: &str, tail: &[&str]) -> Running {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reversictl"))
        .args(arguments.split_whitespace())
        .args(tail)
        .env("REVERSICTL_SERVER", server)
        .env("TRACEPARENT", TRACEPARENT)
        .env_remove("REVERSICTL_TOKEN")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (lines, stdout) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = lines.send(line);
        }
    });
    let mut err = child.stderr.take().unwrap();
    let stderr = thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    Running { child, stdout, stderr }
}

impl Running {
    /// The next line of standard output.
    pub fn line(&self) -> String {
        self.stdout.recv_timeout(LIMIT).expect("one more line of output in time")
    }

    /// Waits for its end.
    pub fn done(mut self) -> Done {
        let started = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code().unwrap_or(-1);
            }
            if started.elapsed() > LIMIT {
                self.child.kill().unwrap();
                panic!("reversictl did not end in time");
            }
            thread::sleep(Duration::from_millis(5));
        };
        let stdout: String = self.stdout.iter().map(|line| line + "\n").collect();
        Done { code, stdout, stderr: self.stderr.join().unwrap() }
    }
}

/// Runs `reversictl` to its end.
pub fn run(server: &str, arguments: &str) -> Done {
    start(server, arguments, &[]).done()
}

/// A running `reversid`; killed when it is forgotten.
pub struct Server {
    child: Child,
    pub address: String,
}

impl Server {
    /// Starts one on a store and a port, 0 for any, and waits until it listens.
    pub fn start(store: &str, port: u16) -> Self {
        let mut child = Command::new(reversid())
            .args(["--listen", &format!("127.0.0.1:{port}"), "--store", store])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (found, address) = mpsc::channel();
        let out = child.stdout.take().unwrap();
        let err = child.stderr.take().unwrap();
        look_for_address(out, found.clone());
        look_for_address(err, found);
        let address = address.recv_timeout(LIMIT).expect("the server tells where it listens");
        Self { child, address }
    }

    /// Where `reversictl` finds it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.rsplit_once(':').unwrap().1.parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends the last `ip:port` of the line that says so, and reads on so that the server never waits for a reader.
fn look_for_address(output: impl Read + Send + 'static, found: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let is_end = |c: char| !c.is_ascii_digit() && c != '.' && c != ':';
            let word = line.split(is_end).rfind(|word| word.starts_with("127.0.0.1:"));
            if let Some(address) = word.filter(|_| line.contains("listening")) {
                let _ = found.send(address.to_owned());
            }
        }
    });
}

/// The server's binary beside that of `reversictl`; built if it is not there.
fn reversid() -> PathBuf {
    static BUILT: Once = Once::new();
    let path = Path::new(env!("CARGO_BIN_EXE_reversictl")).with_file_name("reversid");
    BUILT.call_once(|| {
        if !path.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--package", "reversid", "--bin", "reversid"]);
            if path.parent().is_some_and(|folder| folder.ends_with("release")) {
                build.arg("--release");
            }
            assert!(build.status().unwrap().success());
        }
    });
    path
}
