//! From a request's form to a command, or every fault of the form at once. Knows no game.

use std::collections::BTreeMap;

use reversi_proto::{convert, v1};
use reversi_rules::{Board, Color, Layout, Square, Status, Version};

use super::page_token::{EventsToken, GamesToken};
use crate::{
    error::{Error, Faults},
    model::{GameId, Player, RequestId, Token},
    service::{Action, ChangeGame, CreateGame, DrawLayout},
    store::Query,
};

/// Bytes of a player id. Bounds what a game stores and a digest covers.
const PLAYER_ID_MAX: usize = 64;
/// Bytes of a display name.
const DISPLAY_NAME_MAX: usize = 128;
/// Seats of a request that are looked at, so that the faults of seats that nobody can have do not hide others.
const SEATS_EXAMINED: usize = 5;
/// Squares of a request that can have faults of their own; there are never as many.
const SQUARES_EXAMINED: usize = 16;
/// Labels of a game: each is an index row.
const LABELS_MAX: usize = 32;
/// Bytes of a label's key.
const LABEL_KEY_MAX: usize = 64;
/// Bytes of a label's value.
const LABEL_VALUE_MAX: usize = 256;
/// Rows of a page.
const PAGE_MAX: usize = 500;
/// Rows of a page when none are asked for.
const PAGE_DEFAULT: usize = 50;

/// A CreateGame.
pub fn create_game(request: v1::CreateGameRequest) -> Result<CreateGame, Error> {
    let mut faults = Faults::default();
    let message = request.rules.unwrap_or_default();
    let (setup, unknown) = convert::setup(&message);
    let (checked, mut refused) = match setup.check() {
        Ok(checked) => (Some(checked), Vec::new()),
        Err(refused) => (None, refused),
    };
    // Where the board is unknown nothing can be said of its squares, if they are squares at all.
    if unknown.iter().any(|fault| fault.field == "board") {
        let squares = message.blocked_squares.iter().flat_map(|blocked| &blocked.squares);
        let is_square = |text: &String| text.parse::<Square>().is_ok();
        let sound: Vec<_> = squares.take(SQUARES_EXAMINED).map(is_square).collect();
        refused.retain(|fault| {
            let at = |index| format!("blocked_squares.squares[{index}]");
            !(0..sound.len()).any(|index| sound[index] && fault.field == at(index))
        });
    }
    for fault in unknown.into_iter().chain(refused) {
        faults.add(format!("rules.{}", fault.field), fault.problem);
    }

    let players = if setup.players == 0 { 2 } else { setup.players as usize };
    let given = request.seats.len();
    if given != 0 && given != players && (2..=4).contains(&players) {
        faults.add("seats", format!("must be none or {players}, one for each player, not {given}"));
    }
    let mut seats = Vec::new();
    for (index, seat) in request.seats.into_iter().enumerate().take(SEATS_EXAMINED) {
        let field = format!("seats[{index}]");
        let who = player(&mut faults, &format!("{field}."), seat.player_id, seat.display_name);
        if seat.open && who != Player::default() {
            faults.add(field, "is open and so must have no player_id and no display_name");
        }
        seats.push((!seat.open).then_some(who));
    }
    if seats.is_empty() {
        seats.resize(players.min(4), None);
    }

    let labels = labels(&mut faults, request.labels);
    let request = request_id(&mut faults, &request.request_id);
    match checked {
        Some(rules) => faults.or(CreateGame { rules, seats, labels, request }),
        None => Err(Error::Invalid(faults)),
    }
}

/// A JoinGame.
pub fn join_game(request: v1::JoinGameRequest) -> Result<ChangeGame, Error> {
    let mut faults = Faults::default();
    let game_id = id(&mut faults, "game_id", &request.game_id);
    let color = color(&mut faults, request.color);
    let player = player(&mut faults, "", request.player_id, request.display_name);
    let request = request_id(&mut faults, &request.request_id);
    let action = Action::Join { color, player };
    faults.or(ChangeGame { game_id, request, action })
}

/// A MakeMove.
pub fn make_move(request: v1::MakeMoveRequest) -> Result<ChangeGame, Error> {
    let mut faults = Faults::default();
    let game_id = id(&mut faults, "game_id", &request.game_id);
    let square = request.square.parse::<Square>().unwrap_or_else(|_| {
        let problem =
            format!("must be a file and a rank such as d3, not {}", quoted(&request.square));
        faults.add("square", problem);
        ANY_SQUARE
    });
    let token = seat_token(&mut faults, request.seat_token, request.color);
    let expected = request.expected_version.map(version);
    let request = request_id(&mut faults, &request.request_id);
    let action = Action::Move { token, square, expected };
    faults.or(ChangeGame { game_id, request, action })
}

