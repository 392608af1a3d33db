//! What a caller may ask for, and every fault of it at once.

use std::fmt;

use crate::layout::{SquareFinder, count_fault, handicap_fault};
use crate::names::vocabulary;
use crate::{Board, Checked, Layout, Square};

/// What decides the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// Most discs win.
    #[default]
    MostDiscs = 1,
    /// Fewest discs win: Anti-Reversi.
    FewestDiscs = 2,
}

vocabulary!(Objective, "objective",
    MostDiscs => "most-discs",
    FewestDiscs => "fewest-discs",
);

/// How the centre begins in a two-player game that is not multicolor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Opening {
    /// White on the top left and the bottom right, black on the other two.
    #[default]
    Cross = 1,
    /// Black on the top two, white on the bottom two.
    Parallel = 2,
    /// Empty: the players place the first four discs themselves.
    Free = 3,
}

vocabulary!(Opening, "opening",
    Cross => "cross",
    Parallel => "parallel",
    Free => "free",
);

/// One thing wrong with what a caller asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path of the field at fault, such as `blocked_squares.squares[1]`.
    pub field: String,
    /// What is wrong, in at most 110 bytes of ASCII that read on from the field's name. Text of the
    /// caller's is quoted escaped, at most 24 characters of it.
    pub problem: String,
}

impl Fault {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.problem)
    }
}

/// The caller's text, safe to print: escaped, and cut after 24 characters.
pub(crate) fn quoted(text: &str) -> String {
    const LIMIT: usize = 24;
    let mut quoted: String = text.escape_default().take(LIMIT + 1).collect();
    if quoted.len() > LIMIT {
        quoted.truncate(LIMIT - 3);
        quoted.push_str("...");
    }
    quoted
}

/// The settings of a game as a caller may claim them, sound or not.
///
/// ```
/// use reversi_rules::{Board, Setup};
/// let setup = Setup { board: Board::Cross, players: 7, handicap_corners: 1, ..Setup::default() };
/// let faults = setup.check().unwrap_err();
/// assert_eq!(faults[0].to_string(), "players takes 2 to 4 players, not 7");
/// assert_eq!(faults[1].field, "handicap_corners");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The board.
    pub board: Board,
    /// How many play, 2 to 4; 0 means 2.
    pub players: u32,
    /// What decides.
    pub objective: Objective,
    /// How the centre begins; none means the cross, and is all that a multicolor game allows.
    pub opening: Option<Opening>,
    /// On how many corners Black starts with a disc, 0 to 4.
    pub handicap_corners: u32,
    /// Whether two play by the multicolor rules; three or four always do.
    pub multicolor: bool,
    /// Blocked squares, if any are wanted.
    pub blocked: Option<BlockedSetup>,
}

/// Blocked squares as a caller may claim them: exactly one of a count, squares, or the id of a
/// stored layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockedSetup {
    /// How many to draw, 1 to 4.
    pub count: Option<u32>,
    /// The seed to draw them from; without one the seed is drawn too.
    pub seed: Option<u64>,
    /// The squares themselves, 1 to 4.
    pub squares: Vec<String>,
    /// The id of a layout that was drawn before.
    pub layout_id: Option<String>,
}

impl Setup {
    /// Whether the multicolor rules apply, as far as the number of players is one that there is.
    fn is_multicolor(&self) -> bool {
        self.multicolor || matches!(self.players, 3 | 4)
    }

    /// Checks everything that needs no look at the outside world.
    ///
    /// # Errors
    ///
    /// Every fault at once, in the order of the fields. A field that depends on another is only
    /// faulted when no sound value of the other would help.
    pub fn check(&self) -> Result<Checked, Vec<Fault>> {
        let mut faults = Vec::new();
        let multicolor = self.is_multicolor();
        if !matches!(self.players, 0 | 2..=4) {
            faults
                .push(Fault::new("players", format!("takes 2 to 4 players, not {}", self.players)));
        }
        if multicolor && matches!(self.board, Board::B6x6 | Board::Cross) {
            let problem = format!("cannot be the {} in a multicolor game", self.board);
            faults.push(Fault::new("board", problem));
        }
        if let Some(opening) = self.opening
            && multicolor
        {
            let problem = format!("cannot be {opening} in a multicolor game: leave it out");
            faults.push(Fault::new("opening", problem));
        }
        let handicap_faults = self.handicap_faults();
        let handicap = if handicap_faults.is_empty() { self.handicap_corners as u8 } else { 0 };
        faults.extend(handicap_faults);

        let blocked = match &self.blocked {
            None => BlockedRequest::None,
            Some(blocked) => blocked.check(self.board, handicap, &mut faults),
        };
        if !faults.is_empty() {
            return Err(faults);
        }
        let players = if self.players == 0 { 2 } else { self.players as u8 };
        let opening = (!multicolor).then(|| self.opening.unwrap_or_default());
        Ok(Checked::new(self.board, players, self.objective, opening, handicap, blocked))
    }

    fn handicap_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::from_iter(handicap_fault(self.board, self.handicap_corners));
        if self.is_multicolor() && self.handicap_corners > 0 {
            faults.push(Fault::new("handicap_corners", "cannot be given in a multicolor game"));
        }
        faults
    }
}

/// Where the blocked squares of a checked setup come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockedRequest {
    /// There are none.
    None,
    /// They are drawn, from this seed or from one yet to be drawn.
    Draw {
        /// How many, 1 to 4.
        count: u8,
        /// The seed, if the caller gave one.
        seed: Option<u64>,
    },
    /// They were named.
    Explicit(Layout),
    /// They are those of a layout that was stored before.
    Stored {
        /// Its id, as the caller gave it: 1 to 64 bytes.
        layout_id: String,
    },
}

impl BlockedSetup {
    /// What is asked for, which means something only when no fault is added.
    fn check(&self, board: Board, handicap: u8, faults: &mut Vec<Fault>) -> BlockedRequest {
        let fault =
            |part: &str, problem: &str| Fault::new(format!("blocked_squares{part}"), problem);
        let squares_given = !self.squares.is_empty();
        let forms = [self.count.is_some(), squares_given, self.layout_id.is_some()];
        match forms.into_iter().filter(|given| *given).count() {
            1 => {}
            0 if self.seed.is_some() => {} // The seed's own fault says what is missing.
            0 => faults.push(fault("", "needs one of count, squares and layout_id")),
            _ => faults.push(fault("", "takes only one of count, squares and layout_id")),
        }

        let mut request = BlockedRequest::None;
        if let Some(count) = self.count {
            faults.extend(count_fault("blocked_squares.count", count));
            request = BlockedRequest::Draw { count: count as u8, seed: self.seed };
        } else if self.seed.is_some() {
            faults.push(fault(".seed", "needs a count: how many squares to draw from it"));
        }
        if squares_given {
            let mut finder = SquareFinder::new(board, handicap);
            let read = self.squares.iter().map(|text| {
                text.parse::<Square>().map_err(|error| format!("\"{}\" is {error}", quoted(text)))
            });
            let field = "blocked_squares.squares";
            let found = finder.faults(field, self.squares.len(), read);
            if found.is_empty() {
                request = BlockedRequest::Explicit(Layout::of(board, handicap, finder.found, None));
            }
            faults.extend(found);
        }
        if let Some(layout_id) = &self.layout_id {
            match layout_id.len() {
                0 => faults.push(fault(".layout_id", "is empty")),
                1..=64 => request = BlockedRequest::Stored { layout_id: layout_id.clone() },
                _ => faults.push(fault(".layout_id", "is longer than 64 bytes")),
            }
        }
        request
    }
}
