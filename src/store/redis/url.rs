//! Where Redis is, as `--store` names it: one server, the primary that Sentinels name, or a Cluster; plain or by TLS.
//!
//! What is told of a URL that cannot be used names the part at fault and never shows it: it may hold a password.

use std::{fmt, sync::Arc};

use percent_encoding::percent_decode_str;
use redis::{
    Client, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion, RedisConnectionInfo,
    RedisResult, TlsCertificates,
};
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

/// The forms, for people.
pub const FORMS: &str = "redis://HOST:PORT, redis-sentinel://HOST:PORT,…/NAME or \
                         redis-cluster://HOST:PORT,…, and rediss… for TLS";

const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// How many hosts a URL may name.
const HOSTS_MAX: usize = 64;

/// A server's address, as it is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// A name or an address; of IPv6 without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

/// How the servers belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The one server is all.
    Standalone,
    /// The hosts are Sentinels, which name the primary.
    Sentinel {
        /// What they know it by.
        name: String,
    },
    /// The hosts are some of a Cluster's.
    Cluster,
}

/// Who we are to a server.
#[derive(Clone, Default)]
struct Login {
    user: Option<String>,
    password: Option<String>,
}

/// Where Redis is, and who we are to it. Shown without any password.
#[derive(Clone)]
pub struct RedisUrl {
    kind: Kind,
    hosts: Vec<Address>,
    tls: bool,
    login: Login,
    sentinel_login: Login,
    database: i64,
    /// Whom to trust in place of whom the system trusts, as PEM.
    ca: Option<Arc<Vec<u8>>>,
    replicated: bool,
}

impl RedisUrl {
    /// Whether a URL of this scheme is read here.
    pub fn has_scheme(scheme: &str) -> bool {
        schemed(scheme).is_some()
    }

    /// Reads a URL.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for people, without its password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| format!("write {FORMS}"))?;
        let (mut kind, tls) = schemed(scheme).ok_or_else(|| format!("write {FORMS}"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if path.contains('@') || query.contains('@') || authority.contains('#') {
            return Err("a /, ?, # or @ in a user or password is written %2F, %3F, %23, %40".into());
        }
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (Login::parse(login)?, hosts),
            None => (Login::default(), authority),
        };
        let sentinel = matches!(kind, Kind::Sentinel { .. });
        let hosts = parse_hosts(hosts, if sentinel { SENTINEL_PORT } else { PORT })?;
        let mut database = path;
        if let Kind::Sentinel { name } = &mut kind {
            let (text, after) = path.split_once('/').unwrap_or((path, ""));
            *name = decoded(text)?;
            database = after;
            if name.is_empty() {
                let what = "name the primary that the Sentinels watch";
                return Err(format!("{what}: {scheme}://HOST:PORT,…/NAME"));
            }
        }
        let database = match database {
            "" => 0,
            number => number
                .parse()
                .ok()
                .filter(|number: &i64| *number >= 0)
                .ok_or("the database is no number, such as /0")?,
        };
        match kind {
            Kind::Standalone if hosts.len() > 1 => {
                return Err("several hosts are a redis-cluster:// or a redis-sentinel://".into());
            }
            Kind::Cluster if database != 0 => return Err("a Cluster has database 0 alone".into()),
            Kind::Standalone | Kind::Sentinel { .. } | Kind::Cluster => {}
        }
        let sentinel_login = parse_query(query, sentinel)?;
        let (ca, replicated) = (None, false);
        Ok(Self { kind, hosts, tls, login, sentinel_login, database, ca, replicated })
    }

    /// Trusts the certificates in `pem`, and no others.
    ///
    /// # Errors
    ///
    /// For people: there is none in it, or the URL asks for no TLS.
    pub fn trusting(mut self, pem: Vec<u8>) -> Result<Self, String> {
        if !self.tls {
            return Err("is for TLS: the store's URL must begin with rediss".into());
        }
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        if !certificates.is_ok_and(|certificates| !certificates.is_empty()) {
            return Err("holds no certificates in PEM form".into());
        }
        self.ca = Some(Arc::new(pem));
        self.client(&self.hosts[0]).map_err(|error| format!("cannot be used: {error}"))?;
        Ok(self)
    }

