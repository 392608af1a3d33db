//! The changes of a game, and the version that their history proves.

use sha2::{Digest, Sha256};

use crate::packed::put_square;
use crate::{Color, Rules, Square};

/// The most bytes of a text in a change.
pub const TEXT_BYTES_MAX: usize = 64;

/// One thing that happens to a game: its creation first, then one of the others each time.
///
/// Texts are at most [`TEXT_BYTES_MAX`] bytes, which [`Game`](crate::Game) checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The game comes to be.
    Created {
        /// Its id.
        game_id: String,
        /// Its rules.
        rules: Rules,
        /// Its seats in turn order, one for each player.
        seats: Vec<NewSeat>,
    },
    /// A player takes an open seat.
    SeatClaimed {
        /// The seat.
        color: Color,
        /// The caller's own name for the player, may be empty.
        player_id: String,
    },
    /// The player to move places a disc. Flips, passes and the end of the game follow from it.
    MovePlayed {
        /// The player.
        color: Color,
        /// Where the disc goes.
        square: Square,
    },
    /// A player gives up.
    Resigned {
        /// The player.
        color: Color,
    },
    /// The game is called off.
    Aborted,
}

/// A seat as the creation of its game leaves it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSeat {
    /// Whether it is taken from the start.
    pub claimed: bool,
    /// The caller's own name for the player, may be empty.
    pub player_id: String,
}

impl Change {
    /// The bytes that the digest covers, which no release changes: squares are two bytes, file and
    /// rank from 0; a text is its length in one byte and its UTF-8; integers are big-endian.
    ///
    /// - created: 01, game id, board, players, objective, opening (0: none), handicap, multicolor
    ///   (0 or 1), layout, the number of seats, and for each claimed (0 or 1) and player id. The
    ///   layout is 00 (none), or 01 (explicit) or 02, algorithm and seed in eight bytes (drawn),
    ///   and then the number of squares and the squares row by row.
    /// - seat claimed: 02, colour, player id.
    /// - move played: 03, colour, square.
    /// - resigned: 04, colour.
    /// - aborted: 05.
    ///
    /// Boards, colours, objectives and openings are their numbers. A text beyond 255 bytes, which
    /// no game accepts, is cut.
    pub fn canonical_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(32);
        match self {
            Self::Created { game_id, rules, seats } => {
                bytes.push(1);
                put_text(&mut bytes, game_id);
                rules.put(&mut bytes);
                bytes.push(seats.len() as u8);
                for seat in seats {
                    bytes.push(seat.claimed.into());
                    put_text(&mut bytes, &seat.player_id);
                }
            }
            Self::SeatClaimed { color, player_id } => {
                bytes.extend([2, color.number()]);
                put_text(&mut bytes, player_id);
            }
            Self::MovePlayed { color, square } => {
                bytes.extend([3, color.number()]);
                put_square(&mut bytes, *square);
            }
            Self::Resigned { color } => bytes.extend([4, color.number()]),
            Self::Aborted => bytes.push(5),
        }
        bytes
    }

    /// The texts of the change.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, seats): (Option<&str>, &[NewSeat]) = match self {
            Self::Created { game_id, seats, .. } => (Some(game_id), seats),
            Self::SeatClaimed { player_id, .. } => (Some(player_id), &[]),
            Self::MovePlayed { .. } | Self::Resigned { .. } | Self::Aborted => (None, &[]),
        };
        first.into_iter().chain(seats.iter().map(|seat| seat.player_id.as_str()))
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let text = &text.as_bytes()[..text.len().min(255)];
    bytes.push(text.len() as u8);
    bytes.extend(text);
}

/// How far a game's history goes, and a digest of all of it: equal versions mean equal histories.
///
/// ```
/// use reversi_rules::{Change, Color, Version};
/// let change = Change::Resigned { color: Color::White };
/// let version = Version::ZERO.next(&change);
/// assert_eq!(version.revision, 1);
/// assert_ne!(version.digest, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// How many changes, creation included.
    pub revision: u64,
    /// The digest of the changes; 0 only before the first.
    pub digest: u64,
}

impl Version {
    /// The version of no history at all, to which the creation is next.
    pub const ZERO: Self = Self { revision: 0, digest: 0 };

    /// The version after one more change. The digest is the first 8 bytes, big-endian, of the
    /// SHA-256 of the digest so far (8 bytes, big-endian) and the change's canonical bytes; 1
    /// instead of 0.
    #[must_use]
    pub fn next(self, change: &Change) -> Self {
        let mut hash = Sha256::new();
        hash.update(self.digest.to_be_bytes());
        hash.update(change.canonical_bytes());
        let hash = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        Self { revision: self.revision.saturating_add(1), digest: u64::from_be_bytes(first).max(1) }
    }
}
