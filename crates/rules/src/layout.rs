//! Blocked squares: drawn from a seed by layout algorithm 1, or named one by one.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::packed::{self, Reader, put_square};
use crate::splitmix::SplitMix64;
use crate::{Board, DecodeError, Fault, Square, SquareSet};

/// The most blocked squares, and the most handicap corners.
pub(crate) const MAX: u8 = 4;

/// The blocked squares of a game, 1 to 4, with the board and the handicap that they were chosen
/// for.
///
/// Equality covers everything: a drawn layout and an explicit one with the same squares differ.
///
/// ```
/// use reversi_rules::{Board, Layout};
/// let layout = Layout::draw(Board::B6x6, 0, 1, 42).unwrap();
/// assert_eq!(layout.squares()[0].to_string(), "a6");
/// assert_eq!(layout.id().len(), 32);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    board: Board,
    handicap: u8,
    seed: Option<u64>,
    count: u8,
    /// The first `count` are the squares, sorted; the rest is a filler that depends on the board
    /// alone.
    squares: [Square; MAX as usize],
}

impl Layout {
    /// The number of the algorithm that draws squares from a seed.
    pub const ALGORITHM: u8 = 1;

    /// What is wrong with the arguments of a draw: fields `handicap_corners` and `count`. Empty
    /// when nothing is.
    pub fn check_draw(board: Board, handicap: u32, count: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        faults.extend(handicap_fault(board, handicap));
        faults.extend(count_fault("count", count));
        faults
    }

    /// Draws `count` squares from the seed. The same arguments give the same squares in every
    /// release.
    ///
    /// # Errors
    ///
    /// All that [`Layout::check_draw`] finds.
    ///
    /// ```
    /// use reversi_rules::{Board, Layout};
    /// let names = |layout: Layout| layout.squares().iter().map(|at| at.to_string()).collect();
    /// let drawn: Vec<String> = names(Layout::draw(Board::B8x8, 1, 4, 2026).unwrap());
    /// assert_eq!(drawn, ["a4", "h4", "b7", "b8"]);
    /// assert_eq!(Layout::draw(Board::B8x8, 9, 9, 2026).unwrap_err().len(), 2);
    /// ```
    pub fn draw(board: Board, handicap: u8, count: u8, seed: u64) -> Result<Self, Vec<Fault>> {
        let faults = Self::check_draw(board, handicap.into(), count.into());
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut candidates = [board.centre()[0]; 100];
        let mut len = 0;
        for square in candidates_of(board, handicap) {
            candidates[len] = square;
            len += 1;
        }
        let mut random = SplitMix64::new(seed);
        for i in 0..usize::from(count) {
            candidates.swap(i, i + random.below((len - i) as u64) as usize);
        }
        let drawn = candidates[..count.into()].iter().copied().collect();
        Ok(Self::of(board, handicap, drawn, Some(seed)))
    }

