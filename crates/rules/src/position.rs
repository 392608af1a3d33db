//! A game under way: where the discs lie, whose turn it is, and what a placement or a resignation does.
//!
//! Two-player and multicolor games differ in three places only: how the centre begins, that a multicolor player
//! who cannot flip places next to any disc, and what follows from that: nobody passes.

use std::fmt;

use crate::names::vocabulary;
use crate::outcome::Counts;
use crate::{
    Cell, Color, ColorSet, Fault, Objective, Opening, Outcome, Reason, Rules, Square, SquareSet,
    moves,
};

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

/// A position that a game by its rules can hold: the rules, the discs, who is to move and who resigned.
///
/// Equality covers all of that, and so the seed of the blocked squares. The number of discs placed follows from the
/// discs on the board, for none ever leaves it.
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
    rules: Rules,
    /// The squares that can hold a disc: of the board and not blocked.
    open: SquareSet,
    /// The discs by colour, neutral ones last.
    discs: [SquareSet; 5],
    /// None once the game is over.
    to_move: Option<Color>,
    resigned: ColorSet,
}

/// Where neutral discs are among the discs.
const NEUTRAL: usize = 4;

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

/// The colours that had to pass after a move, in order: at most one. Empty when the move ended the game, and
/// in multicolor games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Passes(Option<Color>);

impl Passes {
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

impl fmt::Display for IllegalMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let square = self.square;
        match self.why {
            Why::GameOver => f.write_str("the game is over"),
            Why::Outside => write!(f, "{square} is not on this board"),
            Why::Blocked => write!(f, "{square} is blocked"),
            Why::Occupied => write!(f, "{square} holds a disc"),
            Why::NotCentre => write!(f, "{square} is not in the centre, which is filled first"),
            Why::FlipsNothing => write!(f, "{square} flips nothing"),
            Why::NotAdjacent => write!(f, "{square} touches no disc"),
        }
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

impl Position {
    /// The position before the first disc is placed.
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

