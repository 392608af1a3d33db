//! A game under way: where the discs lie, whose turn it is, and what a placement or a resignation
//! does.
//!
//! Two-player and multicolor games differ in three places only: how the centre begins, that a
//! multicolor player who cannot flip places next to any disc, and what follows from that: nobody
//! passes.

use std::fmt;

use crate::outcome::Counts;
use crate::{
    Cell, Color, ColorSet, IllegalMove, IllegalResignation, MoveKind, Objective, Opening, Outcome,
    Passes, Played, Reason, Rules, Square, SquareSet, Why, moves,
};

/// A position that a game by its rules can hold: the rules, the discs, who is to move and who
/// resigned.
///
/// Equality covers all of that, and so the seed of the blocked squares. The number of discs placed
/// follows from the discs on the board, for none ever leaves it.
///
/// ```
/// use reversi_rules::{Position, Rules};
/// let mut position = Position::start(&Rules::default());
/// let played = position.play("d3".parse()?)?;
/// assert_eq!(played.flips.iter().map(|square| square.to_string()).collect::<Vec<_>>(), ["d4"]);
/// assert_eq!(position.board_text().split('/').nth(2), Some("---B----"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Position {
    pub(crate) rules: Rules,
    /// The squares that can hold a disc: of the board and not blocked.
    pub(crate) open: SquareSet,
    /// The discs by colour, neutral ones last.
    pub(crate) discs: [SquareSet; 5],
    /// None once the game is over.
    pub(crate) to_move: Option<Color>,
    pub(crate) resigned: ColorSet,
}

/// Where neutral discs are among the discs.
pub(crate) const NEUTRAL: usize = 4;

impl Position {
    /// The position before the first disc is placed.
    ///
    /// ```
    /// use reversi_rules::{Opening, Position, Rules, Setup};
    /// let setup = Setup { opening: Some(Opening::Free), ..Setup::default() };
    /// let rules = setup.check().unwrap().complete(None).unwrap();
    /// assert!(Position::start(&rules).occupied().is_empty());
    /// ```
    pub fn start(rules: &Rules) -> Self {
        let board = rules.board();
        let [top_left, top_right, bottom_left, bottom_right] = board.centre();
        let (black, white) = (Color::Black.index(), Color::White.index());
        let mut discs = [SquareSet::EMPTY; 5];
        match rules.opening() {
            Some(Opening::Cross) => {
                discs[white] = [top_left, bottom_right].into_iter().collect();
                discs[black] = [top_right, bottom_left].into_iter().collect();
            }
            Some(Opening::Parallel) => {
                discs[black] = [top_left, top_right].into_iter().collect();
                discs[white] = [bottom_left, bottom_right].into_iter().collect();
            }
            Some(Opening::Free) => {}
            None => {
                let clockwise = [top_left, top_right, bottom_right, bottom_left];
                for (square, color) in clockwise.into_iter().zip(Color::ALL) {
                    let plays = rules.color_set().contains(color);
                    discs[if plays { color.index() } else { NEUTRAL }].insert(square);
                }
            }
        }
        discs[black] |= board.handicap_set(rules.handicap_corners());
        let blocked = rules.layout().map_or(SquareSet::EMPTY, |layout| layout.square_set());
        Self {
            rules: *rules,
            open: board.playable() - blocked,
            discs,
            to_move: Some(Color::Black),
            resigned: ColorSet::EMPTY,
        }
    }

    /// The rules that the game is played by.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What the square holds.
    pub fn cell(&self, square: Square) -> Cell {
        if !self.rules.board().playable().contains(square) {
            Cell::Outside
        } else if !self.open.contains(square) {
            Cell::Blocked
        } else if self.discs[NEUTRAL].contains(square) {
            Cell::Neutral
        } else {
            let holds = |color: &Color| self.discs(*color).contains(square);
            Color::ALL.into_iter().find(holds).map_or(Cell::Empty, Cell::Disc)
        }
    }

    /// The colour's discs.
    pub const fn discs(&self, color: Color) -> SquareSet {
        self.discs[color.index()]
    }

    /// All discs, neutral ones included.
    pub fn occupied(&self) -> SquareSet {
        self.discs.into_iter().fold(SquareSet::EMPTY, |all, discs| all | discs)
    }

    /// The squares that are free to take a disc, whatever the rules say of them now.
    pub fn empty(&self) -> SquareSet {
        self.open - self.occupied()
    }

