//! Positions as a caller may claim them: their text, and every fault of them at once.

use std::fmt;
use std::str::FromStr;

use crate::position::NEUTRAL;
use crate::setup::quoted;
use crate::{Cell, Color, ColorSet, Fault, Opening, Position, Rules, Square, SquareSet};

/// A position as a caller may claim it, sound or not.
///
/// As text: the board, whose turn it is, how many discs have been placed and who resigned, with a
/// space between and `-` for nobody.
///
/// ```
/// use reversi_rules::{Position, PositionSetup, Rules};
/// let rules = Rules::default();
/// let start = Position::start(&rules);
/// let text = start.to_string();
/// assert!(text.starts_with("--------/--------/--------/---WB---/---BW---/"));
/// assert!(text.ends_with(" B 0 -"));
/// let setup: PositionSetup = text.parse()?;
/// assert_eq!(setup.check(&rules), Ok(start));
/// # Ok::<(), reversi_rules::ParsePositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionSetup {
    /// The board as [`Position::board_text`] writes it.
    pub board: String,
    /// Whose turn it is; none when the game is over.
    pub to_move: Option<Color>,
    /// How many discs have been placed since the start.
    pub ply: u32,
    /// Who has resigned.
    pub resigned: ColorSet,
}

/// How many faults of single squares are reported at most.
const SQUARE_FAULTS: usize = 8;

impl PositionSetup {
    /// Checks the claim against the rules of its game.
    ///
    /// # Errors
    ///
    /// Every fault at once, of the fields `board`, `to_move`, `ply` and `resigned`; of single
    /// squares at most eight. What cannot be judged on a board that is at fault is not reported.
    pub fn check(&self, rules: &Rules) -> Result<Position, Vec<Fault>> {
        let discs = self.discs(rules)?;
        Position::claimed(rules, discs, self.to_move, self.resigned, Some(self.ply))
    }

    /// The discs of the board's text.
    fn discs(&self, rules: &Rules) -> Result<[SquareSet; 5], Vec<Fault>> {
        let size = usize::from(rules.board().size());
        let fault = |problem: String| Fault::new("board", problem);
        let rows = self.board.split('/').count();
        if rows != size {
            return Err(vec![fault(format!("has {rows} rows instead of {size}"))]);
        }
        let start = Position::start(rules);
        let mut discs = [SquareSet::EMPTY; 5];
        let mut faults = Vec::new();
        for (rank, row) in self.board.split('/').enumerate() {
            let width = row.chars().count();
            if width != size {
                faults
                    .push(fault(format!("row {} has {width} squares instead of {size}", rank + 1)));
                continue;
            }
            for (file, character) in row.chars().enumerate() {
                let square = Square::at(file as u8, rank as u8);
                if let Err(problem) = put(&mut discs, &start, square, character) {
                    faults.push(fault(problem));
                }
            }
        }
        faults.truncate(SQUARE_FAULTS);
        if faults.is_empty() { Ok(discs) } else { Err(faults) }
    }
}

/// Puts what a character stands for on a square of the board that the game starts on.
fn put(
    discs: &mut [SquareSet; 5],
    start: &Position,
    square: Square,
    character: char,
) -> Result<(), String> {
    let cell = Cell::from_character(character).ok_or_else(|| {
        format!("has \"{}\" at {square}", quoted(character.encode_utf8(&mut [0; 4])))
    })?;
    match (cell, start.cell(square)) {
        (Cell::Outside, Cell::Outside) | (Cell::Blocked, Cell::Blocked) => Ok(()),
        (Cell::Outside | Cell::Blocked, _) | (_, Cell::Outside | Cell::Blocked) => Err(format!(
            "has {character} at {square} instead of {}",
            start.cell(square).character()
        )),
        (Cell::Empty, _) => Ok(()),
        (Cell::Neutral, _) => {
            discs[NEUTRAL].insert(square);
            Ok(())
        }
        (Cell::Disc(color), _) => {
            discs[color.index()].insert(square);
            Ok(())
        }
    }
}

impl fmt::Display for PositionSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = |colors: ColorSet| match colors.len() {
            0 => String::from("-"),
            _ => colors.iter().map(Color::letter).collect(),
        };
        let to_move = self.to_move.into_iter().collect();
        write!(f, "{} {} {} {}", self.board, letters(to_move), self.ply, letters(self.resigned))
    }
}

/// The text is no position: which of its four parts cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParsePositionError {
    /// There are not four parts.
    Parts,
    /// The second part is not one letter of a colour nor `-`.
    ToMove,
    /// The third part is not a number.
    Ply,
    /// The fourth part is not letters of colours nor `-`.
    Resigned,
}

impl fmt::Display for ParsePositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parts => {
                "a position is a board, who is to move, the discs placed and who resigned"
            }
            Self::ToMove => "who is to move is one of B, W, R, G, or - for nobody",
            Self::Ply => "the discs placed are a number",
            Self::Resigned => "who resigned is some of BWRG, or - for nobody",
        })
    }
}

impl std::error::Error for ParsePositionError {}

impl FromStr for PositionSetup {
    type Err = ParsePositionError;