    /// Has a change acknowledged only once a replica has it as well.
    pub fn replicated(mut self) -> Self {
        self.replicated = true;
        self
    }

    /// Whether [`Self::replicated`].
    pub fn is_replicated(&self) -> bool {
        self.replicated
    }

    /// How its servers belong together.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The hosts that it names: at least one.
    pub fn hosts(&self) -> &[Address] {
        &self.hosts
    }

    /// Connects to a server with games.
    ///
    /// # Errors
    ///
    /// Those of certificates that cannot be used.
    pub fn client(&self, address: &Address) -> RedisResult<Client> {
        self.client_as(address, &self.login, self.database)
    }

    /// Connects to a Sentinel.
    ///
    /// # Errors
    ///
    /// Those of certificates that cannot be used.
    pub fn sentinel(&self, address: &Address) -> RedisResult<Client> {
        self.client_as(address, &self.sentinel_login, 0)
    }

    fn client_as(&self, address: &Address, login: &Login, database: i64) -> RedisResult<Client> {
        let Address { host, port } = address.clone();
        let address = match self.tls {
            true => ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None },
            false => ConnectionAddr::Tcp(host, port),
        };
        // Pushes tell of messages and of a lost connection without being asked.
        let mut settings =
            RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP3).set_db(database);
        if let Some(user) = &login.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &login.password {
            settings = settings.set_password(password);
        }
        let info = address.into_connection_info()?.set_redis_settings(settings);
        match &self.ca {
            Some(ca) => {
                let root_cert = Some(ca.as_ref().clone());
                Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
            None => Client::open(info),
        }
    }
}

/// What a scheme stands for, and whether by TLS.
fn schemed(scheme: &str) -> Option<(Kind, bool)> {
    let (kind, tls) = match scheme.strip_prefix("rediss") {
        Some(kind) => (kind, true),
        None => (scheme.strip_prefix("redis")?, false),
    };
    let kind = match kind {
        "" => Kind::Standalone,
        "-sentinel" => Kind::Sentinel { name: String::new() },
        "-cluster" => Kind::Cluster,
        _ => return None,
    };
    Some((kind, tls))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| "a %… in it is no UTF-8".into())
}

impl Login {
    fn parse(text: &str) -> Result<Self, String> {
        let (user, password) = text.split_once(':').ok_or("a user comes with a :PASSWORD")?;
        if password.is_empty() {
            return Err("the password is empty".into());
        }
        let user = Some(decoded(user)?).filter(|user| !user.is_empty());
        Ok(Self { user, password: Some(decoded(password)?) })
    }
}

fn parse_hosts(text: &str, port: u16) -> Result<Vec<Address>, String> {
    let hosts: Vec<_> = text.split(',').collect();
    if hosts.len() > HOSTS_MAX {
        return Err(format!("it names more than {HOSTS_MAX} hosts"));
    }
    let named = |(index, host)| {
        let which = match hosts.len() {
            1 => String::new(),
            _ => format!(" of host {}", index + 1),
        };
        parse_host(host, port).map_err(|problem| format!("{problem}{which}"))
    };
    hosts.iter().enumerate().map(named).collect()
}

fn parse_host(text: &&str, port: u16) -> Result<Address, String> {
    let (host, after) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("there is no ] after the address")?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match after.strip_prefix(':') {
        Some(number) => number.parse().ok().filter(|port| *port > 0),
        None if after.is_empty() => Some(port),
        None => None,
    };
    let port = port.ok_or("there is no number from 1 to 65535 for the port")?;
    let sound = |c: char| c.is_ascii_alphanumeric() || ".-_:".contains(c);
    match host {
        "" => Err("there is no name".into()),
        host if host.chars().all(sound) => Ok(Address { host: host.to_owned(), port }),
        _ => Err("there is something that no name or address has in that".into()),
    }
}

