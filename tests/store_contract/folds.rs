//! The stored state is the fold of the history, for games of every variant played at random.

use std::sync::Arc;

use reversi_rules::{BlockedSetup, Color, Setup};
use reversid::{
    model::{Act, Creation, Fold, Player, Record},
    store::{Lookup, Store},
};
use tokio::task::JoinSet;

use crate::{
    common::{StoreKind, lines::*},
    on_every_store, open,
};

on_every_store!(whatever_happens_in_a_game_its_state_is_the_fold_of_its_history);

async fn whatever_happens_in_a_game_its_state_is_the_fold_of_its_history(kind: StoreKind) {
    let store = open(kind);
    let mut games = JoinSet::new();
    for (seed, setup) in (0..).zip(every_variant()) {
        games.spawn(play(store.clone(), setup, Seeded(seed)));
    }
    // Games side by side share the store's transactions, and must not notice.
    let mut ends = [0; 3];
    for ended in games.join_all().await {
        ends[ended] += 1;
    }
    assert!(
        ends.iter().all(|games| *games > 0),
        "boards, resignations and owners end games: {ends:?}"
    );
}

/// Plays one game to its end, and says how it ended: on the board, by a resignation, by its owner.
async fn play(store: Arc<dyn Store>, setup: Setup, mut random: Seeded) -> usize {
    let seed = random.0;
    let mut line = Line::create_at(started(setup, &mut random), START, request(&mut random));
    line.put_new(&store).await;
    while !line.is_over() {
        let time =
            line.game().update_time.after(std::time::Duration::from_millis(random.next() >> 40));
        let next =
            line.and(Record { time, request: request(&mut random), act: act(&line, &mut random) });
        next.follow(&line, &store).await;
        assert_folds(&store, &next, seed).await;
        line = next;
    }
    line.assert_in(&store).await;
    match line.0.history.last().map(|record| &record.act) {
        Some(Act::MovePlayed { .. }) => 0,
        Some(Act::Resigned { .. }) => 1,
        _ => 2,
    }
}

async fn assert_folds(store: &Arc<dyn Store>, line: &Line, seed: u64) {
    let there = store.load(line.id()).await.expect("the store answers");
    let Lookup::Found(there) = there else { panic!("seed {seed}: it is there, not {there:?}") };
    let mut fold = Fold::new(LIFETIMES);
    for record in &there.history {
        fold.step(record).expect("a stored history folds");
    }
    let folded = fold.into_game().expect("a history is not empty");
    assert_eq!(format!("{:?}", there.game), format!("{folded:?}"), "seed {seed}");
    assert_eq!(there.game.version(), line.version(), "seed {seed}");
}

/// A game by these rules, with blocked squares, corners and open seats as it comes.
fn started(mut setup: Setup, random: &mut Seeded) -> Creation {
    if setup.board.handicap_corners().is_some() && !setup.multicolor {
        setup.handicap_corners = random.below(5) as u32;
    }
    setup.blocked = match random.below(3) {
        0 => None,
        1 => Some(BlockedSetup {
            count: Some(1 + random.below(4) as u32),
            seed: Some(random.next()),
            ..BlockedSetup::default()
        }),
        // Every board has these two, and no corner, centre or cut corner is among them.
        _ => Some(BlockedSetup {
            squares: vec!["d1".into(), "c1".into()],
            ..BlockedSetup::default()
        }),
    };
    let blocked = setup.clone().check();
    let checked =
        blocked.unwrap_or_else(|_| Setup { blocked: None, ..setup }.check().expect("sound"));
    let rules = checked.complete(None).expect("nothing is left to be drawn");
    let seat = |color: Color| (player(&format!("{color}")), token(color.number()));
    let seats = rules.colors().map(|color| (!random.one_in(3)).then(|| seat(color))).collect();
    Creation { rules, seats, ..creation(&format!("game {}", random.next())) }
}

fn request(random: &mut Seeded) -> Option<reversid::model::RequestMark> {
    random.one_in(2).then(|| mark(random.next() as u8))
}

/// What happens next: mostly moves.
fn act(line: &Line, random: &mut Seeded) -> Act {
    let table = &line.game().table;
    if random.one_in(150) {
        return Act::Aborted;
    }
    if let Some(color) = table.next_open_seat() {
        let display_name = "x".repeat(random.below(128));
        let player = Player { player_id: format!("late {color}"), display_name };
        return Act::SeatClaimed { color, player, token: token(random.next() as u8) };
    }
    let mover = table.position().to_move().expect("the game goes on");
    if random.one_in(60) {
        let left: Vec<_> =
            table.seats().filter(|seat| !seat.resigned).map(|seat| seat.color).collect();
        return Act::Resigned { color: left[random.below(left.len())] };
    }
    let moves = line.moves();
    Act::MovePlayed { color: mover, square: moves[random.below(moves.len())] }
}
