//! What the service keeps and talks about: ids, records, and the game that they fold to. No I/O, no transport, no wire
//! types.

mod game;
mod ids;
mod record;
mod time;

pub use game::{Event, Fold, Game, Seat, Stored};
pub use ids::{
    CommandHash, GameId, RequestId, RequestMark, Role, Salt, Token, TokenHash, command_hash, random,
};
pub use record::{Act, Creation, Player, Record};
pub use time::{Deadline, Lifetimes, Millis, TOMBSTONE, jittered};
