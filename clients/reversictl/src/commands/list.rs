//! Lists games and what happened in them, page by page.

use reversi_proto::v1;

use crate::args::{self, Status};
use crate::connect::Connection;
use crate::errors::Failure;
use crate::{escape, words};

/// The most rows that a server puts on a page.
const PAGE_ROWS_MAX: usize = 500;

/// Lists the games that match, newest first.
pub async fn games(connection: &Connection, list: args::List) -> Result<(), Failure> {
    let status = list.status.map_or(v1::GameStatus::Unspecified, |status| match status {
        Status::Waiting => v1::GameStatus::WaitingForPlayers,
        Status::InProgress => v1::GameStatus::InProgress,
        Status::Finished => v1::GameStatus::Finished,
    });
    let mut left = if list.limit == 0 { usize::MAX } else { list.limit };
    let mut request = v1::ListGamesRequest {
        status: status.into(),
        player_id: list.player,
        label: list.label,
        page_size: 0,
        page_token: String::new(),
    };
    let mut found = false;
    loop {
        request.page_size = i32::try_from(left.min(PAGE_ROWS_MAX)).expect("a page is small");
        let page = connection
            .call(
                request.clone(),
                |mut client, request| async move { client.list_games(request).await },
            )
            .await?;
        for game in page.games.iter().take(left) {
            connection.output.result(game, || game_line(game))?;
        }
        found |= !page.games.is_empty();
        left = left.saturating_sub(page.games.len());
        if left == 0 || page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    if !found {
        connection.output.notice("No games match. Create one: reversictl create");
    }
    Ok(())
}

fn game_line(game: &v1::Game) -> String {
    let position = game.position.clone().unwrap_or_default();
    let counts: Vec<_> = position.counts.iter().map(|count| count.discs.to_string()).collect();
    let seats: Vec<_> = game
        .seats
        .iter()
        .map(|seat| {
            let who = words::player(&seat.player_id, &seat.display_name);
            let who = if seat.claimed { who } else { " open".to_owned() };
            format!("{}{who}", words::color(seat.color))
        })
        .collect();
    format!(
        "{}  {}  {:<11}  {:<11}  {:>11}  {}",
        escape::text(&game.game_id),
        time(game.create_time.as_ref()),
        words::status(game.status),
        words::board(game.rules.as_ref().map_or(0, |rules| rules.board)),
        counts.join(":"),
        seats.join(", "),
    )
}

/// Lists a game's events, oldest first.
pub async fn history(connection: &Connection, history: &args::History) -> Result<(), Failure> {
    let mut pages = EventPages::new(connection, &history.game_id, history.after);
    while let Some(events) = pages.next().await? {
        for event in &events {
            connection.output.result(event, || event_line(event))?;
        }
    }
    Ok(())
}

fn event_line(event: &v1::GameEvent) -> String {
    let version = event.version.unwrap_or_default();
    let outcome = event.outcome.as_ref().map(|outcome| format!(". {}", words::outcome(outcome)));
    format!(
        "{:>4}  {}  {}  {}{}",
        version.revision,
        words::digest(version.digest),
        time(event.time.as_ref()),
        words::change(event),
        outcome.unwrap_or_default(),
    )
}

/// To the second, and of one width.
fn time(time: Option<&impl ToString>) -> String {
    let text = time.map(ToString::to_string).unwrap_or_default();
    format!("{:<20}", text.split_once('.').map_or(text.clone(), |(second, _)| format!("{second}Z")))
}

/// A game's record, page by page.
pub struct EventPages<'a> {
    connection: &'a Connection,
    /// The next page; none after the last.
    request: Option<v1::ListGameEventsRequest>,
}

impl<'a> EventPages<'a> {
    /// The events of later revisions.
    pub fn new(connection: &'a Connection, game_id: &str, after_revision: u64) -> Self {
        let request = v1::ListGameEventsRequest {
            game_id: game_id.to_owned(),
            after_revision,
            page_size: i32::try_from(PAGE_ROWS_MAX).expect("a page is small"),
            page_token: String::new(),
        };
        Self { connection, request: Some(request) }
    }

    /// The next page; none after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<v1::GameEvent>>, Failure> {
        let Some(request) = self.request.take() else { return Ok(None) };
        let page = self
            .connection
            .call(request.clone(), |mut client, request| async move {
                client.list_game_events(request).await
            })
            .await?;
        if !page.next_page_token.is_empty() {
            self.request =
                Some(v1::ListGameEventsRequest { page_token: page.next_page_token, ..request });
        }
        Ok(Some(page.events))
    }
}
