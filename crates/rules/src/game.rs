//! A table: who sits, how the game stands, and what may change it next, in the order in which
//! refusals count.

use std::fmt;

use crate::history::TEXT_BYTES_MAX;
use crate::names::vocabulary;
use crate::{
    Cell, Change, Color, ColorSet, IllegalResignation, Outcome, Played, Position, Reason, Rules,
    Square, SquareSet, Version, Why,
};

/// Where a game is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Seats are still open.
    WaitingForPlayers = 1,
    /// It is being played.
    InProgress = 2,
    /// It is over.
    Finished = 3,
}

vocabulary!(Status, "status",
    WaitingForPlayers => "waiting-for-players",
    InProgress => "in-progress",
    Finished => "finished",
);

/// A game with its seats: what its history folds to.
///
/// ```
/// use reversi_rules::{Change, Color, Game, Rules, NewSeat, Status};
/// let seats = vec![NewSeat { claimed: true, player_id: "ann".into() }, NewSeat::default()];
/// let created = Change::Created { game_id: "g".into(), rules: Rules::default(), seats };
/// let mut game = Game::create(&created).unwrap();
/// assert_eq!(game.status(), Status::WaitingForPlayers);
/// game.apply(&Change::SeatClaimed { color: Color::White, player_id: "bob".into() }).unwrap();
/// let square = "d3".parse().unwrap();
/// let applied = game.apply(&Change::MovePlayed { color: Color::Black, square }).unwrap();
/// assert_eq!(applied.played.unwrap().flips.len(), 1);
/// assert_eq!(game.version().revision, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    claimed: ColorSet,
    position: Position,
    aborted: bool,
    version: Version,
}

/// A seat as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seat {
    /// Its colour.
    pub color: Color,
    /// Whether somebody sits there.
    pub claimed: bool,
    /// Whether its player has resigned.
    pub resigned: bool,
}

/// What a change did beyond what it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What a placement did; none for any other change.
    pub played: Option<Played>,
}

