//! Plays games on real `reversid` replicas while everything around them breaks, and checks all that clients and watchers saw:
//! flags, and how a run ended.

mod caller;
mod check;
mod log;
mod lookout;
mod plan;
mod player;
mod random;
mod replica;
mod report;
mod run;
mod store;
mod table;
mod watcher;
mod world;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::{CommandFactory as _, Parser, ValueEnum as _, error::ErrorKind};
use tokio::time::timeout;

use self::plan::{Durability, Kind, Topology};

/// Exit codes; `--help` tells them.
const VIOLATED: u8 = 1;
const FAILED: u8 = 3;

/// How long a run may take beyond its time: until something was lost, all is well again, and everything is settled and read.
const END: Duration = Duration::from_secs(240);

/// Plays games on reversid while everything around it breaks, and checks what clients and watchers saw.
///
/// Real Redis, real replicas of the real program, all on loopback. Many games are played at once, two clients racing for
/// every move; meanwhile processes are killed, connections cut, replicas promoted, in an order that the seed decides. Each
/// game is then judged by the rules of the game: docs/torture.md says what is checked.
///
///   cargo run -p reversi-torture -- --topology cluster --durability replicated --seconds 600
///
/// Exit codes: 0 when nothing was violated and every kind of fault happened, 1 when something was violated, 2 for wrong usage,
/// 3 when the run could not be made or finished, or something did not happen that has to.
#[derive(Parser)]
#[command(name = "reversi-torture", verbatim_doc_comment)]
struct Args {
    /// What the games are kept in.
    #[arg(long, value_enum, default_value = "standalone")]
    topology: Topology,

    /// What reversid promises of acknowledged moves when a primary of Redis is lost.
    #[arg(long, value_enum, default_value = "local")]
    durability: Durability,

    /// Standalone: Redis keeps snapshots alone and is thrown back to them, so that acknowledged moves are lost, which must be
    /// told.
    #[arg(long)]
    losses: bool,

    /// For how long things break, and no shorter than each kind of fault takes once; with lose-moves also until some were lost, where
    /// they may be.
    #[arg(long, default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// What decides the order of faults. A random one unless given; it is told.
    #[arg(long)]
    seed: Option<u64>,

    /// How many reversid processes.
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u64).range(1..=9))]
    replicas: u64,

    /// How many games are played at a time.
    #[arg(long, default_value = "6", value_parser = clap::value_parser!(u64).range(1..=100))]
    games: u64,

    /// Which faults happen, comma-separated: of those that the store knows, which are all unless given.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST")]
    faults: Option<Vec<Kind>>,

    /// Ends at the first violation.
    #[arg(long)]
    stop_at_first: bool,

    /// The reversid to run. Unless given, the one beside this program.
    #[arg(long, value_name = "PATH")]
    reversid: Option<PathBuf>,

    /// What to break on purpose, in a reversid built with the feature `sabotage`.
    #[arg(long, value_name = "NAME")]
    sabotage: Option<String>,
}

impl Args {
    /// Whether acknowledged moves may be lost, where that is told: by any primary that is replaced, meant or not.
    fn loses(&self) -> bool {
        match self.topology {
            Topology::Standalone => self.losses,
            Topology::Sentinel | Topology::Cluster => self.durability == Durability::Local,
        }
    }

    /// Whether some have to be, before the run ends.
    fn must_lose(&self) -> bool {
        self.loses() && self.kinds().contains(&Kind::LoseMoves)
    }

    fn kinds(&self) -> Vec<Kind> {
        let all = Kind::all(self.topology, self.losses);
        self.faults.clone().unwrap_or(all)
    }

    /// What is asked for and cannot be.
    fn problem(&self) -> Option<String> {
        if self.losses && self.topology != Topology::Standalone {
            return Some("--losses is for --topology standalone".into());
        }
        let there = Kind::all(self.topology, self.losses);
        let missing: Vec<_> =
            self.faults.iter().flatten().filter(|it| !there.contains(it)).collect();
        if missing.is_empty() {
            return None;
        }
        let missing = missing.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        let losses = if self.losses { " with --losses" } else { "" };
        let topology = self.topology.to_possible_value().expect("none is hidden");
        Some(format!("these faults cannot happen to {}{losses}: {missing}", topology.get_name()))
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(problem) = args.problem() {
        Args::command().error(ErrorKind::ValueValidation, problem).exit();
    }
    let seed = args.seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0);
    println!("seed {seed}");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("the system has threads");
    let limit = Duration::from_secs(args.seconds) + END;
    let ran = runtime.block_on(async { timeout(limit, run::run(&args, seed)).await });
    runtime.shutdown_timeout(Duration::from_secs(1));
    match ran {
        Ok(Ok(world)) => {
            ExitCode::from(report::tell(&world, &args.kinds(), args.must_lose(), seed))
        }
        Ok(Err(error)) => {
            eprintln!("reversi-torture: {error}");
            ExitCode::from(FAILED)
        }
        Err(_) => {
            eprintln!("reversi-torture: the run does not end");
            ExitCode::from(FAILED)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_refused_that_the_store_does_not_know() {
        let problem = |flags: &[&str]| Args::parse_from([&["torture"], flags].concat()).problem();
        for topology in ["standalone", "sentinel", "cluster"] {
            assert_eq!(problem(&["--topology", topology]), None);
        }
        assert_eq!(problem(&["--losses", "--faults", "lose-moves,kill-replica"]), None);
        let of_cluster = problem(&["--faults", "migrate-slot,cut-redis,fail-over"]);
        let of_cluster = of_cluster.expect("one Redis has no slots");
        assert_eq!(of_cluster, "these faults cannot happen to standalone: migrate-slot, fail-over");
        assert!(problem(&["--faults", "lose-moves"]).is_some(), "all is on disk");
        assert!(problem(&["--losses", "--faults", "kill-redis"]).is_some(), "not all is");
        assert!(problem(&["--losses", "--topology", "cluster"]).is_some());
    }

    #[test]
    fn what_may_be_lost_is_told_from_what_has_to_be() {
        let lost = |flags: &[&str]| {
            let args = Args::parse_from([&["torture"], flags].concat());
            (args.loses(), args.must_lose())
        };
        assert_eq!(lost(&[]), (false, false));
        assert_eq!(lost(&["--losses"]), (true, true));
        assert_eq!(lost(&["--losses", "--faults", "kill-replica"]), (true, false));
        assert_eq!(lost(&["--topology", "cluster"]), (true, true));
        let silent = ["--topology", "sentinel", "--faults", "silence-redis"];
        assert_eq!(lost(&silent), (true, false), "Sentinels may take it for gone");
        assert_eq!(lost(&["--topology", "sentinel", "--durability", "replicated"]), (false, false));
    }
}
