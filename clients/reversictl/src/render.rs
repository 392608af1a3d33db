//! Draws a board: in colour as discs on a green board, without colour as letters that say the same.

use reversi_rules::{Square, SquareSet};

use crate::escape;
use crate::style::Style;

/// What is to be seen on a board beside its discs.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Where a disc may be placed now.
    pub legal: SquareSet,
    /// Where the last disc was placed.
    pub last: Option<Square>,
    /// What it flipped.
    pub flips: SquareSet,
}

impl Marks {
    /// From names; what names no square marks nothing.
    pub fn new(legal: &[String], last: Option<&str>, flips: &[String]) -> Self {
        let set = |names: &[String]| names.iter().filter_map(|name| name.parse().ok()).collect();
        Self { legal: set(legal), last: last.and_then(|name| name.parse().ok()), flips: set(flips) }
    }
}

/// The board of this text, rows joined by `/`: files on top, ranks at the side, three characters a square.
///
/// Without colour: `B W R G N` discs, `*` a legal move, `.` empty, `#` blocked, `[B]` the last disc, `(B)` flipped by it.
pub fn board(text: &str, marks: &Marks, style: Style) -> String {
    let rows: Vec<&str> = text.split('/').collect();
    let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let files: String = (b'a'..=b'z').take(width).map(|f| format!(" {} ", char::from(f))).collect();
    let mut drawn = format!("    {}\n", files.trim_end());
    for (rank, row) in rows.iter().enumerate() {
        let cells: String = row
            .chars()
            .enumerate()
            .map(|(file, cell)| square(cell, file, rank, marks, style))
            .collect();
        drawn.push_str(format!("{:>3} {cells}", rank + 1).trim_end());
        drawn.push('\n');
    }
    drawn
}

fn square(cell: char, file: usize, rank: usize, marks: &Marks, style: Style) -> String {
    let small = |n: usize| u8::try_from(n).ok();
    let square = small(file).zip(small(rank)).and_then(|(f, r)| Square::new(f, r));
    let in_set = |set: SquareSet| square.is_some_and(|square| set.contains(square));
    let mark = if square.is_some() && square == marks.last {
        Mark::Last
    } else if in_set(marks.flips) {
        Mark::Flipped
    } else if in_set(marks.legal) {
        Mark::Legal
    } else {
        Mark::None
    };
    if style.colored() {
        colored(cell, mark, (file + rank).is_multiple_of(2), style)
    } else {
        plain(cell, mark)
    }
}

#[derive(Clone, Copy)]
enum Mark {
    None,
    Legal,
    Flipped,
    Last,
}

fn plain(cell: char, mark: Mark) -> String {
    let inner = match (cell, mark) {
        ('_', _) => " ".to_owned(),
        ('-', Mark::Legal) => "*".to_owned(),
        ('-', _) => ".".to_owned(),
        (other, _) => escape::text(&other.to_string()),
    };
    match mark {
        Mark::None | Mark::Legal => format!(" {inner} "),
        Mark::Flipped => format!("({inner})"),
        Mark::Last => format!("[{inner}]"),
    }
}

/// Colours of the usual 256. They differ in lightness too, for those who cannot tell red from green; letters do in any case.
mod palette {
    /// The board, in two shades so that squares can be told apart.
    pub const BOARD: [u8; 2] = [28, 29];
    pub const LAST: u8 = 136;
    pub const FLIPPED: u8 = 31;
    pub const LEGAL: u8 = 226;
    pub const BLOCKED: (u8, u8) = (245, 236);
}

/// The colour of a disc, if the cell holds one.
fn disc(cell: char) -> Option<u8> {
    match cell {
        'B' => Some(16),
        'W' => Some(231),
        'R' => Some(196),
        'G' => Some(118),
        'N' => Some(250),
        _ => None,
    }
}

fn colored(cell: char, mark: Mark, even: bool, style: Style) -> String {
    let ground = match mark {
        Mark::None | Mark::Legal => palette::BOARD[usize::from(even)],
        Mark::Flipped => palette::FLIPPED,
        Mark::Last => palette::LAST,
    };
    match (cell, disc(cell)) {
        ('_', _) => "   ".to_owned(),
        ('#', _) => style.on(palette::BLOCKED.0, palette::BLOCKED.1, " # "),
        ('-', _) if matches!(mark, Mark::Legal) => style.on(palette::LEGAL, ground, " · "),
        ('-', _) => style.on(ground, ground, "   "),
        (_, Some(color)) => style.on(color, ground, " ● "),
        (other, None) => format!(" {} ", escape::text(&other.to_string())),
    }
}

