//! The boards and the parts of them that the rules name.

use crate::names::vocabulary;
use crate::{Square, SquareSet};

/// The shape of a board.
///
/// ```
/// use reversi_rules::Board;
/// let squares = Board::ALL.map(|board| board.playable().len());
/// assert_eq!(squares, [36, 64, 100, 88, 64]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Board {
    /// Six by six.
    B6x6 = 1,
    /// Eight by eight.
    #[default]
    B8x8 = 2,
    /// Ten by ten.
    B10x10 = 3,
    /// Ten by ten without the three squares of each corner: 88 squares.
    Octagon = 4,
    /// Ten by ten without its four corners of three by three, as in Annexation: 64 squares.
    Cross = 5,
}

vocabulary!(Board, "board",
    B6x6 => "6x6",
    B8x8 => "8x8",
    B10x10 => "10x10",
    Octagon => "octagon",
    Cross => "cross-board",
);

const OCTAGON: SquareSet = SquareSet(
    SquareSet::rectangle(2, 0, 6, 10).0
        | SquareSet::rectangle(1, 1, 8, 8).0
        | SquareSet::rectangle(0, 2, 10, 6).0,
);

const CROSS: SquareSet =
    SquareSet(SquareSet::rectangle(3, 0, 4, 10).0 | SquareSet::rectangle(0, 3, 10, 4).0);

impl Board {
    /// How many files, and as many ranks: 6, 8 or 10.
    pub const fn size(self) -> u8 {
        match self {
            Self::B6x6 => 6,
            Self::B8x8 => 8,
            Self::B10x10 | Self::Octagon | Self::Cross => 10,
        }
    }

    /// The squares that the board has.
    pub const fn playable(self) -> SquareSet {
        const FULL: [SquareSet; 3] = [
            SquareSet::rectangle(0, 0, 6, 6),
            SquareSet::rectangle(0, 0, 8, 8),
            SquareSet::rectangle(0, 0, 10, 10),
        ];
        match self {
            Self::B6x6 => FULL[0],
            Self::B8x8 => FULL[1],
            Self::B10x10 => FULL[2],
            Self::Octagon => OCTAGON,
            Self::Cross => CROSS,
        }
    }

    /// File, and rank, of the top left square of the centre.
    const fn middle(self) -> u8 {
        self.size() / 2 - 1
    }

    /// The middle two by two: top left, top right, bottom left, bottom right.
    pub const fn centre(self) -> [Square; 4] {
        let m = self.middle();
        [Square::at(m, m), Square::at(m + 1, m), Square::at(m, m + 1), Square::at(m + 1, m + 1)]
    }

    /// The centre as a set.
    pub(crate) const fn centre_set(self) -> SquareSet {
        const BY_MIDDLE: [SquareSet; 3] = [
            SquareSet::rectangle(2, 2, 2, 2),
            SquareSet::rectangle(3, 3, 2, 2),
            SquareSet::rectangle(4, 4, 2, 2),
        ];
        BY_MIDDLE[self.middle() as usize - 2]
    }

    /// The middle four by four, where no square is ever blocked.
    pub const fn central_area(self) -> SquareSet {
        let m = self.middle() - 1;
        SquareSet::rectangle(m, m, 4, 4)
    }

    /// The corners in the order in which a handicap takes them; none on the octagon and the cross
    /// board.
    ///
    /// ```
    /// use reversi_rules::Board;
    /// let corners = Board::B8x8.handicap_corners().unwrap();
    /// assert_eq!(corners.map(|corner| corner.to_string()), ["a1", "h8", "h1", "a8"]);
    /// ```
    pub const fn handicap_corners(self) -> Option<[Square; 4]> {
        let last = self.size() - 1;
        match self {
            Self::B6x6 | Self::B8x8 | Self::B10x10 => Some([
                Square::at(0, 0),
                Square::at(last, last),
                Square::at(last, 0),
                Square::at(0, last),
            ]),
            Self::Octagon | Self::Cross => None,
        }
    }

    /// The first `count` handicap corners, as far as there are any.
    pub(crate) fn handicap_set(self, count: u8) -> SquareSet {
        self.handicap_corners().into_iter().flatten().take(count.into()).collect()
    }
}