    /// Reads the four parts; whether the board makes sense is for [`PositionSetup::check`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split_whitespace();
        let mut part = || parts.next().ok_or(ParsePositionError::Parts);
        let (board, to_move, ply, resigned) = (part()?, part()?, part()?, part()?);
        if parts.next().is_some() {
            return Err(ParsePositionError::Parts);
        }
        let to_move = letters(to_move).ok_or(ParsePositionError::ToMove)?;
        if to_move.len() > 1 {
            return Err(ParsePositionError::ToMove);
        }
        Ok(Self {
            board: board.into(),
            to_move: to_move.iter().next(),
            ply: ply.parse().map_err(|_| ParsePositionError::Ply)?,
            resigned: letters(resigned).ok_or(ParsePositionError::Resigned)?,
        })
    }
}

/// The colours of some letters, each at most once, in any order; none for `-`.
fn letters(text: &str) -> Option<ColorSet> {
    let mut colors = ColorSet::EMPTY;
    if text != "-" {
        for letter in text.chars() {
            let new = colors.insert(Color::from_letter(letter.to_ascii_uppercase())?);
            new.then_some(())?;
        }
    }
    Some(colors)
}

impl fmt::Display for Position {
    /// The text of its [`PositionSetup`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_setup().fmt(f)
    }
}

impl Position {
    /// The claim that checks to this position.
    pub fn to_setup(&self) -> PositionSetup {
        PositionSetup {
            board: self.board_text(),
            to_move: self.to_move(),
            ply: self.ply(),
            resigned: self.resigned(),
        }
    }

    /// The position of these claims, if a game by the rules could hold it. `discs` lie on open
    /// squares, no two on one.
    ///
    /// What is checked is what holds for ever once it holds: that the start's discs are still
    /// occupied squares, who can have discs at all, the order of a free opening, whose turn it can
    /// be, and that the game is over exactly when it is said to be. Whether play can reach the
    /// position is not asked.
    pub(crate) fn claimed(
        rules: &Rules,
        discs: [SquareSet; 5],
        to_move: Option<Color>,
        resigned: ColorSet,
        ply: Option<u32>,
    ) -> Result<Self, Vec<Fault>> {
        let start = Self::start(rules);
        let position = Self { discs, to_move, resigned, ..start.clone() };
        let mut faults = position.disc_faults(&start);
        if faults.is_empty() {
            faults = position.turn_faults();
            let placed = position.ply();
            if let Some(ply) = ply.filter(|ply| *ply != placed) {
                let problem = format!("is {ply}, but {placed} discs have been placed");
                faults.push(Fault::new("ply", problem));
            }
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
        let neutral = start.discs[NEUTRAL].len();
        if self.discs[NEUTRAL].len() > neutral {
            fault(format!("holds more than {neutral} neutral discs"));
        }
        for square in start.occupied() - self.occupied() {
            fault(format!("is empty at {square}, which holds a disc from the start"));
        }
        if faults.is_empty()
            && let Err(problem) = self.check_beginning(start)
        {
            faults.push(Fault::new("board", problem));
        }
        faults
    }

    /// Whether the game is so young that nothing can have flipped and nobody can have passed.
    fn is_beginning(&self) -> bool {
        let free = self.rules.opening() == Some(Opening::Free);
        self.ply() <= if free { 4 } else { 0 }
    }

    /// Checks the discs of a game that has just begun.
    fn check_beginning(&self, start: &Self) -> Result<(), &'static str> {
        let centre = self.rules.board().centre_set();
        let placed = self.occupied() - start.occupied();
        let free = self.rules.opening() == Some(Opening::Free);
        if free && !(placed - centre).is_empty() && !(centre - placed).is_empty() {
            return Err("holds discs outside the centre, which a free opening fills first");
        }
        if self.is_beginning() {
            let colors = self.discs.iter().zip(start.discs);
            if colors.into_iter().any(|(now, start)| !(start - *now).is_empty()) {
                return Err("has flipped discs, and nothing can have flipped yet");
            }
            if (placed & self.discs(Color::Black)).len() != placed.len().div_ceil(2) {
                return Err("holds more of one colour than its turns in a free opening");
            }
        }
        Ok(())
    }

    /// What is wrong with whose turn it is and who resigned, given that the discs are in order.
    fn turn_faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for color in self.resigned.without(self.rules.color_set()).iter() {
            faults.push(Fault::new("resigned", format!("lists {color}, which nobody plays")));
        }
        let left = self.left();
        let stuck = |color: Color| self.placements(color).1.is_empty();
        let nobody_moves = self.rules.colors().all(stuck);
        // A resignation that leaves one player, or none, needs a game that was not over before.
        if left.is_empty() || (left.len() == 1 && nobody_moves) {
            faults.push(Fault::new("resigned", "lists a player who had no game left to resign"));
        }
        let over = left.len() <= 1 || nobody_moves;
        let problem = match self.to_move {
            None if over => return faults,
            None => "is nobody, but the game is not over".into(),
            Some(color) if over => format!("is {color}, but the game is over"),
            Some(color) if !left.contains(color) => {
                format!("is {color}, which does not play or has resigned")
            }
            Some(color) if stuck(color) => format!("is {color}, which cannot move and must pass"),
            Some(color) if self.out_of_turn(color) => {
                format!("is {color}, whose turn it is not after {} discs", self.ply())
            }
            Some(_) => return faults,
        };
        faults.push(Fault::new("to_move", problem));
        faults
    }

    /// Whether neither a pass nor a resignation can explain that it is this colour's turn.
    fn out_of_turn(&self, color: Color) -> bool {
        let nobody_passed = self.is_beginning() || self.rules.multicolor();
        let turn = self.ply() as usize % usize::from(self.rules.players());
        nobody_passed && self.resigned.is_empty() && Color::ALL[turn] != color
    }
}
