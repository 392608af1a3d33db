//! The rules a second time, as plainly as they can be written: a grid of characters and nested
//! loops. Slow, and sharing nothing with the crate but the settings.

use reversi_rules::{Board, Objective, Opening, Rules};

const TURN_ORDER: [char; 4] = ['B', 'W', 'R', 'G'];
const DIRECTIONS: [(i32, i32); 8] =
    [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];

pub type At = (i32, i32);

#[derive(Clone)]
pub struct Reference {
    rules: Rules,
    /// Rows of `-`, `B`, `W`, `R`, `G`, `N`, `#` and `_`.
    pub grid: Vec<Vec<char>>,
    pub resigned: Vec<char>,
    /// None once the game is over.
    pub to_move: Option<char>,
    pub ply: u32,
}

impl Reference {
    pub fn start(rules: &Rules) -> Self {
        let rows: Vec<&str> = match rules.board() {
            Board::B6x6 => vec!["------"; 6],
            Board::B8x8 => vec!["--------"; 8],
            Board::B10x10 => vec!["----------"; 10],
            Board::Octagon => vec![
                "__------__",
                "_--------_",
                "----------",
                "----------",
                "----------",
                "----------",
                "----------",
                "----------",
                "_--------_",
                "__------__",
            ],
            Board::Cross => vec![
                "___----___",
                "___----___",
                "___----___",
                "----------",
                "----------",
                "----------",
                "----------",
                "___----___",
                "___----___",
                "___----___",
            ],
        };
        let mut grid: Vec<Vec<char>> = rows.iter().map(|row| row.chars().collect()).collect();
        let last = grid.len() - 1;
        let (low, high) = (last / 2, last / 2 + 1);
        let players = usize::from(rules.players());
        let fourth = |colour: usize| if colour < players { TURN_ORDER[colour] } else { 'N' };
        let [top_left, top_right, bottom_left, bottom_right] = match rules.opening() {
            Some(Opening::Cross) => ['W', 'B', 'B', 'W'],
            Some(Opening::Parallel) => ['B', 'B', 'W', 'W'],
            Some(Opening::Free) => ['-'; 4],
            None => [fourth(0), fourth(1), fourth(3), fourth(2)],
        };
        grid[low][low] = top_left;
        grid[low][high] = top_right;
        grid[high][low] = bottom_left;
        grid[high][high] = bottom_right;
        for corner in 0..rules.handicap_corners() {
            match corner {
                0 => grid[0][0] = 'B',
                1 => grid[last][last] = 'B',
                2 => grid[0][last] = 'B',
                _ => grid[last][0] = 'B',
            }
        }
        for square in rules.layout().into_iter().flat_map(|layout| layout.squares()) {
            grid[usize::from(square.rank())][usize::from(square.file())] = '#';
        }
        Self { rules: *rules, grid, resigned: Vec::new(), to_move: Some('B'), ply: 0 }
    }

    fn at(&self, (x, y): At) -> char {
        let row = usize::try_from(y).ok().and_then(|y| self.grid.get(y));
        row.zip(usize::try_from(x).ok()).and_then(|(row, x)| row.get(x)).copied().unwrap_or('_')
    }

    fn is_disc(&self, at: At) -> bool {
        "BWRGN".contains(self.at(at))
    }

    fn squares(&self) -> Vec<At> {
        let size = self.grid.len() as i32;
        (0..size).flat_map(|y| (0..size).map(move |x| (x, y))).collect()
    }

    fn opening_squares(&self) -> Vec<At> {
        if self.rules.opening() != Some(Opening::Free) || self.ply >= 4 {
            return Vec::new();
        }
        let low = (self.grid.len() as i32 - 1) / 2;
        let centre = [(low, low), (low + 1, low), (low, low + 1), (low + 1, low + 1)];
        centre.into_iter().filter(|at| self.at(*at) == '-').collect()
    }

    pub fn flips(&self, mover: char, (x, y): At) -> Vec<At> {
        let mut flips = Vec::new();
        if self.at((x, y)) != '-' {
            return flips;
        }
        for (dx, dy) in DIRECTIONS {
            let mut line = Vec::new();
            let mut at = (x + dx, y + dy);
            while self.is_disc(at) && self.at(at) != mover {
                line.push(at);
                at = (at.0 + dx, at.1 + dy);
            }
            if self.at(at) == mover {
                flips.extend(line);
            }
        }
        flips
    }

    fn touches_disc(&self, (x, y): At) -> bool {
        DIRECTIONS.iter().any(|(dx, dy)| self.is_disc((x + dx, y + dy)))
    }

    /// What a colour may do, as `opening`, `flip`, `adjacent` or `pass`, and where.
    pub fn options(&self, mover: char) -> (&'static str, Vec<At>) {
        let opening = self.opening_squares();
        if !opening.is_empty() {
            return ("opening", opening);
        }
        let mut squares = self.squares();
        squares.retain(|at| !self.flips(mover, *at).is_empty());
        if !squares.is_empty() {
            return ("flip", squares);
        }
        if !self.rules.multicolor() {
            return ("pass", Vec::new());
        }
        let mut squares = self.squares();
        squares.retain(|at| self.at(*at) == '-' && self.touches_disc(*at));
        (if squares.is_empty() { "pass" } else { "adjacent" }, squares)
    }

    fn after(&self, mover: char) -> Vec<char> {
        let players = usize::from(self.rules.players());
        let turn = TURN_ORDER.iter().position(|colour| *colour == mover).unwrap();
        let others = (1..=players).map(|step| TURN_ORDER[(turn + step) % players]);
        others.filter(|colour| !self.resigned.contains(colour)).collect()
    }

    /// Plays a legal placement; gives the flips and who passed.
    pub fn play(&mut self, at: At) -> (Vec<At>, Vec<char>) {
        let mover = self.to_move.expect("the game goes on");
        let (kind, squares) = self.options(mover);
        assert!(squares.contains(&at), "{at:?} is not legal here");
        let flips = if kind == "flip" { self.flips(mover, at) } else { Vec::new() };
        for (x, y) in flips.iter().chain([&at]) {
            self.grid[*y as usize][*x as usize] = mover;
        }
        self.ply += 1;

        let mut passed = Vec::new();
        for next in self.after(mover) {
            if self.options(next).0 != "pass" {
                self.to_move = Some(next);
                return (flips, passed);
            }
            passed.push(next);
        }
        self.to_move = None;
        (flips, Vec::new())
    }

    pub fn resign(&mut self, colour: char) {
        let next = self.after(colour);
        self.resigned.push(colour);
        if self.resigned.len() + 1 == usize::from(self.rules.players()) {
            self.to_move = None;
        } else if self.to_move == Some(colour) {
            self.to_move = Some(next[0]);
        }
    }

    pub fn count(&self, colour: char) -> u32 {
        self.grid.iter().flatten().filter(|cell| **cell == colour).count() as u32
    }

    /// The winner, or none for a draw, of a game that is over.
    pub fn winner(&self) -> Option<char> {
        let players = &TURN_ORDER[..self.rules.players().into()];
        let mut left: Vec<char> =
            players.iter().copied().filter(|colour| !self.resigned.contains(colour)).collect();
        left.sort_by_key(|colour| self.count(*colour));
        if self.rules.objective() == Objective::MostDiscs {
            left.reverse();
        }
        match left[..] {
            [first, second, ..] if self.count(first) == self.count(second) => None,
            _ => Some(left[0]),
        }
    }

    pub fn board_text(&self) -> String {
        let rows: Vec<String> = self.grid.iter().map(|row| row.iter().collect()).collect();
        rows.join("/")
    }
}
