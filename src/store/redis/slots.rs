//! Which of a Cluster's slots a key is in, and which server says that it has a slot.

use std::collections::HashMap;

use redis::{FromRedisValue as _, RedisError, RedisResult, Value};

use super::url::Address;

/// How many there are.
pub const SLOTS: usize = 16_384;

/// The slot of a key: of what stands between its first braces, or of all of it.
pub fn slot(key: &str) -> usize {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
    let hashed = match tag {
        Some((tag, _)) if !tag.is_empty() => tag,
        Some(_) | None => key,
    };
    usize::from(crc16(hashed.as_bytes())) % SLOTS
}

/// CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

/// What servers say of the slots. Of two that claim the same one, the later vote counts: servers that were cut off
/// go on saying what was so once.
pub struct Claims {
    /// For each slot the epoch of the claim, and the primary.
    owners: Vec<Option<(u64, Address)>>,
    /// All servers named, primaries or not.
    named: Vec<Address>,
    /// How many replicas a primary has that are not down, as the server says that names most.
    replicas: HashMap<Address, usize>,
}

/// What there is.
pub struct Seen {
    /// The primary of each slot, as far as one has it.
    pub owners: Vec<Option<Address>>,
    /// All servers, each once.
    pub named: Vec<Address>,
    /// How many replicas a primary has that are not down.
    pub replicas: HashMap<Address, usize>,
}

impl Claims {
    /// Nothing is said yet.
    pub fn new() -> Self {
        Self { owners: vec![None; SLOTS], named: Vec::new(), replicas: HashMap::new() }
    }

    /// Hears what the server at `told_by` answered to `CLUSTER SLOTS` and `CLUSTER NODES`.
    ///
    /// # Errors
    ///
    /// When it has not the form of such an answer.
    pub fn hear(&mut self, told_by: &Address, slots: Value, nodes: Value) -> RedisResult<()> {
        let nodes = String::from_redis_value(nodes)?;
        let nodes: Vec<_> = nodes.lines().filter_map(Line::read).collect();
        let ranges = Vec::<Vec<Value>>::from_redis_value(slots)?;
        for range in ranges {
            let mut parts = range.into_iter();
            let (Some(first), Some(last)) = (parts.next(), parts.next()) else { continue };
            let (first, last) = (usize::from_redis_value(first)?, usize::from_redis_value(last)?);
            let servers: RedisResult<Vec<_>> =
                parts.map(|server| read_server(server, told_by)).collect();
            let servers = servers?;
            let Some((address, id)) = servers.first() else { continue };
            let line = nodes.iter().find(|line| line.id == id);
            let epoch = line.map_or(0, |line| line.epoch);
            let replicas = nodes.iter().filter(|line| line.replica_of == Some(id)).count();
            let most = self.replicas.entry(address.clone()).or_default();
            *most = replicas.max(*most);
            for owner in self.owners.get_mut(first..=last).into_iter().flatten() {
                if owner.as_ref().is_none_or(|(before, _)| *before < epoch) {
                    *owner = Some((epoch, address.clone()));
                }
            }
            self.named.extend(servers.into_iter().map(|(address, _)| address));
        }
        Ok(())
    }

    /// What there is, as far as it was said.
    pub fn seen(mut self) -> Seen {
        self.named.sort();
        self.named.dedup();
        let owners = self.owners.into_iter().map(|owner| Some(owner?.1)).collect();
        Seen { owners, named: self.named, replicas: self.replicas }
    }
}

/// A server of `CLUSTER SLOTS`: where it is, and its id. It may not know its own host; then that is where it was asked.
fn read_server(server: Value, told_by: &Address) -> RedisResult<(Address, String)> {
    let mut parts = Vec::<Value>::from_redis_value(server)?.into_iter();
    let mut next = || parts.next().unwrap_or(Value::Nil);
    let host = Option::<String>::from_redis_value(next())?.filter(|host| !host.is_empty());
    let port = u16::from_redis_value(next())?;
    let id = Option::<String>::from_redis_value(next())?.unwrap_or_default();
    Ok((Address { host: host.unwrap_or_else(|| told_by.host.clone()), port }, id))
}

