//! How a game ended, and the disc counts that decided it.

use std::fmt;

use crate::names::vocabulary;
use crate::{Color, ColorSet};

/// Why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Nobody could place a disc any more.
    NoMoves = 1,
    /// One player was left after the others resigned.
    Resignation = 2,
    /// It was called off.
    Aborted = 3,
}

vocabulary!(Reason, "reason",
    NoMoves => "no-moves",
    Resignation => "resignation",
    Aborted => "aborted",
);

/// The players' disc counts.
///
/// ```
/// use reversi_rules::{Color, Position, Rules};
/// let counts = Position::start(&Rules::default()).counts();
/// assert_eq!(counts.iter().collect::<Vec<_>>(), [(Color::Black, 2), (Color::White, 2)]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counts {
    players: ColorSet,
    discs: [u8; 4],
}

impl Counts {
    pub(crate) fn new(players: ColorSet, discs: impl Fn(Color) -> u32) -> Self {
        Self { players, discs: Color::ALL.map(|color| discs(color) as u8) }
    }

    /// The colour's discs, 0 for a colour that does not play.
    pub const fn of(&self, color: Color) -> u32 {
        self.discs[color.index()] as u32
    }

    /// Each player's colour and discs, in turn order.
    pub fn iter(&self) -> impl Iterator<Item = (Color, u32)> + use<> {
        let counts = *self;
        self.players.iter().map(move |color| (color, counts.of(color)))
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The winner; nobody in a draw and in an aborted game.
    pub winners: ColorSet,
    /// Whether the best among the players left are equal.
    pub draw: bool,
    /// Why the game ended.
    pub reason: Reason,
    /// Everybody's discs at the end, those who resigned included.
    pub counts: Counts,
}