/// A disc as the board shows it, for a legend.
pub fn legend(letter: char, style: Style) -> String {
    match disc(letter) {
        Some(color) if style.colored() => style.on(color, palette::BOARD[0], " ● "),
        _ => format!(" {letter} "),
    }
}

#[cfg(test)]
mod tests {
    use reversi_rules::{BlockedSetup, Board, Position, Rules, Setup};

    use super::*;

    fn names(squares: SquareSet) -> Vec<String> {
        squares.iter().map(|square| square.to_string()).collect()
    }

    /// Without escape sequences.
    fn stripped(text: &str) -> String {
        let mut parts = text.split('\x1b');
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').unwrap().1)
    }

    #[test]
    fn a_board_without_colour_says_everything_in_letters() {
        let mut position = Position::start(&Rules::default());
        let played = position.play("d3".parse().unwrap()).unwrap();
        let marks = Marks::new(&names(position.legal_moves()), Some("d3"), &names(played.flips));
        assert_eq!(
            board(&position.board_text(), &marks, Style::new(false)),
            "     a  b  c  d  e  f  g  h\n  \
               1  .  .  .  .  .  .  .  .\n  \
               2  .  .  .  .  .  .  .  .\n  \
               3  .  .  * [B] *  .  .  .\n  \
               4  .  .  . (B) B  .  .  .\n  \
               5  .  .  *  B  W  .  .  .\n  \
               6  .  .  .  .  .  .  .  .\n  \
               7  .  .  .  .  .  .  .  .\n  \
               8  .  .  .  .  .  .  .  .\n"
        );
    }

    #[test]
    fn a_board_in_colour_shows_discs_and_marks_and_every_square_is_as_wide() {
        let position = Position::start(&Rules::default());
        let marks = Marks::new(&names(position.legal_moves()), None, &[]);
        let drawn = board(&position.board_text(), &marks, Style::new(true));
        assert_eq!(drawn.matches('·').count(), 4);
        assert_eq!(drawn.matches("\x1b[1;38;5;16;").count(), 2, "black discs");
        assert_eq!(drawn.matches("\x1b[1;38;5;231;").count(), 2, "white discs");
        let rows: Vec<_> = drawn.lines().skip(1).map(|row| stripped(row).chars().count()).collect();
        assert_eq!(rows, [28; 8]);
        assert!(
            drawn
                .lines()
                .all(|row| row.is_empty() || !row.contains('\x1b') || row.ends_with("\x1b[0m"))
        );
    }

    #[test]
    fn every_board_has_all_its_squares() {
        for shape in Board::ALL {
            let rules = Setup { board: shape, ..Default::default() }.check().unwrap();
            let position = Position::start(&rules.complete(None).unwrap());
            for colored in [false, true] {
                let drawn = board(&position.board_text(), &Marks::default(), Style::new(colored));
                let drawn = stripped(&drawn);
                assert_eq!(drawn.lines().count(), usize::from(shape.size()) + 1);
                if !colored {
                    let squares = drawn.chars().filter(|c| matches!(c, '.' | 'B' | 'W')).count();
                    assert_eq!(squares, shape.playable().len() as usize, "{shape}");
                }
            }
        }
    }

    #[test]
    fn corners_that_are_cut_are_blank_and_blocked_squares_are_not() {
        let blocked = BlockedSetup { squares: vec!["d1".to_owned()], ..Default::default() };
        let cross = Setup { board: Board::Cross, blocked: Some(blocked), ..Default::default() };
        let rules = cross.check().unwrap();
        let position = Position::start(&rules.complete(None).unwrap());
        let drawn = board(&position.board_text(), &Marks::default(), Style::new(false));
        assert_eq!(drawn.lines().nth(1), Some("  1           #  .  .  ."));
        assert_eq!(drawn.lines().nth(10), Some(" 10           .  .  .  ."));
    }

    #[test]
    fn four_players_are_told_apart() {
        let rules = Setup { board: Board::Octagon, players: 4, ..Default::default() };
        let rules = rules.check().unwrap().complete(None).unwrap();
        let text = Position::start(&rules).board_text();
        let drawn = board(&text, &Marks::default(), Style::new(true));
        for letter in ['B', 'W', 'R', 'G'] {
            let color = format!("\x1b[1;38;5;{};", disc(letter).unwrap());
            assert_eq!(drawn.matches(&color).count(), 1, "{letter}");
        }
    }

    #[test]
    fn a_board_that_is_none_is_drawn_without_steering_the_terminal() {
        for colored in [false, true] {
            for text in ["", "/", "\x1b[2J/é", &"-".repeat(1000)] {
                let drawn = board(text, &Marks::default(), Style::new(colored));
                assert!(!drawn.contains("\x1b[2J"));
            }
        }
    }
}