    /// How many discs have been placed since the start.
    pub fn ply(&self) -> u32 {
        let centre = if self.rules.opening() == Some(Opening::Free) { 0 } else { 4 };
        self.occupied().len() - centre - u32::from(self.rules.handicap_corners())
    }

    /// Whose turn it is; nobody's once the game is over.
    pub const fn to_move(&self) -> Option<Color> {
        self.to_move
    }

    /// Who has resigned.
    pub const fn resigned(&self) -> ColorSet {
        self.resigned
    }

    /// How many discs the colour has.
    pub const fn count(&self, color: Color) -> u32 {
        self.discs(color).len()
    }

    /// Every player's discs.
    pub fn counts(&self) -> Counts {
        Counts::new(self.rules.color_set(), |color| self.count(color))
    }

    /// What the colour could do if it were its turn: the squares it could place on, and what that
    /// would do. Empty only when it would have to pass or the game is over.
    pub(crate) fn placements(&self, color: Color) -> (MoveKind, SquareSet) {
        let occupied = self.occupied();
        let empty = self.open - occupied;
        // The centre is full from the start but in a free opening, and discs stay.
        let centre = self.rules.board().centre_set() & empty;
        if !centre.is_empty() {
            return (MoveKind::Opening, centre);
        }
        let own = self.discs(color);
        let outflanking = moves::outflanking(own, occupied - own, empty);
        if outflanking.is_empty() && self.rules.multicolor() {
            (MoveKind::Adjacent, moves::touching(occupied, empty))
        } else {
            (MoveKind::Flip, outflanking)
        }
    }

    /// Where the colour to move may place; nowhere once the game is over, and somewhere before.
    ///
    /// ```
    /// use reversi_rules::{Position, Rules, Transcript};
    /// let legal = Position::start(&Rules::default()).legal_moves();
    /// assert_eq!(Transcript(legal.iter().collect()).to_string(), "d3c4f5e6");
    /// ```
    pub fn legal_moves(&self) -> SquareSet {
        self.to_move.map_or(SquareSet::EMPTY, |color| self.placements(color).1)
    }

    /// What all legal moves do; none once the game is over.
    pub fn move_kind(&self) -> Option<MoveKind> {
        self.to_move.map(|color| self.placements(color).0)
    }

    /// The discs that placing on the square would flip; none when it flips nothing or is not legal.
    ///
    /// ```
    /// use reversi_rules::{Position, Rules, Square};
    /// let start = Position::start(&Rules::default());
    /// let flipped = |name: &str| start.flips_of(name.parse().unwrap()).len();
    /// assert_eq!((flipped("d3"), flipped("a1")), (1, 0));
    /// ```
    pub fn flips_of(&self, square: Square) -> SquareSet {
        match self.to_move {
            Some(color) => match self.placements(color) {
                (MoveKind::Flip, legal) if legal.contains(square) => self.flips(color, square),
                (MoveKind::Flip | MoveKind::Opening | MoveKind::Adjacent, _) => SquareSet::EMPTY,
            },
            None => SquareSet::EMPTY,
        }
    }

    fn flips(&self, color: Color, square: Square) -> SquareSet {
        let own = self.discs(color);
        moves::flips(own, self.occupied() - own, square)
    }

    /// Places a disc for the colour to move, flips what it outflanks, and hands the turn to the
    /// next colour that can move, or ends the game.
    ///
    /// # Errors
    ///
    /// The placement is not legal; the position is unchanged.
    ///
    /// ```
    /// use reversi_rules::{Color, Position, Rules, Why};
    /// let mut position = Position::start(&Rules::default());
    /// position.play("d3".parse().unwrap()).unwrap();
    /// assert_eq!(position.to_move(), Some(Color::White));
    /// let illegal = position.play("d3".parse().unwrap()).unwrap_err();
    /// assert_eq!(illegal.why, Why::Occupied);
    /// ```
    pub fn play(&mut self, square: Square) -> Result<Played, IllegalMove> {
        let illegal = |why| IllegalMove { square, why };
        let color = self.to_move.ok_or(illegal(Why::GameOver))?;
        let (kind, legal) = self.placements(color);
        if !legal.contains(square) {
            return Err(illegal(self.why_illegal(kind, square)));
        }
        let flips = match kind {
            MoveKind::Flip => self.flips(color, square),
            MoveKind::Opening | MoveKind::Adjacent => SquareSet::EMPTY,
        };
        for discs in &mut self.discs {
            *discs -= flips;
        }
        self.discs[color.index()] |= flips | SquareSet::of(square);
        let passed = self.hand_over(color);
        Ok(Played { color, square, kind, flips, passed })
    }