/// A ResignGame.
pub fn resign_game(request: v1::ResignGameRequest) -> Result<ChangeGame, Error> {
    let mut faults = Faults::default();
    let game_id = id(&mut faults, "game_id", &request.game_id);
    let token = seat_token(&mut faults, request.seat_token, request.color);
    let request = request_id(&mut faults, &request.request_id);
    faults.or(ChangeGame { game_id, request, action: Action::Resign { token } })
}

/// An AbortGame.
pub fn abort_game(request: v1::AbortGameRequest) -> Result<ChangeGame, Error> {
    let mut faults = Faults::default();
    let game_id = id(&mut faults, "game_id", &request.game_id);
    let token = token(request.owner_token);
    let request = request_id(&mut faults, &request.request_id);
    faults.or(ChangeGame { game_id, request, action: Action::Abort { token } })
}

/// A DeleteGame: which, and by what right.
pub fn delete_game(request: v1::DeleteGameRequest) -> Result<(GameId, Option<Token>), Error> {
    Ok((game_id(&request.game_id)?, token(request.owner_token)))
}

/// A game's id alone.
pub fn game_id(text: &str) -> Result<GameId, Error> {
    let mut faults = Faults::default();
    let id = id(&mut faults, "game_id", text);
    faults.or(id)
}

/// A layout's id alone.
pub fn layout_id(text: &str) -> Result<String, Error> {
    let mut faults = Faults::default();
    let id = id(&mut faults, "layout_id", text);
    faults.or(id.to_string())
}

/// A CreateLayout.
pub fn create_layout(request: v1::CreateLayoutRequest) -> Result<DrawLayout, Error> {
    let v1::CreateLayoutRequest { board: number, handicap_corners, count, seed } = request;
    let mut faults = Faults::default();
    let board = convert::board(number).unwrap_or_else(|| {
        faults.add("board", format!("has no value {number}"));
        Board::default()
    });
    // The default board takes every handicap, so an unknown one makes no false faults.
    for fault in Layout::check_draw(board, handicap_corners, count) {
        faults.add(fault.field, fault.problem);
    }
    let small = |number: u32| u8::try_from(number).unwrap_or(u8::MAX);
    let (handicap_corners, count) = (small(handicap_corners), small(count));
    faults.or(DrawLayout { board, handicap_corners, count, seed })
}

/// A ListGames.
pub fn list_games(request: v1::ListGamesRequest) -> Result<Query, Error> {
    let mut faults = Faults::default();
    let limit = page_size(&mut faults, request.page_size);
    let status = match request.status {
        0 => None,
        number => {
            let status = u8::try_from(number).ok().and_then(Status::from_number);
            if status.is_none() {
                faults.add("status", format!("has no value {number}"));
            }
            status
        }
    };
    let player_id = text(&mut faults, "player_id", request.player_id, PLAYER_ID_MAX);
    let label = label_filter(&mut faults, &request.label);
    let player_id = Some(player_id).filter(|id| !id.is_empty());
    let mut query = Query { status, player_id, label, after: None, limit };
    if !request.page_token.is_empty() {
        match GamesToken::read(&request.page_token) {
            None => faults.add("page_token", "is not one that ListGames returned"),
            Some(token) => {
                let filter = (&query.status, &query.player_id, &query.label);
                let same = filter == (&token.status, &token.player_id, &token.label);
                if same || filter == (&None, &None, &None) {
                    query = token.query(limit);
                } else {
                    faults.add("page_token", "belongs to another filter: leave the filter out");
                }
            }
        }
    }
    faults.or(query)
}

/// A ListGameEvents: the game, after which revision, and how many.
pub fn list_game_events(
    request: v1::ListGameEventsRequest,
) -> Result<(GameId, EventsToken, usize), Error> {
    let mut faults = Faults::default();
    let game_id = id(&mut faults, "game_id", &request.game_id);
    let limit = page_size(&mut faults, request.page_size);
    let first = EventsToken::first(&game_id, request.after_revision);
    let token = match request.page_token.as_str() {
        "" => first,
        text => match EventsToken::read(text) {
            Some(token) if token.continues(&first) => token,
            Some(_) => {
                faults.add("page_token", "belongs to another game or another after_revision");
                first
            }
            None => {
                faults.add("page_token", "is not one that ListGameEvents returned");
                first
            }
        },
    };
    faults.or((game_id, token, limit))
}

