//! Positions and move lists as text and as bytes: relaxed in, strict out.

use std::fmt;
use std::str::FromStr;

use crate::packed::{self, Reader};
use crate::setup::quoted;
use crate::{Cell, Color, ColorSet, DecodeError, Fault, Position, Rules, Square, SquareSet};

/// A position as a caller may claim it, sound or not.
///
/// As text: the board, whose turn it is, how many discs have been placed and who resigned, with a space between and
/// `-` for nobody.
///
/// ```
/// use reversi_rules::{Position, PositionSetup, Rules};
/// let rules = Rules::default();
/// let start = Position::start(&rules);
/// let text = start.to_string();
/// assert_eq!(text, "--------/--------/--------/---WB---/---BW---/--------/--------/-------- B 0 -");
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
    /// Every fault at once, of the fields `board`, `to_move`, `ply` and `resigned`; of single squares at most eight. What
    /// cannot be judged on a board that is at fault is not reported.
    pub fn check(&self, rules: &Rules) -> Result<Position, Vec<Fault>> {
        let discs = self.discs(rules)?;
        let position = Position::claimed(rules, discs, self.to_move, self.resigned);
        let placed = match &position {
            Ok(position) => position.ply(),
            Err(_) => return position,
        };
        if placed == self.ply {
            position
        } else {
            let problem = format!("is {}, but {placed} discs have been placed", self.ply);
            Err(vec![Fault::new("ply", problem)])
        }
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
            discs[4].insert(square);
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

    /// The stored form, without the rules: a version byte, the number of the colour to move (0: nobody), a bit for each
    /// colour that resigned (1 for black, 2, 4, 8), then the playable squares row by row, three a byte in base six (0
    /// empty, 1 to 4 a colour's number, 5 neutral; the first weighs most). At most 37 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let to_move = self.to_move().map_or(0, Color::number);
        let mut bytes = vec![packed::VERSION, to_move, self.resigned().bits()];
        let mut digits =
            self.rules().board().playable().iter().map(|square| match self.cell(square) {
                Cell::Disc(color) => color.number(),
                Cell::Neutral => 5,
                Cell::Empty | Cell::Blocked | Cell::Outside => 0,
            });
        while let Some(first) = digits.next() {
            let mut next = || digits.next().unwrap_or(0);
            bytes.push(first * 36 + next() * 6 + next());
        }
        bytes
    }

    /// Reads what [`Position::to_bytes`] wrote of a position by these rules.
    ///
    /// # Errors
    ///
    /// Any other bytes; where they are well-formed but break the rules, every fault.
    pub fn from_bytes(rules: &Rules, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes)?;
        let to_move = match reader.u8()? {
            0 => None,
            number => Some(Color::from_number(number).ok_or(DecodeError::Malformed)?),
        };
        let resigned = reader.number(ColorSet::from_bits)?;
        let start = Self::start(rules);
        let mut discs = [SquareSet::EMPTY; 5];
        let mut squares = rules.board().playable().iter();
        while squares.len() > 0 {
            let byte = reader.u8()?;
            for digit in [byte / 36, byte / 6 % 6, byte % 6] {
                let square = squares.next();
                match (digit, square) {
                    (0, _) => {}
                    (1..=5, Some(square)) if start.cell(square) != Cell::Blocked => {
                        discs[usize::from(digit) - 1].insert(square);
                    }
                    _ => return Err(DecodeError::Malformed),
                }
            }
        }
        reader.end()?;
        Ok(Self::claimed(rules, discs, to_move, resigned)?)
    }
}

/// The placements of a game one after another, passes left out.
///
/// Written as square names without a space between; read case-insensitively, with white space anywhere between
/// squares.
///
/// ```
/// use reversi_rules::Transcript;
/// let transcript: Transcript = "F5 d6\nj10c3".parse()?;
/// assert_eq!(transcript.0.len(), 4);
/// assert_eq!(transcript.to_string(), "f5d6j10c3");
/// assert_eq!("f5x1".parse::<Transcript>().unwrap_err().at, 2);
/// # Ok::<(), reversi_rules::ParseTranscriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transcript(pub Vec<Square>);

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|square| write!(f, "{square}"))
    }
}

/// The text is no transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTranscriptError {
    /// The byte, from 0, at which a square should begin and none does.
    pub at: usize,
}

impl fmt::Display for ParseTranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no square begins at byte {}", self.at)
    }
}

impl std::error::Error for ParseTranscriptError {}

impl FromStr for Transcript {
    type Err = ParseTranscriptError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut squares = Vec::new();
        let mut at = 0;
        while let Some(first) = text[at..].chars().next() {
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let parsed = Square::parse_prefix(&text.as_bytes()[at..]);
            let (square, length) = parsed.ok_or(ParseTranscriptError { at })?;
            squares.push(square);
            at += length;
        }
        Ok(Self(squares))
    }
}
