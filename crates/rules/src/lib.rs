//! The rules of Reversi and its variants.

mod board;
mod claim;
mod color;
mod game;
mod history;
mod layout;
mod moves;
mod names;
mod outcome;
mod packed;
mod perft;
mod played;
mod position;
mod rules;
mod set;
mod setup;
mod splitmix;
mod square;
mod transcript;

pub use board::Board;
pub use claim::{ParsePositionError, PositionSetup};
pub use color::{Cell, Color, ColorSet};
pub use game::{Applied, Game, InvalidParts, Refusal, Seat, Status};
pub use history::{Change, Seat0, TEXT_BYTES_MAX, Version};
pub use layout::Layout;
pub use names::UnknownName;
pub use outcome::{Counts, Outcome, Reason};
pub use packed::DecodeError;
pub use perft::{perft, perft_divide};
pub use played::{IllegalMove, IllegalResignation, MoveKind, Passes, Played, Why};
pub use position::Position;
pub use rules::{Checked, LayoutMismatch, Rules};
pub use set::{SquareSet, Squares};
pub use setup::{BlockedRequest, BlockedSetup, Fault, Objective, Opening, Setup};
pub use square::{ParseSquareError, Square};
pub use transcript::{ParseTranscriptError, Transcript};
