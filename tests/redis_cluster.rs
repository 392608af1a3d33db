//! Over a Redis Cluster replicas are one service as over one Redis, while slots migrate and primaries are replaced: whoever
//! waits longer than that takes is answered, and watchers hear of every move at once.

mod common;

use std::{
    collections::{BTreeSet, HashMap},
    time::{Duration, Instant},
};

use common::{
    through::{Playing, patient},
    watch::Watch,
    *,
};
use reversi_proto::v1::{self, Color};
use reversi_testbed::Cluster;
use reversid::{
    model::Millis,
    store::{Query, StoreUrl},
};

/// Two replicas over a Cluster. Hints alone deliver: without one, a watched game is read once an hour.
async fn replicas(cluster: &Cluster, flags: &[&str]) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let home = Home { url: cluster.url(), redis: None, folder };
    TestServer::at(home, 2, &[&["--watch-poll", "1h"], flags].concat()).await
}

fn key(id: &str) -> String {
    format!("rv:g:{id}")
}

/// How often each channel is subscribed to, over all nodes.
fn subscriptions(cluster: &Cluster) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    for node in &cluster.nodes {
        let channels = node.server.ask(&["PUBSUB", "SHARDCHANNELS"]);
        for channel in channels.lines().filter(|line| !line.is_empty()) {
            let told = node.server.ask(&["PUBSUB", "SHARDNUMSUB", channel]);
            let number = told.lines().nth(1).and_then(|number| number.parse::<usize>().ok());
            *found.entry(channel.to_owned()).or_default() += number.unwrap_or_default();
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_wherever_its_keys_are() {
    const GAMES: usize = 40;
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &[]).await;
    let mut client = server.client().await;
    let mut ids = BTreeSet::new();
    for number in 0..GAMES {
        let request = v1::CreateGameRequest {
            rules: Some(v1::Rules {
                blocked_squares: Some(v1::BlockedSquares { count: Some(3), ..Default::default() }),
                ..Default::default()
            }),
            seats: vec![v1::NewSeat { player_id: "ann".into(), ..Default::default() }; 2],
            labels: [("kind".to_owned(), (number % 2).to_string())].into(),
            request_id: request_id(),
        };
        let created = client.create_game(patient(request.clone())).await.expect("a game");
        let again = client.create_game(patient(request)).await.expect("the same game");
        assert_eq!(created.get_ref(), again.get_ref());
        let game = created.into_inner().game.expect("a game");
        let request = v1::GetLayoutRequest { layout_id: game.layout.expect("a layout").layout_id };
        client.get_layout(patient(request)).await.expect("the layout is there");
        ids.insert(game.game_id);
    }
    let nodes = ids.iter().map(|id| cluster.primary_of(cluster.slot_of(&key(id))));
    assert_eq!(nodes.collect::<BTreeSet<_>>().len(), 3, "they are on every primary");

    for request in [
        v1::ListGamesRequest { page_size: 7, ..Default::default() },
        v1::ListGamesRequest { page_size: 7, player_id: "ann".into(), ..Default::default() },
    ] {
        let mut listed = BTreeSet::new();
        let mut request = request;
        loop {
            let page = client.list_games(patient(request.clone())).await.expect("a page");
            let page = page.into_inner();
            listed.extend(page.games.into_iter().map(|game| game.game_id));
            request.page_token = page.next_page_token;
            if request.page_token.is_empty() {
                break;
            }
        }
        assert_eq!(listed, ids);
    }
    let label = "kind=1".to_owned();
    let request = v1::ListGamesRequest { label, page_size: 500, ..Default::default() };
    let odd = client.list_games(patient(request)).await.expect("a page").into_inner().games;
    assert_eq!(odd.len(), GAMES / 2);
}

/// The index is damaged by hand, and the sweep goes over every primary to repair it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sweep_repairs_the_index_on_every_primary() {
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &[]).await;
    let mut client = server.client().await;
    for _ in 0..30 {
        create(&mut client, v1::Rules::default()).await;
    }
    let store = StoreUrl::parse(&cluster.url()).expect("a URL").open(lines::LIFETIMES);
    let store = store.expect("it opens");
    let listed = async || {
        let query = Query { limit: 100, ..Query::default() };
        store.list(&query).await.expect("a page").games.len()
    };
    assert_eq!(listed().await, 30);
    for node in &cluster.nodes {
        for set in node.server.ask(&["KEYS", "rv:s:*"]).lines().filter(|it| !it.is_empty()) {
            node.server.ask(&["DEL", set]);
        }
    }
    assert_eq!(listed().await, 0);
    until("all rows are there again", async || {
        store.sweep(Millis::now()).await.expect("it sweeps");
        listed().await == 30
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_subscribes_where_the_game_is_to_what_is_watched_and_nothing_else() {
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &[]).await;
    let [mut a, mut b]: [Client; 2] = server.clients().await.try_into().expect("two replicas");
    let mut tables = Vec::new();
    let mut watches = Vec::new();
    for number in 0..12 {
        let table = create(&mut a, v1::Rules::default()).await;
        if number % 2 == 0 {
            let mut watch = Watch::of(&mut b, &table.id).await;
            watch.snapshot().await;
            watches.push(watch);
        }
        tables.push(table);
    }
    let wanted: HashMap<_, _> = tables.iter().step_by(2).map(|table| (key(&table.id), 1)).collect();
    until("it subscribes to those", async || subscriptions(&cluster) == wanted).await;

    // Every slot goes to another node, and the subscriptions with them.
    for table in &tables {
        let slot = cluster.slot_of(&key(&table.id));
        let owner = cluster.primary_of(slot).expect("it has an owner");
        cluster.migrate(slot, (owner + 1) % 3).await;
    }
    for (table, watch) in tables.iter().step_by(2).zip(&mut watches) {
        let make = patient(table.play(Color::Black, "d3"));
        let made = a.make_move(make).await.expect("a legal move").into_inner().event;
        assert_eq!(Some(watch.event().await), made);
    }
    until("it subscribes to those again", async || subscriptions(&cluster) == wanted).await;
    watches.clear();
    until("it subscribes to nothing", async || subscriptions(&cluster).is_empty()).await;
}

/// Nothing is done by a server that sends a command on: so not even a move without a request id fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_migrate_under_play_cost_no_call_and_no_hint() {
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &[]).await;
    let playing = Playing::start(&server, 8, false, Duration::from_millis(30)).await;
    playing.goes_on(16).await;
    let mut moved = 0;
    for round in 1..=3 {
        let games: Vec<_> = cluster.nodes[..3]
            .iter()
            .flat_map(|node| {
                let keys = node.server.ask(&["KEYS", "rv:g:*"]);
                keys.lines().filter(|it| !it.is_empty()).map(ToOwned::to_owned).collect::<Vec<_>>()
            })
            .collect();
        for game in games {
            let slot = cluster.slot_of(&game);
            let owner = cluster.primary_of(slot).expect("it has an owner");
            cluster.migrate(slot, (owner + round) % 3).await;
            moved += 1;
        }
    }
    println!("{moved} slots moved");
    assert!(moved >= 8, "the games' slots were moved");
    playing.end().await;
}