    /// What the colour could do if it were its turn: the squares it could place on, and what that would do. Empty only when
    /// it would have to pass or the game is over.
    fn placements(&self, color: Color) -> (MoveKind, SquareSet) {
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
    pub fn legal_moves(&self) -> SquareSet {
        self.to_move.map_or(SquareSet::EMPTY, |color| self.placements(color).1)
    }

    /// What all legal moves do; none once the game is over.
    pub fn move_kind(&self) -> Option<MoveKind> {
        self.to_move.map(|color| self.placements(color).0)
    }

    /// The discs that placing on the square would flip; none when it flips nothing or is not legal.
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

    /// Places a disc for the colour to move, flips what it outflanks, and hands the turn to the next colour that can
    /// move, or ends the game.
    ///
    /// # Errors
    ///
    /// The placement is not legal; the position is unchanged.
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
    fn left(&self) -> ColorSet {
        self.rules.color_set().without(self.resigned)
    }

    /// Gives the turn to the first after `color` who can move, `color` itself last, and says who had to pass for that;
    /// ends the game when nobody can. Of several in a multicolor game all can or none.
    fn hand_over(&mut self, color: Color) -> Passes {
        let mut passed = Passes::default();
        for next in self.turns_after(color) {
            if !self.placements(next).1.is_empty() {
                self.to_move = Some(next);
                return passed;
            }
            passed = Passes(Some(next));
        }
        self.to_move = None;
        Passes::default()
    }

    /// Takes a player out, in or out of turn. The discs stay; if it was the player's turn, it is the next one's; when one
    /// player is left, the game is over.
    ///
    /// # Errors
    ///
    /// The colour does not play, the game is over, or the colour has resigned before; the position is unchanged.
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

    /// The position of these claims, if a game by the rules could hold it. `discs` lie on open squares, no two on one.
    ///
    /// What is checked is what holds for ever once it holds: that the start's discs are still occupied squares, who can
    /// have discs at all, the order of a free opening, whose turn it can be, and that the game is over exactly when it is
    /// said to be. Whether play can reach the position is not asked.
    pub(crate) fn claimed(
        rules: &Rules,
        discs: [SquareSet; 5],
        to_move: Option<Color>,
        resigned: ColorSet,
    ) -> Result<Self, Vec<Fault>> {
        let start = Self::start(rules);
        let position = Self { discs, to_move, resigned, ..start.clone() };
        let mut faults = position.disc_faults(&start);
        if faults.is_empty() {
            faults = position.turn_faults();
        }
        if faults.is_empty() { Ok(position) } else { Err(faults) }
    }

    /// What no play from the start could have done to the discs.
    fn disc_faults(&self, start: &Self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault = |problem: String| faults.push(Fault::new("board", problem));
        for color in Color::ALL {
            if !self.rules.color_set().contains(color) && self.count(color) > 0 {
                fault(format!("holds {color} discs, and nobody plays {color}"));
            }
        }
        if self.discs[NEUTRAL].len() > start.discs[NEUTRAL].len() {
            fault(format!("holds more than {} neutral discs", start.discs[NEUTRAL].len()));
        }
        for square in start.occupied() - self.occupied() {
            fault(format!("is empty at {square}, which holds a disc from the start"));
        }
        let unfilled = self.rules.board().centre_set() & self.empty();
        if self.rules.opening() == Some(Opening::Free) && !unfilled.is_empty() {
            let placed = 4 - unfilled.len();
            let by = |color: Color| (self.discs(color) & self.rules.board().centre_set()).len();
            if self.occupied() != start.occupied() | (self.rules.board().centre_set() - unfilled) {
                fault("holds discs outside the centre, which a free opening fills first".into());
            }
            if start.occupied() - self.discs(Color::Black) != SquareSet::EMPTY {
                fault("has flipped discs in a free opening".into());
            }
            if by(Color::Black) != placed.div_ceil(2) {
                fault(format!("holds {} black discs of {placed} in the centre", by(Color::Black)));
            }
        }
        faults
    }

    /// What is wrong with whose turn it is and who resigned, given that the discs are in order.
    fn turn_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for color in self.resigned.without(self.rules.color_set()).iter() {
            faults.push(Fault::new("resigned", format!("lists {color}, which nobody plays")));
        }
        let mut to_move = |problem: String| faults.push(Fault::new("to_move", problem));
        let left = self.left();
        let movers: ColorSet =
            left.iter().filter(|color| !self.placements(*color).1.is_empty()).collect();
        let over = left.len() == 1 || movers.is_empty();
        match self.to_move {
            Some(color) if over => to_move(format!("is {color}, but the game is over")),
            Some(color) if !left.contains(color) => {
                to_move(format!("is {color}, which does not play or has resigned"));
            }
            Some(color) if !movers.contains(color) => {
                to_move(format!("is {color}, which has no move and must pass"));
            }
            Some(color) if self.out_of_turn(color) => {
                to_move(format!("is {color}, whose turn it is not after {} discs", self.ply()));
            }
            None if !over => to_move("is nobody, but the game is not over".into()),
            Some(_) | None => {}
        }
        // The last resignation ends a game that was not over yet.
        if left.is_empty()
            || (left.len() < self.rules.color_set().len() && movers.is_empty()) && left.len() == 1
        {
            faults.push(Fault::new("resigned", "lists a player who had no game left to resign"));
        }
        faults
    }

    /// Whether passes cannot explain that it is this colour's turn: nobody passes in a multicolor game nor in a free opening.
    fn out_of_turn(&self, color: Color) -> bool {
        let in_opening = self.placements(color).0 == MoveKind::Opening;
        let nobody_passed = in_opening || (self.rules.multicolor() && self.resigned.is_empty());
        let turn = self.ply() as usize % usize::from(self.rules.players());
        nobody_passed && Color::ALL[turn] != color
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Position({self}, {:?})", self.rules)
    }
}
