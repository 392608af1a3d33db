//! The course of a run: start everything, let it break while games are played, calm down, settle, end.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::oneshot,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    Args,
    check::Violation,
    lookout::Lookout,
    plan::{Durability, Fault, Kind, Topology, faults},
    random::Random,
    replica::Replica,
    report,
    store::Store,
    table,
    world::{SETTLE, World},
};

/// How often the progress is told.
const PROGRESS: Duration = Duration::from_secs(5);

/// How long games are waited for once nothing breaks any more.
const LAST_GAMES: Duration = SETTLE.saturating_mul(3);

/// How much longer a run goes on while nothing was lost that has to be: whether a fault meets a game is up to the machine.
const UNTIL_LOST: Duration = Duration::from_secs(90);

/// When a part of a run is to stop breaking things.
struct Ends {
    world: Arc<World>,
    at: Instant,
    must_lose: bool,
    stop_at_first: bool,
}

impl Ends {
    /// Whether a violation is enough, and there is one.
    fn at_once(&self) -> bool {
        self.stop_at_first && !self.world.violations().is_empty()
    }

    /// Whether the time is over, and all happened that has to.
    fn now(&self, all_happened: bool) -> bool {
        let now = Instant::now();
        let lost = !self.must_lose || self.world.counted(table::LOST) > 0;
        let enough = all_happened && (lost || now >= self.at + UNTIL_LOST);
        self.at_once() || enough && now >= self.at
    }
}

/// Makes a run; what it found is in the world that it answers.
///
/// # Errors
///
/// For people: something could not be started.
pub async fn run(args: &Args, seed: u64) -> Result<Arc<World>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let program = match &args.reversid {
        Some(path) => path.clone(),
        None => beside()?,
    };
    let mut store = Store::start(args.topology, args.losses, folder.path()).await;
    let replicas = replicas(args, &program, &store.url(), folder.path()).await?;
    let addresses = replicas.iter().map(Replica::address).collect();
    let promotes = args.topology != Topology::Standalone;
    let world = Arc::new(World::new(addresses, args.loses(), promotes));
    println!("begins at {:?}, from which violations can be placed", world.begun);
    let at = world.begun + Duration::from_secs(args.seconds);
    let (must_lose, stop_at_first) = (args.must_lose(), args.stop_at_first);
    let ends = Ends { world: world.clone(), at, must_lose, stop_at_first };

    let mut random = Random::new(seed);
    let (of_store, of_replicas) = args.kinds().into_iter().partition(|kind| kind.is_of_store());
    let (for_store, for_replicas) = (random.next(), random.next());
    let (store_done, store_is_done) = oneshot::channel();
    let breaking_store = async {
        let mut lookout = Lookout::new(&store);
        break_store(&mut store, &mut lookout, for_store, of_store, &ends).await;
        let _ = store_done.send(());
        // A primary can be replaced later still, and games wait to hear what is safe.
        lookout.keep_looking(&store, &world).await;
    };
    let breaking = async {
        let replicas = break_replicas(replicas, for_replicas, of_replicas, &ends).await;
        let _ = store_is_done.await;
        world.calm_down();
        replicas
    };
    let course = async {
        let (mut tables, replicas) = tokio::join!(play(args.games, random, &world), breaking);
        if !ends.at_once() {
            let joined = async { while tables.join_next().await.is_some() {} };
            let _ = timeout(LAST_GAMES, joined).await;
        }
        (tables.len(), replicas)
    };
    let (open, replicas) = tokio::select! {
        ended = course => ended,
        () = breaking_store => unreachable!("it is looked for ever"),
        () = progress(&world) => unreachable!("progress is told for ever"),
    };
    if open > 0 && !ends.at_once() {
        let what = format!("{open} games do not: {}", world.still_open().join("; "));
        world.violated(vec![Violation { promise: "every game ends", what }]);
    }
    let mut replicas = replicas?;
    if let Some(name) = &args.sabotage {
        is_sabotaged(&replicas, name)?;
    }
    for replica in &mut replicas {
        end(replica, &world).await;
        if replica.log().contains("panicked") {
            let promise = "replicas do not panic";
            world.violated(vec![Violation { promise, what: replica.log() }]);
        }
    }
    Ok(world)
}

/// The program that was built beside this one.
fn beside() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let beside = own.with_file_name("reversid");
    match beside.exists() {
        true => Ok(beside),
        false => Err(format!("there is no {}: build it first", beside.display())),
    }
}