/// A slot that is on its way from one primary to another, and does not arrive before it is told to.
struct Migrating<'a> {
    cluster: &'a Cluster,
    slot: String,
    from: usize,
    to: usize,
}

impl<'a> Migrating<'a> {
    /// The slot of `key`, with all that is in it still where it was.
    fn begin(cluster: &'a Cluster, key: &str) -> Self {
        let slot = cluster.slot_of(key);
        let from = cluster.primary_of(slot).expect("it has an owner");
        let migrating = Self { cluster, slot: slot.to_string(), from, to: (from + 1) % 3 };
        migrating.set(migrating.to, "IMPORTING", migrating.from);
        migrating.set(migrating.from, "MIGRATING", migrating.to);
        migrating
    }

    fn set(&self, at: usize, what: &str, whom: usize) {
        let ask = |node: usize, command: &[&str]| self.cluster.nodes[node].server.ask(command);
        let id = ask(whom, &["CLUSTER", "MYID"]);
        assert_eq!(ask(at, &["CLUSTER", "SETSLOT", &self.slot, what, &id]), "OK");
    }

    /// Moves what is in it; the slot is still where it was.
    fn move_keys(&self) {
        let server = &self.cluster.nodes[self.from].server;
        let port = self.cluster.nodes[self.to].server.port().to_string();
        let keys = server.ask(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "100"]);
        let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
        let keys: Vec<_> = keys.lines().collect();
        assert_eq!(server.ask(&[&migrate[..], &keys].concat()), "OK");
    }

    fn end(self) {
        for node in [self.to, self.from] {
            self.set(node, "NODE", self.to);
        }
    }
}