fn parse_query(query: &str, sentinel: bool) -> Result<Login, String> {
    let mut login = Login::default();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("sentinel_user", user)) if sentinel => login.user = Some(decoded(user)?),
            Some(("sentinel_password", password)) if sentinel => {
                login.password = Some(decoded(password)?);
            }
            _ => {
                return Err("after ? come sentinel_user and sentinel_password of a \
                            redis-sentinel://, and nothing else"
                    .into());
            }
        }
    }
    match login {
        Login { user: Some(_), password: None } => {
            Err("sentinel_user comes with a sentinel_password".into())
        }
        login => Ok(login),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<_> = self.hosts.iter().map(Address::to_string).collect();
        let (hosts, tls) = (hosts.join(","), if self.tls { "s" } else { "" });
        match &self.kind {
            Kind::Standalone => write!(f, "redis{tls}://{hosts}/{}", self.database),
            Kind::Sentinel { name } => {
                write!(f, "redis{tls}-sentinel://{hosts}/{name}/{}", self.database)
            }
            Kind::Cluster => write!(f, "redis{tls}-cluster://{hosts}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RedisUrl;

    #[track_caller]
    fn shown(url: &str) -> String {
        RedisUrl::parse(url).map_or_else(|problem| panic!("{problem}"), |url| url.to_string())
    }

    #[test]
    fn every_form_is_read_and_shown_without_its_password() {
        assert_eq!(shown("redis://localhost"), "redis://localhost:6379/0");
        assert_eq!(shown("rediss://me:secret@[::1]:7/3"), "rediss://[::1]:7/3");
        assert_eq!(shown("redis://:p%40%2Fw@host/"), "redis://host:6379/0");
        assert_eq!(
            shown("redis-sentinel://me:secret@a,b:7/main/2?sentinel_user=x&sentinel_password=y"),
            "redis-sentinel://a:26379,b:7/main/2"
        );
        assert_eq!(shown("rediss-sentinel://a/main"), "rediss-sentinel://a:26379/main/0");
        assert_eq!(shown("redis-cluster://:secret@a:1,b:2,c"), "redis-cluster://a:1,b:2,c:6379");
        assert_eq!(shown("rediss-cluster://a/0"), "rediss-cluster://a:6379");
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not_shown() {
        for (url, named) in [
            ("redis:localhost", "write redis://"),
            ("redis-sentinel://a,b", "/NAME"),
            ("redis-sentinel://a,b/", "/NAME"),
            ("redis://", "no name"),
            ("redis://secret@host", ":PASSWORD"),
            ("redis://me:@host", "empty"),
            ("redis://me:se/cret@host", "%2F"),
            ("redis://me:se?cret@host", "%2F"),
            ("redis://me:se#cret@host", "%23"),
            ("redis://:secret@host:0", "65535"),
            ("redis://:secret@host:66000", "65535"),
            ("redis://:secret@host:secret", "65535"),
            ("redis://:secret@[::1", "]"),
            ("redis://:secret@ho st", "name or address"),
            ("redis://:secret@host/secret", "database"),
            ("redis://:secret@host/-1", "database"),
            ("redis://:secret@a,b", "redis-cluster://"),
            ("redis-cluster://:secret@a,b:secret", "of host 2"),
            ("redis-cluster://:secret@a,,c", "of host 2"),
            ("redis-cluster://a/1", "database 0"),
            ("redis://a?sentinel_password=secret", "nothing else"),
            ("redis-sentinel://a/main?sentinel_user=secret", "sentinel_password"),
            ("redis-sentinel://a/main?pass=secret", "nothing else"),
            ("redis://me:%ff@host", "UTF-8"),
        ] {
            let problem = RedisUrl::parse(url).err().unwrap_or_else(|| panic!("{url} is refused"));
            assert!(problem.contains(named), "{url}: {problem}");
            assert!(!problem.contains("secret"), "{url}: {problem}");
        }
    }
}
