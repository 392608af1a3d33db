//! The committed stores, put where a server can use them; and what is in a store, as text that outlives the source's names.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use data_encoding::HEXLOWER;
use reversid::{
    model::{Act, Game, GameId, Record, Seat, Stored, TokenHash},
    store::{Lookup, Store},
};

use crate::common::{Home, StoreKind, stored::connection};

/// When what Redis holds of a fixture goes, at the earliest: the first of January 2100.
const KEPT_UNTIL: u64 = 4_102_444_800_000;

pub fn folder(form: u8) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stored_forms/form_{form}"))
}

/// Every form that a release has written.
pub fn forms() -> Vec<u8> {
    (1..=u8::MAX).take_while(|form| folder(*form).is_dir()).collect()
}

/// What the files of a store are called.
pub fn stem(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::File => "file",
        StoreKind::Redis => "redis",
        StoreKind::Memory | StoreKind::Replicas => panic!("nothing of it lasts, or it is Redis"),
    }
}

/// A store as a release left it, in a place of its own.
pub struct Fixture {
    pub home: Home,
    /// Its contents, as `describe` tells them.
    pub contents: String,
    /// The requests that made its games: number, id, and the encoded request.
    pub creations: Vec<(u32, String, Vec<u8>)>,
}

/// What a fixture is asked for.
#[derive(Default)]
pub struct Names {
    pub games: Vec<String>,
    pub layouts: Vec<String>,
}

impl Fixture {
    pub fn of(form: u8, kind: StoreKind) -> Self {
        let (folder, stem) = (folder(form), stem(kind));
        let read = |ending: &str| {
            let path = folder.join(format!("{stem}.{ending}"));
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let home = kind.home();
        match &home.redis {
            Some(redis) => load(&redis.url(), &read("keys")),
            None => {
                fs::copy(folder.join("file.redb"), home.file()).expect("it is copied");
            }
        }
        let creation = |line: &str| {
            let mut words = line.split(' ');
            let number = words.next()?.parse().ok()?;
            let id = words.next()?.to_owned();
            let request = HEXLOWER.decode(words.next()?.as_bytes()).ok()?;
            Some((number, id, request))
        };
        let creations = read("creations");
        let creations = creations.lines().map(creation).map(|line| line.expect("three words"));
        Self { home, contents: read("contents"), creations: creations.collect() }
    }

    pub fn names(&self) -> Names {
        let named = |kind: &str| {
            let lines = self.contents.lines().filter_map(|line| line.strip_prefix(kind));
            lines.map(|line| line.split(' ').next().expect("a name").to_owned()).collect()
        };
        Names { games: named("game "), layouts: named("layout ") }
    }
}

/// All keys of a Redis but the one of who sweeps, a line each.
pub fn dump(url: &str) -> String {
    let mut connection = connection(url);
    let mut keys: Vec<Vec<u8>> =
        redis::cmd("KEYS").arg("rv:?:*").query(&mut connection).expect("Redis answers");
    keys.sort();
    let mut lines = String::new();
    for key in keys {
        let asked = |command: &str| {
            let mut command = redis::cmd(command);
            command.arg(&key);
            command
        };
        let until: u64 = asked("PEXPIRETIME").query(&mut connection).expect("an expiry");
        let name = HEXLOWER.encode(&key);
        let kind: String = asked("TYPE").query(&mut connection).expect("a type");
        let values: Vec<Vec<u8>> = match kind.as_str() {
            "string" => vec![asked("GET").query(&mut connection).expect("a string")],
            "zset" => asked("ZRANGE").arg(0).arg(-1).query(&mut connection).expect("a sorted set"),
            kind => panic!("keys of type {kind} are not kept"),
        };
        write!(lines, "{name} {until} {kind}").expect("texts take all");
        for value in values {
            write!(lines, " {}", HEXLOWER.encode(&value)).expect("texts take all");
        }
        lines.push('\n');
    }
    lines
}

fn load(url: &str, lines: &str) {
    let mut connection = connection(url);
    for line in lines.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("a name, an expiry and a type");
        let decode = |hex: &str| HEXLOWER.decode(hex.as_bytes()).expect("hexadecimal digits");
        let (key, until, kind) = (decode(word()), word(), word());
        for value in words.map(decode) {
            let mut command = match kind {
                "string" => redis::cmd("SET"),
                _ => redis::cmd("ZADD"),
            };
            command.arg(&key);
            if kind == "zset" {
                command.arg(0);
            }
            command.arg(value).exec(&mut connection).expect("Redis takes it");
        }
        // What is kept for a day is to be read for ever.
        let until = until.parse::<u64>().expect("milliseconds").max(KEPT_UNTIL);
        let mut command = redis::cmd("PEXPIREAT");
        command.arg(&key).arg(until).exec(&mut connection).expect("Redis takes it");
    }
}