/// A version as a caller has it; any numbers are a claim that can be judged.
pub fn version(version: v1::Version) -> Version {
    Version { revision: version.revision, digest: version.digest }
}

/// Stands in for a square that is at fault.
const ANY_SQUARE: Square = match Square::new(0, 0) {
    Some(square) => square,
    None => unreachable!(),
};

fn id(faults: &mut Faults, field: &str, text: &str) -> GameId {
    if text.is_empty() || text.len() > GameId::MAX_BYTES {
        let problem = format!("must be 1 to {} bytes, not {}", GameId::MAX_BYTES, text.len());
        faults.add(field, problem);
    }
    GameId::new(text)
}

fn color(faults: &mut Faults, number: i32) -> Option<Color> {
    convert::color(number).unwrap_or_else(|| {
        let problem = match v1::Color::try_from(number) {
            Ok(v1::Color::Neutral) => "is nobody's: COLOR_NEUTRAL has no seat".to_owned(),
            Ok(_) | Err(_) => format!("has no value {number}"),
        };
        faults.add("color", problem);
        None
    })
}

fn seat_token(faults: &mut Faults, text: String, number: i32) -> Option<Token> {
    let token = token(text);
    if color(faults, number).is_some() && token.is_some() {
        faults.add("color", "is in place of seat_token: give one of the two");
    }
    token
}

fn token(text: String) -> Option<Token> {
    Some(text).filter(|text| !text.is_empty()).map(Token::new)
}

fn request_id(faults: &mut Faults, text: &str) -> Option<RequestId> {
    let request = RequestId::parse(text);
    if request.is_none() && !text.is_empty() {
        // What it is stays untold: it may be somebody's secret.
        faults.add("request_id", "must be empty or a UUID in its 36-character form, not all zeros");
    }
    request
}

fn player(faults: &mut Faults, path: &str, player_id: String, display_name: String) -> Player {
    let player_id = text(faults, &format!("{path}player_id"), player_id, PLAYER_ID_MAX);
    let field = format!("{path}display_name");
    Player { player_id, display_name: text(faults, &field, display_name, DISPLAY_NAME_MAX) }
}

fn text(faults: &mut Faults, field: &str, text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        faults.add(field, format!("must be at most {bytes_max} bytes, not {}", text.len()));
    } else if text.chars().any(char::is_control) {
        faults.add(field, "must not hold control characters");
    }
    text
}

fn labels(faults: &mut Faults, labels: BTreeMap<String, String>) -> BTreeMap<String, String> {
    if labels.len() > LABELS_MAX {
        faults.add("labels", format!("must be at most {LABELS_MAX}, not {}", labels.len()));
    }
    for (key, value) in labels.iter().take(LABELS_MAX) {
        let field = format!("labels[{}]", quoted(key));
        if key.is_empty() || key.len() > LABEL_KEY_MAX {
            let problem =
                format!("must have a key of 1 to {LABEL_KEY_MAX} bytes, not {}", key.len());
            faults.add(field.as_str(), problem);
        } else if key.contains('=') || key.chars().any(char::is_control) {
            faults.add(field.as_str(), "must have a key without = and control characters");
        }
        if value.len() > LABEL_VALUE_MAX {
            let length = value.len();
            let problem =
                format!("must have a value of at most {LABEL_VALUE_MAX} bytes, not {length}");
            faults.add(field, problem);
        } else if value.chars().any(char::is_control) {
            faults.add(field, "must have a value without control characters");
        }
    }
    labels
}

fn label_filter(faults: &mut Faults, text: &str) -> Option<(String, String)> {
    if text.is_empty() {
        return None;
    }
    let parts = text.split_once('=');
    let fits = parts.filter(|(key, value)| {
        (1..=LABEL_KEY_MAX).contains(&key.len())
            && value.len() <= LABEL_VALUE_MAX
            && !text.chars().any(char::is_control)
    });
    if fits.is_none() {
        let problem = format!(
            "must be key=value, {LABEL_KEY_MAX} and {LABEL_VALUE_MAX} bytes without control characters, not {}",
            quoted(text)
        );
        faults.add("label", problem);
    }
    fits.map(|(key, value)| (key.to_owned(), value.to_owned()))
}

fn page_size(faults: &mut Faults, asked: i32) -> usize {
    match usize::try_from(asked) {
        Ok(0) => PAGE_DEFAULT,
        Ok(size) => size.min(PAGE_MAX),
        Err(_) => {
            faults.add("page_size", format!("must not be negative, not {asked}"));
            PAGE_DEFAULT
        }
    }
}

/// A caller's text, short and harmless enough to be told back.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(16).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}
