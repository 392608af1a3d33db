//! The bench runs on every store, says what it promises to, and leaves nothing running.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// The bench, of the reversid that was built beside it; without one it builds that.
fn bench(arguments: &[&str]) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_reversi-bench"));
    let mut command = Command::new(program);
    let reversid = program.with_file_name("reversid");
    if reversid.exists() {
        command.arg("--reversid").arg(reversid);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn every_store_is_measured_on_both_sides() {
    let output = bench(&["--seconds", "0.1", "--rounds", "2", "--in-flight", "4"]).output();
    let output = output.expect("the bench runs");
    let told = String::from_utf8(output.stdout).expect("it writes UTF-8");
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Vec<_>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
    for store in ["memory", "file", "redis"] {
        for side in ["real", "bare", "real/bare"] {
            let row = rows.iter().find(|row| row.starts_with(&[store, "4", side]));
            let row = row.unwrap_or_else(|| panic!("{store}, {side}: {told}"));
            let figures = row[3..].iter().filter_map(|figure| figure.parse::<f64>().ok());
            let expected = if store == "redis" { 5 } else { 4 };
            // A short measurement may cost less than one tick of the processor's time.
            assert_eq!(figures.clone().count(), expected, "{row:?}");
            assert!(figures.take(3).all(|figure| figure > 0.0), "{row:?}");
        }
    }
}

/// Kills the bench if the test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processes that this one has started and that are still there.
fn children(parent: u32) -> BTreeSet<u32> {
    let processes = fs::read_dir("/proc").expect("this is Linux");
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().nth(1) == Some(&parent.to_string())
    })
    .collect()
}

#[test]
fn interrupted_it_ends_all_that_it_started() {
    let mut command = bench(&["--seconds", "60", "--stores", "redis"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut bench = Running(command.spawn().expect("the bench runs"));
    let begun = Instant::now();
    let mut wait = |what: &str| {
        assert!(begun.elapsed() < LIMIT, "{what}");
        assert!(matches!(bench.0.try_wait(), Ok(None)), "it has ended by itself");
        sleep(Duration::from_millis(5));
        bench.0.id()
    };
    // Redis and both services.
    let started = loop {
        let started = children(wait("it does not start three processes"));
        if started.len() == 3 {
            break started;
        }
    };
    let id = bench.0.id().to_string();
    let sent = Command::new("sh").args(["-c", &format!("kill -s INT {id}")]).status();
    assert!(sent.expect("there is a shell").success());
    let ended = bench.0.wait().expect("it can be waited for");
    assert_eq!(ended.code(), Some(130));
    for id in started {
        assert!(!Path::new(&format!("/proc/{id}")).exists(), "process {id} is still there");
    }
}
