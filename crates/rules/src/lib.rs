//! The rules of Reversi and its variants: whole games of two to four players on five boards, with
//! every opening, handicap, blocked squares, Anti-Reversi and the multicolor game.
//!
//! Pure: no I/O, no clock, no randomness of its own, no `unsafe`, and only SHA-256 as a dependency,
//! so that services, bots and clients judge a move alike.
//!
//! # A tour
//!
//! What a caller asks for is a [`Setup`], sound or not; checking it names every fault at once, or
//! gives [`Rules`]. A [`Position`] is always one that the rules allow.
//!
//! ```
//! use reversi_rules::{Board, Color, MoveKind, Opening, Position, Setup};
//!
//! let asked = Setup { board: Board::Octagon, handicap_corners: 5, ..Setup::default() };
//! let faults = asked.check().unwrap_err();
//! assert_eq!(faults[0].to_string(), "handicap_corners takes 0 to 4 corners, not 5");
//!
//! let asked = Setup { opening: Some(Opening::Free), ..Setup::default() };
//! let rules = asked.check().unwrap().complete(None)?;
//! let mut position = Position::start(&rules);
//! for square in ["d4", "e4", "e5", "d5"] {
//!     assert_eq!(position.move_kind(), Some(MoveKind::Opening));
//!     position.play(square.parse()?)?;
//! }
//!
//! // The rest of the game, always at the first legal square.
//! while let Some(square) = position.legal_moves().iter().next() {
//!     let played = position.play(square)?;
//!     for color in played.passed.iter() {
//!         println!("after {square} {color} must pass");
//!     }
//! }
//! let outcome = position.outcome().expect("nobody can move");
//! let [black, white] = [Color::Black, Color::White].map(|color| outcome.counts.of(color));
//! assert_eq!(outcome.winners.contains(Color::Black), black > white);
//! println!("{}\n{black} to {white}", position.board_text().replace('/', "\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Game`] adds the seats: it is what a history of [`Change`]s folds to, and its [`Version`]
//! proves that history by a digest.
//!
//! # What lasts
//!
//! Never changed by a release: the numbers and names of the vocabularies, square names, the squares
//! that layout algorithm 1 draws from a seed, layout ids, [`Change::canonical_bytes`] and the digests
//! over them. The byte forms of [`Rules`], [`Layout`] and [`Position`] begin with a version; a later
//! release reads them all.
//!
//! # What the rules leave open
//!
//! - A move outflanks over blocked squares no more than over the board's edge.
//! - Who resigns when the others have no move still loses, and the last one left wins without one.
//! - A position that is claimed, as text or bytes, is checked for what no game could undo: the
//!   start's squares hold discs, colours play, turns and the end are right. Whether play from the
//!   start reaches it is not asked.
//!
//! # Inside
//!
//! Squares are bits of one 128-bit number with a row pitch of eleven for every board, so that one
//! numbering serves all, and a shift off a side lands in a column that is in no mask. Two-player
//! and multicolor moves are one generation: own discs against all others.

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
pub use history::{Change, NewSeat, TEXT_BYTES_MAX, Version};
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