/// What a store has under these names, line by line.
pub async fn describe(store: &Arc<dyn Store>, names: &Names) -> String {
    let mut text = String::new();
    for id in &names.games {
        let lookup = store.load(&GameId::new(id.as_str())).await.expect("it is read");
        let line = |text: &mut String, line: String| {
            text.push_str(&line);
            text.push('\n');
        };
        match lookup {
            Lookup::Missing => line(&mut text, format!("game {id} is not there")),
            Lookup::Deleted(None) => line(&mut text, format!("game {id} deleted")),
            Lookup::Deleted(Some(creation)) => {
                line(&mut text, format!("game {id} deleted, created:"));
                describe_record(&mut text, 1, &creation);
            }
            Lookup::Found(stored) => describe_game(&mut text, &stored),
        }
    }
    for id in &names.layouts {
        let (layout, _) = store.layout(id).await.expect("it is read").expect("it is there");
        let squares: Vec<_> = layout.squares().iter().map(ToString::to_string).collect();
        let bytes = HEXLOWER.encode(&layout.to_bytes());
        writeln!(text, "layout {id} {} {bytes}", squares.join(" ")).expect("texts take all");
    }
    text
}

fn describe_game(text: &mut String, Stored { game, history }: &Stored) {
    let Game { id, seats, labels, owner, salt, table, .. } = game;
    let version = table.version();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!("game {id} {} at {} {:016x}", table.status(), version.revision, version.digest));
    let finish = game.finish_time.map(|time| time.0);
    let (create, update) = (game.create_time.0, game.update_time.0);
    let (expire, named) = (game.expire_time.0, game.named_until.map(|time| time.0));
    line(format!("  times {create} {update} {finish:?} {expire} {named:?}"));
    for (key, value) in labels {
        line(format!("  label {key:?} {value:?}"));
    }
    for Seat { player, token } in seats {
        let token = token.map(|token| hex(&token));
        line(format!("  seat {:?} {:?} {token:?}", player.player_id, player.display_name));
    }
    line(format!("  owner {} salt {}", hex(owner), HEXLOWER.encode(salt)));
    let position = table.position();
    let to_move = position.to_move().map(|color| color.to_string());
    line(format!("  position {to_move:?} after {} aborted {}", position.ply(), table.aborted()));
    line(format!("  board {}", position.board_text()));
    for (revision, record) in (1..).zip(history) {
        describe_record(text, revision, record);
    }
}

fn describe_record(text: &mut String, revision: u64, record: &Record) {
    let request = record
        .request
        .map(|mark| format!("{}:{}", HEXLOWER.encode(&mark.tag), HEXLOWER.encode(&mark.command)));
    let act = match &record.act {
        Act::Created(creation) => {
            let command = creation.command.map(|command| HEXLOWER.encode(&command));
            let seats: Vec<_> = creation
                .seats
                .iter()
                .map(|seat| seat.as_ref().map(|(player, token)| (&player.player_id, hex(token))))
                .collect();
            let labels: BTreeMap<_, _> = creation.labels.iter().collect();
            let rules = HEXLOWER.encode(&creation.rules.to_bytes());
            format!("created {rules} {seats:?} {labels:?} {command:?}")
        }
        Act::SeatClaimed { color, player, token } => {
            format!("{color} {:?} {:?} {}", player.player_id, player.display_name, hex(token))
        }
        Act::MovePlayed { color, square } => format!("{color} {square}"),
        Act::Resigned { color } => format!("{color} resigned"),
        Act::Aborted => "aborted".to_owned(),
    };
    writeln!(text, "  {revision} {} {request:?} {act}", record.time.0).expect("texts take all");
}

fn hex(token: &TokenHash) -> String {
    HEXLOWER.encode(&token.0)
}