async fn slots_half_way_cost_no_call(durability: &str) {
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &["--durability", durability]).await;
    let mut client = server.client().await;
    let table = create(&mut client, v1::Rules::default()).await;
    let mut now = position(&table.game).clone();
    // Without a request id, and with no more time than a call takes.
    let mut play = async |client: &mut Client| {
        for _ in 0..3 {
            let color = Color::try_from(now.to_move).expect("a colour");
            let request = table.play(color, &now.legal_moves[0]);
            let made = client.make_move(request).await.expect("a legal move").into_inner();
            now = made.event.and_then(|event| event.position).expect("a position");
        }
    };
    let migrating = Migrating::begin(&cluster, &key(&table.id));
    play(&mut client).await;
    migrating.move_keys();
    play(&mut client).await;
    migrating.end();
    play(&mut client).await;

    let drawn = v1::BlockedSquares { count: Some(3), seed: Some(7), ..Default::default() };
    let rules = v1::Rules { blocked_squares: Some(drawn), ..Default::default() };
    let table = create(&mut client, rules.clone()).await;
    let layout = table.game.layout.expect("a layout").layout_id;
    let migrating = Migrating::begin(&cluster, &format!("rv:l:{layout}"));
    create(&mut client, rules.clone()).await;
    migrating.move_keys();
    let by_id = v1::BlockedSquares { layout_id: layout.clone(), ..Default::default() };
    let by_id = v1::Rules { blocked_squares: Some(by_id), ..Default::default() };
    for rules in [rules, by_id] {
        create(&mut client, rules.clone()).await;
    }
    migrating.end();
    let found = client.get_layout(v1::GetLayoutRequest { layout_id: layout.clone() }).await;
    let found = found.expect("it is there").into_inner().layout.expect("a layout");
    assert_eq!(found.layout_id, layout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_half_way_cost_no_call_where_changes_are_local() {
    slots_half_way_cost_no_call("local").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_half_way_cost_no_call_where_changes_are_replicated() {
    slots_half_way_cost_no_call("replicated").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promotions_in_good_order_cost_no_call_and_no_hint() {
    let cluster = Cluster::start(&[]).await;
    let server = replicas(&cluster, &[]).await;
    let playing = Playing::start(&server, 8, false, Duration::from_millis(30)).await;
    for primary in 0..3 {
        playing.goes_on(16).await;
        let replica = cluster.replica_of(primary).expect("it has a replica");
        cluster.promote(replica, false).await;
    }
    playing.goes_on(16).await;
    playing.end().await;
}

/// An answer may be lost with the primary; under a request id it is found again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_primaries_are_survived_within_the_callers_deadline() {
    let mut cluster = Cluster::start(&["repl-ping-replica-period 1"]).await;
    let server = replicas(&cluster, &["--durability", "replicated"]).await;
    let playing = Playing::start(&server, 8, true, Duration::from_millis(150)).await;
    playing.goes_on(16).await;
    for primary in [0, 1] {
        let replica = cluster.replica_of(primary).expect("it has a replica");
        let killed = Instant::now();
        cluster.nodes[primary].server.kill();
        cluster.promoted(replica).await;
        println!("promoted after {:?}", killed.elapsed());
        cluster.nodes[primary].server.restart();
        cluster.is_well().await;
        playing.goes_on(16).await;
    }
    let longest = playing.end().await;
    assert!(longest > Duration::from_secs(1), "somebody waited for a failover: {longest:?}");
}

/// A primary that falls silent breaks no connection; what is asked of it is asked of who takes its place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_primary_is_survived_within_the_callers_deadline() {
    let cluster = Cluster::start(&["repl-ping-replica-period 1"]).await;
    let server = replicas(&cluster, &["--durability", "replicated"]).await;
    let playing = Playing::start(&server, 8, true, Duration::from_millis(150)).await;
    playing.goes_on(16).await;
    let replica = cluster.replica_of(0).expect("it has a replica");
    cluster.nodes[0].server.pause();
    cluster.promoted(replica).await;
    playing.goes_on(16).await;
    cluster.nodes[0].server.go_on();
    playing.end().await;
}