/// Why a change cannot be: the first in this order that applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The history itself is wrong: a creation that is not the first change, another one that is,
    /// seats that are not as many as the players, or a text over [`TEXT_BYTES_MAX`] bytes. No
    /// caller's command leads here once its form was checked.
    Malformed(&'static str),
    /// Nobody plays this colour in this game.
    NoSuchColor(Color),
    /// The game's board has no such square.
    SquareOffBoard(Square),
    /// The square is blocked in this game.
    SquareBlocked(Square),
    /// No seat is open.
    NoOpenSeat,
    /// This seat is taken, while another is open.
    SeatTaken(Color),
    /// Seats are still open.
    NotStarted,
    /// The game is over.
    Finished,
    /// This player has resigned.
    SeatResigned(Color),
    /// It is another colour's turn.
    NotYourTurn {
        /// Whose turn it is.
        to_move: Color,
    },
    /// The placement is not legal now.
    IllegalMove {
        /// Why.
        why: Why,
        /// What is.
        legal: SquareSet,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "malformed history: {what}"),
            Self::NoSuchColor(color) => write!(f, "nobody plays {color} in this game"),
            Self::SquareOffBoard(square) => write!(f, "{square} is not on this game's board"),
            Self::SquareBlocked(square) => write!(f, "{square} is blocked in this game"),
            Self::NoOpenSeat => f.write_str("no seat is open"),
            Self::SeatTaken(color) => write!(f, "the {color} seat is taken"),
            Self::NotStarted => f.write_str("the game waits for players"),
            Self::Finished => f.write_str("the game is over"),
            Self::SeatResigned(color) => write!(f, "{color} has resigned"),
            Self::NotYourTurn { to_move } => write!(f, "it is {to_move}'s turn"),
            Self::IllegalMove { why, .. } => why.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl Game {
    /// The game that the first change of a history makes.
    ///
    /// # Errors
    ///
    /// [`Refusal::Malformed`].
    pub fn create(change: &Change) -> Result<Self, Refusal> {
        check_texts(change)?;
        let Change::Created { rules, seats, .. } = change else {
            return Err(Refusal::Malformed("a game begins with its creation"));
        };
        if seats.len() != usize::from(rules.players()) {
            return Err(Refusal::Malformed("there is one seat for each player"));
        }
        let seats = rules.colors().zip(seats);
        Ok(Self {
            claimed: seats.filter(|(_, seat)| seat.claimed).map(|(color, _)| color).collect(),
            position: Position::start(rules),
            aborted: false,
            version: Version::ZERO.next(change),
        })
    }

    /// The game again from stored parts, without its history.
    ///
    /// # Errors
    ///
    /// The parts do not go together. What is checked is cheap; it does not replace a replay.
    pub fn from_parts(
        claimed: ColorSet,
        position: Position,
        aborted: bool,
        version: Version,
    ) -> Result<Self, InvalidParts> {
        let game = Self { claimed, position, aborted, version };
        if !claimed.without(game.rules().color_set()).is_empty() {
            return Err(InvalidParts("a seat that nobody plays is claimed"));
        }
        let moves = u64::from(game.position.ply() + game.position.resigned().len());
        if game.has_open_seat() && moves > 0 {
            return Err(InvalidParts("the game went on with a seat open"));
        }
        if aborted && game.position.to_move().is_none() {
            return Err(InvalidParts("a game that was over is aborted"));
        }
        // Creation, then claims, then moves and resignations, then perhaps the abort.
        let without_claims = 1 + moves + u64::from(aborted);
        let claims = version.revision.checked_sub(without_claims);
        if version.digest == 0 || claims.is_none_or(|claims| claims > claimed.len().into()) {
            return Err(InvalidParts("the version is not one of this game"));
        }
        Ok(game)
    }

    /// The rules.
    pub const fn rules(&self) -> &Rules {
        self.position.rules()
    }

    /// The seats in turn order.
    pub fn seats(&self) -> impl Iterator<Item = Seat> + '_ {
        self.rules().colors().map(|color| Seat {
            color,
            claimed: self.claimed.contains(color),
            resigned: self.position.resigned().contains(color),
        })
    }

    /// The seats that are taken.
    pub const fn claimed(&self) -> ColorSet {
        self.claimed
    }

    /// The first open seat in turn order.
    pub fn next_open_seat(&self) -> Option<Color> {
        self.rules().colors().find(|color| !self.claimed.contains(*color))
    }

    fn has_open_seat(&self) -> bool {
        self.next_open_seat().is_some()
    }

    /// Where the game is in its life.
    pub fn status(&self) -> Status {
        if self.aborted || self.position.to_move().is_none() {
            Status::Finished
        } else if self.has_open_seat() {
            Status::WaitingForPlayers
        } else {
            Status::InProgress
        }
    }

    /// The position, which says that Black is to move also before the game starts and keeps saying
    /// whose turn it was when the game is aborted.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// Whether it was called off.
    pub const fn aborted(&self) -> bool {
        self.aborted
    }

    /// How it ended; none before.
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.aborted {
            return self.position.outcome();
        }
        Some(Outcome {
            winners: ColorSet::EMPTY,
            draw: false,
            reason: Reason::Aborted,
            counts: self.position.counts(),
        })
    }

    /// The version after the last change.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Makes the change.
    ///
    /// # Errors
    ///
    /// The first refusal that applies, in the order of [`Refusal`]; the game is unchanged.
    pub fn apply(&mut self, change: &Change) -> Result<Applied, Refusal> {
        check_texts(change)?;
        let mut applied = Applied::default();
        match change {
            Change::Created { .. } => {
                return Err(Refusal::Malformed("the game is created already"));
            }
            Change::SeatClaimed { color, .. } => self.claim(*color)?,
            Change::MovePlayed { color, square } => {
                applied.played = Some(self.play(*color, *square)?);
            }
            Change::Resigned { color } => self.resign(*color)?,
            Change::Aborted => {
                if self.status() == Status::Finished {
                    return Err(Refusal::Finished);
                }
                self.aborted = true;
            }
        }
        self.version = self.version.next(change);
        Ok(applied)
    }

    fn claim(&mut self, color: Color) -> Result<(), Refusal> {
        self.has_seat(color)?;
        if !self.has_open_seat() {
            return Err(Refusal::NoOpenSeat);
        }
        if self.claimed.contains(color) {
            return Err(Refusal::SeatTaken(color));
        }
        if self.status() == Status::Finished {
            return Err(Refusal::Finished);
        }
        self.claimed.insert(color);
        Ok(())
    }

    fn play(&mut self, color: Color, square: Square) -> Result<Played, Refusal> {
        self.has_seat(color)?;
        match self.position.cell(square) {
            Cell::Outside => return Err(Refusal::SquareOffBoard(square)),
            Cell::Blocked => return Err(Refusal::SquareBlocked(square)),
            Cell::Empty | Cell::Neutral | Cell::Disc(_) => {}
        }
        let to_move = self.in_progress()?;
        if self.position.resigned().contains(color) {
            return Err(Refusal::SeatResigned(color));
        }
        if to_move != color {
            return Err(Refusal::NotYourTurn { to_move });
        }
        let legal = self.position.legal_moves();
        self.position
            .play(square)
            .map_err(|illegal| Refusal::IllegalMove { why: illegal.why, legal })
    }

    fn resign(&mut self, color: Color) -> Result<(), Refusal> {
        self.has_seat(color)?;
        self.in_progress()?;
        self.position.resign(color).map_err(|why| match why {
            IllegalResignation::NoSuchColor => Refusal::NoSuchColor(color),
            IllegalResignation::GameOver => Refusal::Finished,
            IllegalResignation::Resigned => Refusal::SeatResigned(color),
        })
    }

    fn has_seat(&self, color: Color) -> Result<(), Refusal> {
        if self.rules().color_set().contains(color) {
            Ok(())
        } else {
            Err(Refusal::NoSuchColor(color))
        }
    }

    /// Whose turn it is in a game that has started and is not over.
    fn in_progress(&self) -> Result<Color, Refusal> {
        match (self.status(), self.position.to_move()) {
            (Status::WaitingForPlayers, _) => Err(Refusal::NotStarted),
            (Status::InProgress, Some(color)) => Ok(color),
            (Status::InProgress | Status::Finished, _) => Err(Refusal::Finished),
        }
    }
}

fn check_texts(change: &Change) -> Result<(), Refusal> {
    if change.texts().all(|text| text.len() <= TEXT_BYTES_MAX) {
        Ok(())
    } else {
        Err(Refusal::Malformed("a text is longer than 64 bytes"))
    }
}

/// Stored parts that are no game: what is wrong with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidParts(&'static str);

impl fmt::Display for InvalidParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for InvalidParts {}
