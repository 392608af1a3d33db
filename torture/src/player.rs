//! One of the two clients that hold the right to a seat: it reads the game and moves when it is its turn, and now and then
//! when it may not, or twice.

use std::time::Instant;

use reversi_proto::v1;
use reversi_rules::{Color, Square, Version};
use tokio::time::sleep;

use crate::{
    caller::{Caller, Settled},
    log::{Answer, Call, Command, version},
    table::{Table, note, wire},
};

/// How often of a hundred times a player does what it may not, gives up, and asks again for what was answered.
const HASTY: usize = 4;
const WILD: usize = 5;
const RESIGNS_PER_MILLE: usize = 4;
const REPEATS: usize = 10;

/// Plays the seat until the game is over or gone for good, or there is no point in going on.
pub async fn play(table: Table, color: Color, mut caller: Caller) {
    while !table.log.is_broken() {
        let begun = Instant::now();
        let game = table.read(&mut caller).await;
        let Some(game) = game.filter(|game| game.status() != v1::GameStatus::Finished) else {
            // An end may be lost, and a primary that has just come may not know of the game.
            if table.world.lasts(begun, Instant::now()).await {
                return;
            }
            continue;
        };
        let Some(position) = game.position else { return };
        let own = position.to_move == i32::from(color.number());
        if own || caller.random.percent(HASTY) {
            if own && caller.random.below(1_000) < RESIGNS_PER_MILLE {
                resign(&table, color, &mut caller).await;
            } else {
                let at = version(game.version);
                place(&table, color, at, &position.legal_moves, &mut caller).await;
            }
        }
        let pause = caller.random.millis(5, 60);
        sleep(pause).await;
    }
}

async fn place(table: &Table, color: Color, at: Version, legal: &[String], caller: &mut Caller) {
    let random = &mut caller.random;
    let legal: Vec<Square> = legal.iter().filter_map(|square| square.parse().ok()).collect();
    let square = match legal.as_slice() {
        // A square of every board that may have a disc.
        _ if random.percent(WILD) => "d4".parse().expect("a square"),
        [] => return,
        legal => random.pick(legal),
    };
    let expected = match random.below(20) {
        0..8 => Some(at),
        8..13 => Some(Version { digest: 0, ..at }),
        13 => Some(Version { revision: at.revision - 1, digest: 0 }),
        _ => None,
    };
    let Some(seat_token) = table.tokens.get(&color).cloned() else { return };
    let request = v1::MakeMoveRequest {
        game_id: table.log.lock().game_id.clone(),
        square: square.to_string(),
        seat_token,
        expected_version: expected.map(wire),
        request_id: random.request_id(),
        ..Default::default()
    };
    let command = Command::Move { color, square, expected };
    let settled = make(table, &request, caller).await;
    let done = note(&table.log, command, settled, |made: &v1::MakeMoveResponse, log| {
        match made.event.clone() {
            Some(event) => log.event(event),
            None => Version::ZERO,
        }
    });
    if let Some(done) = done
        && caller.random.percent(REPEATS)
    {
        repeat(table, request, &done, caller).await;
    }
}

async fn make(
    table: &Table,
    request: &v1::MakeMoveRequest,
    caller: &mut Caller,
) -> Settled<v1::MakeMoveResponse> {
    caller
        .settle(
            request.clone(),
            |mut client, request| async move { client.make_move(request).await },
            |status| table.log.lock().contradict(format!("a move is answered {status:?}")),
        )
        .await
}

/// Asks again for what was done: the answer must be the first one, unless what was done was lost.
async fn repeat(
    table: &Table,
    request: v1::MakeMoveRequest,
    first: &v1::MakeMoveResponse,
    caller: &mut Caller,
) {
    caller.world.count("done calls repeated");
    let again = make(table, &request, caller).await;
    let told = |made: &v1::MakeMoveResponse| {
        let mut told = made.clone();
        if let Some(event) = told.event.as_mut().filter(|_| caller.world.can_lose()) {
            // What was lost can be done again at another time.
            event.time = None;
        }
        told
    };
    let same = matches!(&again.answer, Some(Ok(answer)) if told(answer) == told(first));
    if !same && !table.world.loses && again.answer.is_some() {
        let what = format!("the repeat of {first:?} is answered {:?}", again.answer);
        table.log.lock().contradict(what);
        return;
    }
    let square = request.square.parse().expect("it was one before");
    let color = first_color(first);
    let expected = request.expected_version.map(|it| version(Some(it)));
    let command = Command::Move { color, square, expected };
    if same {
        // What was lost is done again by this, with the same answer.
        let Settled { begun, last_begun, ended, .. } = again;
        let done = first.event.as_ref().map_or(Version::ZERO, |event| version(event.version));
        let answer = Answer::Done(done);
        table.log.lock().repeats.push(Call { command, begun, last_begun, ended, answer });
    } else {
        // Where it was lost, the repeat is a call like any other.
        note(&table.log, command, again, |made: &v1::MakeMoveResponse, log| {
            made.event.clone().map_or(Version::ZERO, |event| log.event(event))
        });
    }
}

fn first_color(made: &v1::MakeMoveResponse) -> Color {
    let change = made.event.as_ref().and_then(|event| event.change.as_ref());
    let color = match change {
        Some(v1::game_event::Change::MovePlayed(played)) => played.color,
        _ => 0,
    };
    u8::try_from(color).ok().and_then(Color::from_number).unwrap_or(Color::Black)
}

async fn resign(table: &Table, color: Color, caller: &mut Caller) {
    let Some(seat_token) = table.tokens.get(&color).cloned() else { return };
    let request = v1::ResignGameRequest {
        game_id: table.log.lock().game_id.clone(),
        seat_token,
        request_id: caller.random.request_id(),
        ..Default::default()
    };
    let settled = caller
        .settle(
            request,
            |mut client, request| async move { client.resign_game(request).await },
            |status| table.log.lock().contradict(format!("a resignation is answered {status:?}")),
        )
        .await;
    note(&table.log, Command::Resign(color), settled, |done: &v1::ResignGameResponse, log| {
        done.event.clone().map_or(Version::ZERO, |event| log.event(event))
    });
}

/// Ends the game for its owner.
pub async fn abort(table: &Table, mut caller: Caller) {
    let request = v1::AbortGameRequest {
        game_id: table.log.lock().game_id.clone(),
        owner_token: table.owner.clone(),
        request_id: caller.random.request_id(),
    };
    let settled = caller
        .settle(
            request,
            |mut client, request| async move { client.abort_game(request).await },
            |status| table.log.lock().contradict(format!("an abort is answered {status:?}")),
        )
        .await;
    note(&table.log, Command::Abort, settled, |done: &v1::AbortGameResponse, log| {
        done.event.clone().map_or(Version::ZERO, |event| log.event(event))
    });
}
