//! What a placement did, or why there was none.

use std::fmt;

use crate::names::vocabulary;
use crate::{Color, Square, SquareSet};

/// What the legal placements of a moment do. It is the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveKind {
    /// They outflank, and flip.
    Flip = 1,
    /// They fill the centre in a free opening.
    Opening = 2,
    /// They touch a disc and flip nothing: a multicolor player who cannot flip.
    Adjacent = 3,
}

vocabulary!(MoveKind, "move kind",
    Flip => "flip",
    Opening => "opening",
    Adjacent => "adjacent",
);

/// What a placement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// Who placed.
    pub color: Color,
    /// Where.
    pub square: Square,
    /// What kind of move it was.
    pub kind: MoveKind,
    /// The discs that it flipped.
    pub flips: SquareSet,
    /// Who then had to pass.
    pub passed: Passes,
}

/// The colours that had to pass after a move, in order: at most one. Empty when the move ended the
/// game, and in multicolor games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Passes(Option<Color>);

impl Passes {
    pub(crate) const fn of(color: Color) -> Self {
        Self(Some(color))
    }

    /// The colours in order.
    pub fn iter(self) -> impl Iterator<Item = Color> {
        self.0.into_iter()
    }

    /// How many passed.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether nobody had to.
    pub const fn is_empty(self) -> bool {
        self.0.is_none()
    }
}

/// A placement that the rules do not allow now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IllegalMove {
    /// Where the disc was to go.
    pub square: Square,
    /// Why it cannot.
    pub why: Why,
}

/// Why a placement is illegal. The first that applies is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The game is over.
    GameOver,
    /// The board has no such square.
    Outside,
    /// The square is blocked.
    Blocked,
    /// The square holds a disc.
    Occupied,
    /// The opening is free and the centre not yet full: the disc must go there.
    NotCentre,
    /// It outflanks nothing, and the mover can flip elsewhere.
    FlipsNothing,
    /// The mover can flip nowhere, and the square touches no disc.
    NotAdjacent,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GameOver => "the game is over",
            Self::Outside => "the square is not on this board",
            Self::Blocked => "the square is blocked",
            Self::Occupied => "the square holds a disc",
            Self::NotCentre => "the disc must go to the centre, which is filled first",
            Self::FlipsNothing => "the disc would flip nothing",
            Self::NotAdjacent => "the square touches no disc",
        })
    }
}

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.square, self.why)
    }
}

impl std::error::Error for IllegalMove {}

/// Why a colour cannot resign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IllegalResignation {
    /// Nobody plays it.
    NoSuchColor,
    /// The game is over.
    GameOver,
    /// It has resigned before.
    Resigned,
}

impl fmt::Display for IllegalResignation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchColor => "nobody plays this colour",
            Self::GameOver => "the game is over",
            Self::Resigned => "this colour has resigned before",
        })
    }
}

impl std::error::Error for IllegalResignation {}
