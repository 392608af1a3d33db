//! The settings of a game: checked, and complete once its blocked squares are known.

use std::fmt;

use crate::packed::{self, Reader};
use crate::{
    BlockedRequest, BlockedSetup, Board, Color, ColorSet, DecodeError, Layout, Objective, Opening,
    Setup,
};

/// Settings without a fault, complete but for blocked squares that only the outside world knows: a
/// seed yet to be drawn, or a stored layout. Made by [`Setup::check`].
///
/// ```
/// use reversi_rules::{BlockedSetup, Setup};
/// let blocked = BlockedSetup { count: Some(2), ..BlockedSetup::default() };
/// let checked = Setup { blocked: Some(blocked), ..Setup::default() }.check().unwrap();
/// let layout = checked.draw(2026);
/// let rules = checked.complete(layout).unwrap();
/// assert_eq!(rules.layout().unwrap().seed(), Some(2026));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Without the layout.
    rules: Rules,
    blocked: BlockedRequest,
}

impl Checked {
    pub(crate) fn new(
        board: Board,
        players: u8,
        objective: Objective,
        opening: Option<Opening>,
        handicap: u8,
        blocked: BlockedRequest,
    ) -> Self {
        let rules = Rules { board, players, objective, opening, handicap, layout: None };
        Self { rules, blocked }
    }

    /// Where the blocked squares come from.
    pub fn blocked(&self) -> &BlockedRequest {
        &self.blocked
    }

    /// The board.
    pub fn board(&self) -> Board {
        self.rules.board
    }

    /// The handicap, 0 to 4 corners.
    pub fn handicap_corners(&self) -> u8 {
        self.rules.handicap
    }

    /// The settings as they would be without blocked squares.
    pub fn unblocked(&self) -> &Rules {
        &self.rules
    }

    /// The layout that a request to draw gets: from its own seed if it names one, else from this
    /// one. None when nothing is to be drawn.
    pub fn draw(&self, seed: u64) -> Option<Layout> {
        let BlockedRequest::Draw { count, seed: own } = self.blocked else { return None };
        let drawn = Layout::draw(self.board(), self.rules.handicap, count, own.unwrap_or(seed));
        Some(drawn.expect("the setup was checked"))
    }

    /// Completes the settings.
    ///
    /// `layout` is what the caller found for [`BlockedRequest::Stored`], or [`Checked::draw`] gave
    /// for a request to draw without a seed. The other requests need none and ignore it.
    ///
    /// # Errors
    ///
    /// A needed layout is missing, or is not one of this request.
    pub fn complete(self, layout: Option<Layout>) -> Result<Rules, LayoutMismatch> {
        let layout = match self.blocked {
            BlockedRequest::None => None,
            BlockedRequest::Explicit(layout) => Some(layout),
            BlockedRequest::Draw { seed: Some(seed), .. } => self.draw(seed),
            BlockedRequest::Draw { count, seed: None } => {
                let layout = self.fitting(layout)?;
                if layout.count() != count || layout.seed().is_none() {
                    return Err(LayoutMismatch::NotDrawn);
                }
                Some(layout)
            }
            BlockedRequest::Stored { .. } => Some(self.fitting(layout)?),
        };
        Ok(Rules { layout, ..self.rules })
    }

    /// The layout, if there is one and it is for this board and handicap.
    fn fitting(&self, layout: Option<Layout>) -> Result<Layout, LayoutMismatch> {
        let layout = layout.ok_or(LayoutMismatch::Missing)?;
        if layout.board() != self.rules.board {
            Err(LayoutMismatch::Board(layout.board()))
        } else if layout.handicap_corners() != self.rules.handicap {
            Err(LayoutMismatch::Handicap(layout.handicap_corners()))
        } else {
            Ok(layout)
        }
    }
}

/// Why a layout does not complete the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutMismatch {
    /// There is none, and the settings need one.
    Missing,
    /// It is for this other board.
    Board(Board),
    /// It is for this other handicap.
    Handicap(u8),
    /// It was not drawn, or has another number of squares than was to be drawn.
    NotDrawn,
}

impl fmt::Display for LayoutMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("needs a layout"),
            Self::Board(board) => write!(f, "is of a layout for the {board} board"),
            Self::Handicap(0) => f.write_str("is of a layout for a game without a handicap"),
            Self::Handicap(corners) => {
                write!(f, "is of a layout for a handicap of {corners}")
            }
            Self::NotDrawn => f.write_str("is of a layout that was not drawn for this request"),
        }
    }
}

impl std::error::Error for LayoutMismatch {}

