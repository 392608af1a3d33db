//! Stored bytes from outside: what a store holds, byte by byte, and entries as another release would have written them.

use std::collections::BTreeMap;

use redb::{
    Database, ReadTransaction, ReadableDatabase as _, ReadableTable as _, TableDefinition,
    TableHandle as _,
};

use super::Home;

pub const GAMES: TableDefinition<&str, &[u8]> = TableDefinition::new("games");
pub const ROWS: TableDefinition<&[u8], ()> = TableDefinition::new("rows");
pub const LAYOUTS: TableDefinition<&str, &[u8]> = TableDefinition::new("layouts");
pub const EXPIRY: TableDefinition<(u64, u8, &str), ()> = TableDefinition::new("expiry");
pub const META: TableDefinition<&str, u64> = TableDefinition::new("meta");

/// What has bytes of its own.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'a> {
    Game(&'a str),
    Layout(&'a str),
}

/// Everything in a store, by where it is. A file must be closed.
pub fn everything(home: &Home) -> BTreeMap<String, Vec<u8>> {
    match &home.redis {
        Some(redis) => in_redis(&mut connection(&redis.url())),
        None => in_file(&database(home).begin_read().expect("it can be read")),
    }
}

/// Changes bytes, and nothing else: what is kept keeps its expiry. A file must be closed.
pub fn change(home: &Home, what: Stored, change: impl FnOnce(&mut Vec<u8>)) {
    if let Some(redis) = &home.redis {
        let key = match what {
            Stored::Game(id) => format!("rv:g:{id}"),
            Stored::Layout(id) => format!("rv:l:{id}"),
        };
        let mut connection = connection(&redis.url());
        let get = redis::cmd("GET").arg(&key).query::<Option<Vec<u8>>>(&mut connection);
        let mut bytes = get.expect("Redis answers").expect("it is there");
        change(&mut bytes);
        let mut set = redis::cmd("SET");
        set.arg(&key).arg(bytes).arg("KEEPTTL").exec(&mut connection).expect("Redis answers");
        redis::cmd("SPUBLISH").arg(&key).arg("").exec(&mut connection).expect("Redis answers");
        return;
    }
    let (table, id) = match what {
        Stored::Game(id) => (GAMES, id),
        Stored::Layout(id) => (LAYOUTS, id),
    };
    let database = database(home);
    let write = database.begin_write().expect("it can be written");
    {
        let mut table = write.open_table(table).expect("a table");
        let mut bytes = table.get(id).expect("a row").expect("it is there").value().to_vec();
        change(&mut bytes);
        table.insert(id, bytes.as_slice()).expect("a row");
    }
    write.commit().expect("it is written");
}

/// Whether what is at a place is about the game or layout of this id; index rows are shown as bytes.
pub fn names(place: &str, id: &str) -> bool {
    let bytes = format!("{:x?}", id.as_bytes());
    place.contains(id) || place.contains(bytes.trim_matches(['[', ']']))
}

/// The file of a closed store.
pub fn database(home: &Home) -> Database {
    Database::open(home.file()).expect("the file is free")
}

pub fn connection(url: &str) -> redis::Connection {
    let client = redis::Client::open(url).expect("a URL");
    client.get_connection().expect("Redis answers")
}

fn in_file(read: &ReadTransaction) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for table in [GAMES, LAYOUTS] {
        for row in read.open_table(table).expect("a table").iter().expect("rows") {
            let (id, bytes) = row.expect("a row");
            all.insert(format!("{}/{}", table.name(), id.value()), bytes.value().to_vec());
        }
    }
    for row in read.open_table(ROWS).expect("a table").iter().expect("rows") {
        all.insert(format!("rows/{:x?}", row.expect("a row").0.value()), Vec::new());
    }
    for row in read.open_table(EXPIRY).expect("a table").iter().expect("rows") {
        all.insert(format!("expiry/{:?}", row.expect("a row").0.value()), Vec::new());
    }
    for row in read.open_table(META).expect("a table").iter().expect("rows") {
        let (name, number) = row.expect("a row");
        all.insert(format!("meta/{}", name.value()), number.value().to_be_bytes().to_vec());
    }
    all
}

fn in_redis(connection: &mut redis::Connection) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let keys: Vec<String> =
        redis::cmd("KEYS").arg("rv:?:*").query(connection).expect("Redis answers");
    for key in keys {
        let kind: String = redis::cmd("TYPE").arg(&key).query(connection).expect("a type");
        match kind.as_str() {
            "string" => {
                let bytes = redis::cmd("GET").arg(&key).query(connection).expect("a string");
                all.insert(key, bytes);
            }
            "zset" => {
                let mut range = redis::cmd("ZRANGE");
                range.arg(&key).arg(0).arg(-1);
                let rows: Vec<Vec<u8>> = range.query(connection).expect("a sorted set");
                all.extend(rows.into_iter().map(|row| (format!("{key} {row:x?}"), Vec::new())));
            }
            // Gone since it was named.
            kind => assert_eq!(kind, "none", "{key}"),
        }
    }
    all
}