/// A line of `CLUSTER NODES`.
struct Line<'a> {
    id: &'a str,
    /// Of its last claim.
    epoch: u64,
    /// Its primary, if it is a replica that is not down. It counts even if it may never be promoted: which replicas have a
    /// change is told by number alone, and its word must not stand for another's.
    replica_of: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.split(' ');
        let (id, _address, flags, primary) =
            (words.next()?, words.next()?, words.next()?, words.next()?);
        let epoch = words.nth(2)?.parse().ok()?;
        let has = |flag| flags.split(',').any(|it| it == flag);
        let up = has("slave") && !has("fail") && !has("noaddr");
        Some(Self { id, epoch, replica_of: Some(primary).filter(|_| up) })
    }
}

/// Where a server sends on to, if this error says so.
pub fn redirection(error: &RedisError, told_by: &Address) -> Option<Address> {
    let redirects = matches!(error.code(), Some("MOVED" | "ASK"));
    read_redirection(error.detail().filter(|_| redirects)?, told_by)
}

/// `SLOT HOST:PORT`, with no host for that of the server that says so.
fn read_redirection(detail: &str, told_by: &Address) -> Option<Address> {
    let (host, port) = detail.split(' ').nth(1)?.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() { told_by.host.as_str() } else { host };
    Some(Address { host: host.to_owned(), port: port.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    #[test]
    fn slots_are_those_that_redis_computes() {
        // By CLUSTER KEYSLOT of Redis 7.0.
        for (key, expected) in
            [("", 0), ("foo", 12_182), ("{foo}bar", 12_182), ("foo{}", 5_542), ("{}foo", 9_500)]
        {
            assert_eq!(slot(key), expected, "{key}");
        }
        assert_eq!(crc16(b"123456789"), 0x31c3);
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn server(port: i64, id: &str) -> Value {
        Value::Array(vec![text(""), Value::Int(port), text(id), Value::Array(vec![])])
    }

    #[test]
    fn of_two_who_claim_a_slot_the_later_one_has_it_and_no_host_is_that_of_who_was_asked() {
        let told_by = Address { host: "here".into(), port: 1 };
        let slots = |port, id| {
            let range = vec![Value::Int(0), Value::Int(99), server(port, id), server(9, "replica")];
            Value::Array(vec![Value::Array(range)])
        };
        let nodes = "old here:1@2 master - 0 0 3 connected 0-99\n\
                     new here:2@3 master - 0 0 4 connected 0-99\n\
                     one here:9@8 slave new 0 0 4 connected\n\
                     two here:8@7 slave,fail? new 0 0 4 connected\n\
                     gone here:7@6 slave,fail new 0 0 4 connected\n\
                     never here:6@5 slave,nofailover new 0 0 4 connected\n";
        for order in [[(1, "old"), (2, "new")], [(2, "new"), (1, "old")]] {
            let mut claims = Claims::new();
            for (port, id) in order {
                claims.hear(&told_by, slots(port, id), text(nodes)).expect("it has the form");
            }
            let seen = claims.seen();
            let new = Address { host: "here".into(), port: 2 };
            assert_eq!(seen.replicas[&new], 3);
            assert_eq!(seen.owners[99], Some(new));
            assert_eq!(seen.owners[100], None);
            assert_eq!(seen.named.len(), 3);
        }
        assert!(Claims::new().hear(&told_by, Value::Int(1), text(nodes)).is_err());
    }

    #[test]
    fn a_redirection_may_leave_out_the_host() {
        let told_by = Address { host: "::1".into(), port: 1 };
        let there = |detail| read_redirection(detail, &told_by).expect("it is one").to_string();
        assert_eq!(there("3999 127.0.0.1:6381"), "127.0.0.1:6381");
        assert_eq!(there("3999 :6381"), "[::1]:6381");
        assert_eq!(there("3999 [fe80::1]:6381"), "[fe80::1]:6381");
        assert_eq!(read_redirection("3999", &told_by), None);
        assert_eq!(read_redirection("3999 host:", &told_by), None);
    }
}
