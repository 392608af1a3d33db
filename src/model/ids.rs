//! Names and secrets: game ids, request ids and what is kept of them, tokens and what is kept of them.

use std::{fmt, sync::Arc};

use data_encoding::BASE32_NOPAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use reversi_rules::Color;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use uuid::Uuid;

/// Fills an array from the operating system.
///
/// # Panics
///
/// If the operating system has no randomness to give; nothing secret could be made then.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    bytes
}

fn sha256(domain: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(domain.as_bytes());
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

fn prefix<const N: usize>(bytes: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

/// A game's name: ours are 26 characters of base 32; a caller's may be anything of 1 to 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GameId(Arc<str>);

impl GameId {
    /// The longest id that is looked up, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// An id as a caller or a stored form gives it; its length is the caller's to check.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// A fresh id of 128 random bits.
    pub fn random() -> Self {
        Self::from_bytes(random())
    }

    /// The id of the game that this request creates: the same whenever it is repeated.
    pub fn of_request(request: &RequestId) -> Self {
        Self::from_bytes(prefix(&sha256("reversid game id", &[request.0.as_bytes()])))
    }

    fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(BASE32_NOPAD.encode(&bytes).to_ascii_lowercase().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Random bytes that a game keeps to make what is derived for it its own.
pub type Salt = [u8; 16];

/// A caller's name for one command. Secret where the command makes a token; never printed, never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct RequestId(Uuid);

impl RequestId {
    /// Reads a UUID in its 36-character form, in either case. The nil UUID is none: it is what a field holds that somebody
    /// forgot to set.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 36 {
            return None;
        }
        Uuid::try_parse(text).ok().filter(|id| !id.is_nil()).map(Self)
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestId(..)")
    }
}

/// What a game keeps of a request, with every record: enough to know it again, and a first look at whether the command
/// was the same. Short, because it is most of what a finished game weighs; what a record says itself is compared too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestMark {
    /// 48 bits of a salted hash of the request id: two of a game's hundred fall together once in 10^11 games.
    pub tag: [u8; 6],
    /// 16 bits of the command's hash.
    pub command: [u8; 2],
}

/// A salted hash of a command under its request id.
pub type CommandHash = [u8; 16];

/// The hash of `command`, its unambiguous bytes, under `request` in the game that `salt` belongs to.
pub fn command_hash(salt: &Salt, request: &RequestId, command: &[u8]) -> CommandHash {
    prefix(&sha256("reversid command", &[salt, request.0.as_bytes(), command]))
}

impl RequestMark {
    /// The mark of `command` (its unambiguous bytes) under `request` in the game that `salt` belongs to.
    pub fn new(salt: &Salt, request: &RequestId, command: &[u8]) -> Self {
        Self {
            tag: prefix(&sha256("reversid request", &[salt, request.0.as_bytes()])),
            command: {
                let [first, second, ..] = command_hash(salt, request, command);
                [first, second]
            },
        }
    }
}

/// Whose right a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Aborting and deleting the game.
    Owner,
    /// Playing one seat.
    Seat(Color),
}

/// A secret that is a right, as its holder shows it: 192 bits in base 32, so that it is one word everywhere and never looks
/// like a flag. Never printed, never stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as a caller shows it.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// A token that nobody can derive.
    pub fn random() -> Self {
        Self::encode(&random::<24>())
    }

    /// The token that `request` makes for `role`: the same whenever the request is repeated, and known to nobody who does
    /// not know the request id.
    pub fn derive(request: &RequestId, salt: &Salt, game: &GameId, role: Role) -> Self {
        let mut mac = Hmac::<Sha256>::new_from_slice(request.0.as_bytes())
            .expect("HMAC takes a key of any length");
        mac.update(salt);
        mac.update(game.as_str().as_bytes());
        mac.update(&[match role {
            Role::Owner => 0,
            Role::Seat(color) => color.number(),
        }]);
        let bytes: [u8; 32] = mac.finalize().into_bytes().into();
        Self::encode(&bytes[..24])
    }

    fn encode(bytes: &[u8]) -> Self {
        Self(BASE32_NOPAD.encode(bytes).to_ascii_lowercase())
    }

    /// What is stored of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash(prefix(&sha256("reversid token", &[self.0.as_bytes()])))
    }

    /// The text, to be shown to its holder once.
    pub fn into_text(self) -> String {
        self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// What is stored of a token. A plain hash is enough: a token has too many random bits to be guessed.
#[derive(Clone, Copy, Debug)]
pub struct TokenHash(pub [u8; 16]);

impl TokenHash {
    /// Whether both are of one token, in constant time.
    pub fn is(&self, shown: &Self) -> bool {
        self.0.ct_eq(&shown.0).into()
    }
}