async fn replicas(
    args: &Args,
    program: &Path,
    url: &str,
    folder: &Path,
) -> Result<Vec<Replica>, String> {
    let more: Vec<_> = match args.durability {
        Durability::Local => Vec::new(),
        Durability::Replicated => ["--durability", "replicated"].map(ToOwned::to_owned).into(),
    };
    let mut replicas = Vec::new();
    for number in 0..args.replicas {
        let log = folder.join(format!("replica-{number}.log"));
        let replica = Replica::start(program, url, &more, args.sabotage.as_deref(), log).await?;
        replicas.push(replica);
    }
    Ok(replicas)
}

/// Whether these replicas are broken on purpose, which they say when they first do what is broken.
fn is_sabotaged(replicas: &[Replica], name: &str) -> Result<(), String> {
    let says = format!("reversid: broken on purpose: {name}");
    match replicas.iter().any(|replica| replica.log().lines().any(|line| line == says)) {
        true => Ok(()),
        false => Err(format!("reversid is not broken: it has no sabotage {name}, or none at all")),
    }
}

async fn progress(world: &World) {
    loop {
        sleep(PROGRESS).await;
        report::progress(world);
    }
}

/// Has so many games played at a time until nothing breaks any more; answers those that are still played.
async fn play(games: u64, mut random: Random, world: &Arc<World>) -> JoinSet<()> {
    let mut tables = JoinSet::new();
    let mut number = 0;
    while !world.is_calm() {
        while tables.len() < games as usize {
            number += 1;
            tables.spawn(table::play(world.clone(), number, random.fork()));
        }
        let _ = timeout(Duration::from_millis(100), tables.join_next()).await;
    }
    tables
}

async fn break_store(
    store: &mut Store,
    lookout: &mut Lookout,
    seed: u64,
    kinds: Vec<Kind>,
    ends: &Ends,
) {
    let mut due = kinds.clone();
    for fault in faults(seed, kinds) {
        sleep(fault.after).await;
        lookout.look(store, &ends.world).await;
        if ends.now(due.is_empty()) {
            break;
        }
        let begun = Instant::now();
        let done = store.suffer(fault, &ends.world).await;
        if fault.kind.replaces() {
            lookout.look_again(store, &ends.world);
        }
        if done {
            due.retain(|kind| *kind != fault.kind);
            report::fault(&ends.world, fault, begun);
        }
    }
}

async fn break_replicas(
    mut replicas: Vec<Replica>,
    seed: u64,
    kinds: Vec<Kind>,
    ends: &Ends,
) -> Result<Vec<Replica>, String> {
    let mut due = kinds.clone();
    for fault in faults(seed, kinds) {
        sleep(fault.after).await;
        if ends.now(due.is_empty()) {
            break;
        }
        let begun = Instant::now();
        suffer(&mut replicas, fault, &ends.world).await?;
        due.retain(|kind| *kind != fault.kind);
        report::fault(&ends.world, fault, begun);
    }
    Ok(replicas)
}

/// Has a fault happen to a replica or its clients, and waits until it is over.
async fn suffer(replicas: &mut [Replica], fault: Fault, world: &World) -> Result<(), String> {
    for replica in replicas.iter_mut() {
        if replica.has_ended() {
            return Err(format!("a replica has ended by itself:\n{}", replica.log()));
        }
    }
    let which = fault.which % replicas.len();
    let replica = &mut replicas[which];
    match fault.kind {
        Kind::KillReplica => {
            replica.kill().await;
            sleep(fault.lasting).await;
            replica.launch().await?;
        }
        Kind::DrainReplica => {
            end(replica, world).await;
            replica.launch().await?;
        }
        Kind::RollReplicas => {
            for replica in replicas {
                end(replica, world).await;
                replica.launch().await?;
            }
        }
        Kind::CutClients => replica.proxy.cut(),
        Kind::DelayClients => {
            replica.proxy.delay(Duration::from_millis(10 + fault.which as u64 % 90));
            sleep(fault.lasting).await;
            replica.proxy.release();
        }
        _ => unreachable!("it happens to the store"),
    }
    Ok(())
}

async fn end(replica: &mut Replica, world: &World) {
    if let Err(what) = replica.drain().await {
        world.violated(vec![Violation { promise: "replicas drain in time", what }]);
    }
}