/// The settings of a game, complete and sound. The default is the plain game on 8x8.
///
/// Equality covers everything, the seed of the blocked squares included.
///
/// ```
/// use reversi_rules::{Color, Rules, Setup};
/// let rules = Setup { players: 3, ..Setup::default() }.check().unwrap().complete(None).unwrap();
/// assert!(rules.multicolor());
/// assert_eq!(rules.colors().last(), Some(Color::Red));
/// assert_eq!(Rules::from_bytes(&rules.to_bytes()), Ok(rules));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    board: Board,
    players: u8,
    objective: Objective,
    /// None exactly in a multicolor game.
    opening: Option<Opening>,
    handicap: u8,
    layout: Option<Layout>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            board: Board::default(),
            players: 2,
            objective: Objective::default(),
            opening: Some(Opening::default()),
            handicap: 0,
            layout: None,
        }
    }
}

impl Rules {
    /// The board.
    pub const fn board(&self) -> Board {
        self.board
    }

    /// How many play, 2 to 4.
    pub const fn players(&self) -> u8 {
        self.players
    }

    /// What decides.
    pub const fn objective(&self) -> Objective {
        self.objective
    }

    /// How the centre begins; none in a multicolor game.
    pub const fn opening(&self) -> Option<Opening> {
        self.opening
    }

    /// On how many corners Black starts with a disc, 0 to 4.
    pub const fn handicap_corners(&self) -> u8 {
        self.handicap
    }

    /// Whether the multicolor rules apply, as they always do for three or four.
    pub const fn multicolor(&self) -> bool {
        self.opening.is_none()
    }

    /// The blocked squares, if there are any.
    pub const fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// The players' colours in turn order.
    pub fn colors(&self) -> impl DoubleEndedIterator<Item = Color> + Clone {
        self.color_set().iter()
    }

    /// The players' colours as a set.
    pub const fn color_set(&self) -> ColorSet {
        ColorSet::of_players(self.players)
    }

    /// The setup that gives these rules again, with every default and the seed filled in.
    ///
    /// ```
    /// use reversi_rules::{Opening, Rules};
    /// let setup = Rules::default().to_setup();
    /// assert_eq!((setup.players, setup.opening), (2, Some(Opening::Cross)));
    /// assert_eq!(setup.check().unwrap().complete(None), Ok(Rules::default()));
    /// ```
    pub fn to_setup(&self) -> Setup {
        let blocked = self.layout.map(|layout| match layout.seed() {
            Some(seed) => BlockedSetup {
                count: Some(layout.count().into()),
                seed: Some(seed),
                ..BlockedSetup::default()
            },
            None => BlockedSetup {
                squares: layout.squares().iter().map(ToString::to_string).collect(),
                ..BlockedSetup::default()
            },
        });
        Setup { blocked, ..self.setup_without_blocked() }
    }

    fn setup_without_blocked(&self) -> Setup {
        Setup {
            board: self.board,
            players: self.players.into(),
            objective: self.objective,
            opening: self.opening,
            handicap_corners: self.handicap.into(),
            multicolor: self.multicolor(),
            blocked: None,
        }
    }

    /// The stored form: a version byte, then the rules as a history's canonical bytes have them; at
    /// most 26 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![packed::VERSION];
        self.put(&mut bytes);
        bytes
    }

    /// Writes board, players, objective, opening (0: none), handicap, multicolor, and the layout
    /// (form 00: none).
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend([
            self.board.number(),
            self.players,
            self.objective.number(),
            self.opening.map_or(0, Opening::number),
            self.handicap,
            self.multicolor().into(),
        ]);
        match &self.layout {
            None => bytes.push(0),
            Some(layout) => layout.put(bytes),
        }
    }

    /// Reads what [`Rules::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// Any other bytes; where they are well-formed but break the rules, every fault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes)?;
        let setup = Setup {
            board: reader.number(Board::from_number)?,
            players: reader.u8()?.into(),
            objective: reader.number(Objective::from_number)?,
            opening: match reader.u8()? {
                0 => None,
                number => Some(Opening::from_number(number).ok_or(DecodeError::Malformed)?),
            },
            handicap_corners: reader.u8()?.into(),
            multicolor: reader.flag()?,
            blocked: None,
        };
        let rules = setup.check()?.rules;
        if rules.setup_without_blocked() != setup {
            return Err(DecodeError::Malformed);
        }
        let layout = Layout::read(&mut reader, rules.board, rules.handicap)?;
        reader.end()?;
        Ok(Self { layout, ..rules })
    }
}