    /// Why a square is none of the legal ones, which are of this kind.
    fn why_illegal(&self, kind: MoveKind, square: Square) -> Why {
        match (self.cell(square), kind) {
            (Cell::Outside, _) => Why::Outside,
            (Cell::Blocked, _) => Why::Blocked,
            (Cell::Disc(_) | Cell::Neutral, _) => Why::Occupied,
            (Cell::Empty, MoveKind::Opening) => Why::NotCentre,
            (Cell::Empty, MoveKind::Flip) => Why::FlipsNothing,
            (Cell::Empty, MoveKind::Adjacent) => Why::NotAdjacent,
        }
    }

    /// The colours still in the game, from the one after this to this itself.
    fn turns_after(&self, color: Color) -> impl Iterator<Item = Color> + use<> {
        let left = self.left();
        let later = left.iter().filter(move |other| *other > color);
        later.chain(left.iter().filter(move |other| *other <= color))
    }

    /// The players who have not resigned.
    pub(crate) fn left(&self) -> ColorSet {
        self.rules.color_set().without(self.resigned)
    }

    /// Gives the turn to the first after `color` who can move, `color` itself last, and says who
    /// had to pass for that; ends the game when nobody can. Of several in a multicolor game all can
    /// or none.
    fn hand_over(&mut self, color: Color) -> Passes {
        let mut passed = Passes::default();
        for next in self.turns_after(color) {
            if !self.placements(next).1.is_empty() {
                self.to_move = Some(next);
                return passed;
            }
            passed = Passes::of(next);
        }
        self.to_move = None;
        Passes::default()
    }

    /// Takes a player out, in or out of turn. The discs stay; if it was the player's turn, it is
    /// the next one's; when one player is left, the game is over.
    ///
    /// # Errors
    ///
    /// The colour does not play, the game is over, or the colour has resigned before; the position
    /// is unchanged.
    ///
    /// ```
    /// use reversi_rules::{Color, Position, Reason, Rules};
    /// let mut position = Position::start(&Rules::default());
    /// position.resign(Color::White).unwrap();
    /// let outcome = position.outcome().unwrap();
    /// assert!(outcome.winners.contains(Color::Black));
    /// assert_eq!(outcome.reason, Reason::Resignation);
    /// ```
    pub fn resign(&mut self, color: Color) -> Result<(), IllegalResignation> {
        if !self.rules.color_set().contains(color) {
            return Err(IllegalResignation::NoSuchColor);
        }
        let Some(to_move) = self.to_move else { return Err(IllegalResignation::GameOver) };
        if !self.resigned.insert(color) {
            return Err(IllegalResignation::Resigned);
        }
        if self.left().len() == 1 {
            self.to_move = None;
        } else if to_move == color {
            self.to_move = self.turns_after(color).next();
        }
        Ok(())
    }

    /// How the game ended; none while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        if self.to_move.is_some() {
            return None;
        }
        let left = self.left();
        let counts = self.counts();
        if left.len() == 1 {
            let reason = Reason::Resignation;
            return Some(Outcome { winners: left, draw: false, reason, counts });
        }
        let discs = left.iter().map(|color| self.count(color));
        let best = match self.rules.objective() {
            Objective::MostDiscs => discs.max(),
            Objective::FewestDiscs => discs.min(),
        };
        let winners: ColorSet =
            left.iter().filter(|color| Some(self.count(*color)) == best).collect();
        let draw = winners.len() > 1;
        let winners = if draw { ColorSet::EMPTY } else { winners };
        Some(Outcome { winners, draw, reason: Reason::NoMoves, counts })
    }

    /// The board as one line: rows from the top joined by `/`, one [`Cell::character`] a square.
    pub fn board_text(&self) -> String {
        let size = self.rules.board().size();
        let mut text = String::with_capacity(usize::from(size) * usize::from(size + 1));
        for rank in 0..size {
            if rank > 0 {
                text.push('/');
            }
            text.extend((0..size).map(|file| self.cell(Square::at(file, rank)).character()));
        }
        text
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self}, {:?})", self.rules)
    }
}
