//! Games as stores keep them: each a line of records that the rules allow, folded as the service folds them, with every
//! choice made by the test.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use reversi_rules::{
    Board, Color, Layout, Objective, Opening, Rules, Setup, Square, Status, Version,
};
use reversid::{
    model::{
        Act, Creation, Game, GameId, Lifetimes, Millis, Player, Record, RequestMark, Stored,
        TokenHash,
    },
    store::{Commit, Lookup, Store},
    wire,
};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub const LIFETIMES: Lifetimes =
    Lifetimes { idle: DAY.saturating_mul(30), finished: DAY.saturating_mul(90) };

/// When the games of these tests begin, unless they say otherwise.
pub const START: Millis = Millis(1_800_000_000_123);

/// A game and its history, as a store must give them back.
#[derive(Clone, Debug)]
pub struct Line(pub Arc<Stored>);

pub fn player(player_id: &str) -> Player {
    Player { player_id: player_id.into(), display_name: format!("{player_id} the player") }
}

pub fn token(seed: u8) -> TokenHash {
    TokenHash([seed; 16])
}

pub fn mark(seed: u8) -> RequestMark {
    RequestMark { tag: [seed; 6], command: [!seed; 2] }
}

/// A plain game between `black` and `white`.
pub fn creation(id: &str) -> Creation {
    Creation {
        game_id: GameId::new(id),
        rules: Rules::default(),
        seats: vec![Some((player("black"), token(1))), Some((player("white"), token(2)))],
        labels: BTreeMap::new(),
        owner: token(9),
        salt: [7; 16],
        command: None,
    }
}

/// The same with every seat open.
pub fn open_creation(id: &str) -> Creation {
    Creation { seats: vec![None, None], ..creation(id) }
}

/// Rules of every variant: each board, opening, objective and number of players.
pub fn every_variant() -> Vec<Setup> {
    let mut setups = Vec::new();
    for objective in Objective::ALL {
        for board in Board::ALL {
            let setup = Setup { board, objective, ..Setup::default() };
            setups.extend(Opening::ALL.map(|one| Setup { opening: Some(one), ..setup.clone() }));
        }
        for board in [Board::B8x8, Board::B10x10, Board::Octagon] {
            let setup = Setup { board, objective, multicolor: true, ..Setup::default() };
            setups.extend([2, 3, 4].map(|players| Setup { players, ..setup.clone() }));
        }
    }
    setups
}

impl Line {
    pub fn create(creation: Creation) -> Self {
        Self::create_at(creation, START, None)
    }

    pub fn create_at(creation: Creation, time: Millis, request: Option<RequestMark>) -> Self {
        let record = Record { time, request, act: Act::Created(Box::new(creation)) };
        let game = Game::created(&record, LIFETIMES).expect("a creation");
        Self(Arc::new(Stored { game, history: vec![record] }))
    }

    /// This game and one more record.
    pub fn and(&self, record: Record) -> Self {
        let Stored { mut game, mut history } = (*self.0).clone();
        game.apply(&record, LIFETIMES).expect("the rules allow it");
        history.push(record);
        Self(Arc::new(Stored { game, history }))
    }

    /// This game and one more act, a second later.
    pub fn then(&self, act: Act) -> Self {
        let time = self.game().update_time.after(Duration::from_secs(1));
        self.and(Record { time, request: None, act })
    }

    /// The legal moves.
    pub fn moves(&self) -> Vec<Square> {
        let position = self.game().table.position();
        position.legal_moves().iter().collect()
    }

    /// This game and its legal move of this number.
    pub fn played(&self, number: usize) -> Self {
        let color = self.game().table.position().to_move().expect("the game goes on");
        self.then(Act::MovePlayed { color, square: self.moves()[number] })
    }

    pub fn claimed(&self, color: Color, player_id: &str) -> Self {
        let token = token(color.number());
        self.then(Act::SeatClaimed { color, player: player(player_id), token })
    }

    pub fn aborted(&self) -> Self {
        self.then(Act::Aborted)
    }

    pub fn game(&self) -> &Game {
        &self.0.game
    }

    pub fn id(&self) -> &GameId {
        &self.game().id
    }

    pub fn version(&self) -> Version {
        self.game().version()
    }

    pub fn is_over(&self) -> bool {
        self.game().table.status() == Status::Finished
    }

    fn last(&self) -> Record {
        self.0.history.last().expect("a line has a record").clone()
    }

    /// Creates the game, which has one record, in `store`.
    pub async fn put(&self, store: &Arc<dyn Store>) -> Commit {
        assert_eq!(self.version().revision, 1, "only a new game is put");
        store.create(self.0.clone()).await.expect("the store answers")
    }

    /// Creates it, and it was not there.
    pub async fn put_new(&self, store: &Arc<dyn Store>) {
        assert!(matches!(self.put(store).await, Commit::Done), "{} is new", self.id());
    }

    /// Commits the last record of this line, on what is before it.
    pub async fn commit_on(&self, before: &Self, store: &Arc<dyn Store>) -> Commit {
        let commit = store.commit(before.0.clone(), self.0.clone());
        commit.await.expect("the store answers")
    }

    /// Commits it, and nothing was in between.
    pub async fn follow(&self, before: &Self, store: &Arc<dyn Store>) {
        let commit = self.commit_on(before, store).await;
        assert!(matches!(commit, Commit::Done), "{} is still at {:?}", self.id(), before.version());
    }

    /// Panics unless `store` has this game, whole.
    pub async fn assert_in(&self, store: &Arc<dyn Store>) {
        self.assert_is(&store.load(self.id()).await.expect("the store answers"));
    }

    /// Panics unless `there` is this game, whole.
    pub fn assert_is(&self, there: &Lookup) {
        let Lookup::Found(there) = there else { panic!("{} is there, not {there:?}", self.id()) };
        assert_eq!(wire::game(&there.game), wire::game(self.game()));
        // Secrets are in no message, and have no equality that a mistake could use.
        assert_eq!(format!("{:?}", there.game), format!("{:?}", self.game()));
        assert_eq!(there.history.len(), self.0.history.len());
        for (record, ours) in there.history.iter().zip(&self.0.history) {
            assert_eq!(format!("{record:?}"), format!("{ours:?}"));
        }
    }

    /// Panics unless `commit` was refused because of this game.
    pub fn assert_conflict(&self, commit: &Commit) {
        match commit {
            Commit::Conflict(there) => self.assert_is(there),
            Commit::Done => panic!("{} is in the way", self.id()),
        }
    }
}

/// Panics unless nothing is under the id.
pub async fn assert_missing(store: &Arc<dyn Store>, id: &GameId) {
    let there = store.load(id).await.expect("the store answers");
    assert!(matches!(there, Lookup::Missing), "{id} is not there: {there:?}");
}

/// Four blocked squares that follow from the seed.
pub fn layout(seed: u64) -> Layout {
    Layout::draw(Board::B8x8, 0, 4, seed).expect("four squares fit")
}

/// Numbers that follow from a seed, so that a failure can be had again.
pub struct Seeded(pub u64);

impl Seeded {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Creates many games that are not there, as many at once as may share a transaction.
pub async fn put_all(store: &Arc<dyn Store>, lines: &[Line]) {
    for lines in lines.chunks(250) {
        let mut putting = tokio::task::JoinSet::new();
        for line in lines {
            let (store, line) = (store.clone(), line.clone());
            putting.spawn(async move { line.put_new(&store).await });
        }
        putting.join_all().await;
    }
}