    /// The layout of these squares, in any order.
    ///
    /// # Errors
    ///
    /// Every fault: of the handicap (`handicap_corners`), of the number of squares (`squares`) and
    /// of each square (`squares[0]`).
    pub fn explicit(board: Board, handicap: u8, squares: &[Square]) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        faults.extend(handicap_fault(board, handicap.into()));
        if squares.is_empty() {
            faults.push(Fault::new("squares", "are 1 to 4, not 0"));
        }
        let mut finder = SquareFinder::new(board, handicap);
        faults.extend(finder.faults("squares", squares.len(), squares.iter().map(|one| Ok(*one))));
        if faults.is_empty() {
            Ok(Self::of(board, handicap, finder.found, None))
        } else {
            Err(faults)
        }
    }

    /// The layout of squares that are known to be fine, 1 to 4.
    pub(crate) fn of(board: Board, handicap: u8, set: SquareSet, seed: Option<u64>) -> Self {
        let mut squares = [board.centre()[0]; MAX as usize];
        let mut count = 0;
        for square in set {
            squares[count] = square;
            count += 1;
        }
        Self { board, handicap, seed, count: count as u8, squares }
    }

    /// The board that it is for.
    pub const fn board(&self) -> Board {
        self.board
    }

    /// The handicap that it is for, 0 to 4 corners.
    pub const fn handicap_corners(&self) -> u8 {
        self.handicap
    }

    /// How many squares, 1 to 4.
    pub const fn count(&self) -> u8 {
        self.count
    }

    /// The seed that it was drawn from, none when its squares were named.
    pub const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The blocked squares, row by row.
    pub fn squares(&self) -> &[Square] {
        &self.squares[..self.count.into()]
    }

    /// The blocked squares as a set.
    pub fn square_set(&self) -> SquareSet {
        self.squares().iter().copied().collect()
    }

    /// 32 lower-case hexadecimal digits that follow from the layout alone, in every release: the
    /// first 16 bytes of the SHA-256 of the board's number, the handicap, and the layout as a
    /// history's canonical bytes have it.
    pub fn id(&self) -> String {
        let mut bytes = Vec::new();
        self.put_whole(&mut bytes);
        let hash = Sha256::digest(&bytes);
        hash[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The stored form: version 1, board, handicap, form and squares; at most 22 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![packed::VERSION];
        self.put_whole(&mut bytes);
        bytes
    }

    fn put_whole(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.board.number(), self.handicap]);
        self.put(bytes);
    }

    /// Reads what [`Layout::to_bytes`] wrote. A drawn layout is drawn again and must have the same
    /// squares.
    ///
    /// # Errors
    ///
    /// Any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes)?;
        let board = reader.number(Board::from_number)?;
        let handicap = reader.u8()?;
        let layout = Self::read(&mut reader, board, handicap)?.ok_or(DecodeError::Malformed)?;
        reader.end()?;
        Ok(layout)
    }

    /// Writes form and squares: 01, or 02, algorithm and seed; then the count and the squares.
    pub(crate) fn put(&self, bytes: &mut Vec<u8>) {
        match self.seed {
            None => bytes.push(1),
            Some(seed) => {
                bytes.extend([2, Self::ALGORITHM]);
                bytes.extend(seed.to_be_bytes());
            }
        }
        bytes.push(self.count);
        for square in self.squares() {
            put_square(bytes, *square);
        }
    }

    /// Reads what `put` wrote; none for form 00, of a game without blocked squares.
    pub(crate) fn read(
        reader: &mut Reader<'_>,
        board: Board,
        handicap: u8,
    ) -> Result<Option<Self>, DecodeError> {
        let seed = match reader.u8()? {
            0 => return Ok(None),
            1 => None,
            2 if reader.u8()? == Self::ALGORITHM => Some(reader.u64()?),
            _ => return Err(DecodeError::Malformed),
        };
        let count = reader.u8()?;
        if !(1..=MAX).contains(&count) {
            return Err(DecodeError::Malformed);
        }
        let mut squares = [board.centre()[0]; MAX as usize];
        let squares = &mut squares[..count.into()];
        for square in &mut *squares {
            *square = reader.square()?;
        }
        let layout = match seed {
            Some(seed) => Self::draw(board, handicap, count, seed)?,
            None => Self::explicit(board, handicap, squares)?,
        };
        if layout.squares() == squares { Ok(Some(layout)) } else { Err(DecodeError::Malformed) }
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("board", &self.board)
            .field("handicap", &self.handicap)
            .field("seed", &self.seed)
            .field("squares", &self.squares())
            .finish()
    }
}

/// The squares that may be blocked.
fn candidates_of(board: Board, handicap: u8) -> SquareSet {
    board.playable() - board.central_area() - board.handicap_set(handicap)
}

/// What is wrong with a handicap on this board.
pub(crate) fn handicap_fault(board: Board, handicap: u32) -> Option<Fault> {
    let fault = |problem| Some(Fault::new("handicap_corners", problem));
    match handicap {
        0 => None,
        5.. => fault(format!("takes 0 to 4 corners, not {handicap}")),
        _ if board.handicap_corners().is_none() => {
            fault(format!("needs a board with four corners, which the {board} is not"))
        }
        _ => None,
    }
}

/// What is wrong with a number of squares to draw.
pub(crate) fn count_fault(field: &str, count: u32) -> Option<Fault> {
    let wrong = !(1..=u32::from(MAX)).contains(&count);
    wrong.then(|| Fault::new(field, format!("takes 1 to 4 blocked squares, not {count}")))
}

/// Collects named squares, fault by fault.
pub(crate) struct SquareFinder {
    board: Board,
    handicap: u8,
    pub(crate) found: SquareSet,
}

impl SquareFinder {
    /// How many squares of a list that is too long are still looked at.
    const EXAMINED: usize = 8;

    pub(crate) fn new(board: Board, handicap: u8) -> Self {
        Self { board, handicap, found: SquareSet::EMPTY }
    }

    /// The faults of a list of `len` squares, each read or with the problem of reading it.
    pub(crate) fn faults(
        &mut self,
        field: &str,
        len: usize,
        squares: impl Iterator<Item = Result<Square, String>>,
    ) -> Vec<Fault> {
        let mut faults = Vec::new();
        if len > MAX.into() {
            faults.push(Fault::new(field, format!("takes at most 4 squares, not {len}")));
        }
        for (index, square) in squares.take(Self::EXAMINED).enumerate() {
            if let Err(problem) = square.and_then(|square| self.take(square)) {
                faults.push(Fault::new(format!("{field}[{index}]"), problem));
            }
        }
        faults
    }

    fn take(&mut self, square: Square) -> Result<(), String> {
        let board = self.board;
        if !board.playable().contains(square) {
            Err(format!("{square} is not on the {board} board"))
        } else if board.central_area().contains(square) {
            Err(format!("{square} is in the central four by four, which stays free"))
        } else if board.handicap_set(self.handicap).contains(square) {
            Err(format!("{square} holds a handicap disc"))
        } else if !self.found.insert(square) {
            Err(format!("{square} is named twice"))
        } else {
            Ok(())
        }
    }
}
