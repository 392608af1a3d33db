//! Creating games.

use std::sync::Arc;

use reversi_rules::{BlockedRequest, Color, Layout, Rules};

use super::{Service, command::CreateGame, noted, settled};
use crate::{
    error::{Error, Faults, Refusal},
    model::{
        Act, Creation, Deadline, Game, GameId, Millis, Record, RequestMark, Role, Stored, Token,
        command_hash, random,
    },
    store::{Commit, Lookup},
    telemetry::{labels::Change, note_game},
};

/// A game as it was created, now or when its request was first made.
#[derive(Debug)]
pub struct Created {
    /// At revision 1.
    pub game: Game,
    /// One for each seat that was not open, in turn order.
    pub seat_tokens: Vec<(Color, Token)>,
    /// The right to abort and delete it.
    pub owner_token: Token,
}

impl Service {
    /// Creates a game, or answers what this request created before.
    ///
    /// # Errors
    ///
    /// [`Error::LayoutNotFound`]; [`Error::Invalid`] for a layout of another board or handicap;
    /// [`Error::Refused`] for a request id that stands for another command; [`Error::Store`], after which the outcome
    /// is unknown, and attempts were made until `deadline`, or for a second without one.
    ///
    /// # Cancellation
    ///
    /// Dropped, the game is created all the same.
    pub async fn create(
        &self,
        command: CreateGame,
        deadline: Option<Deadline>,
    ) -> Result<Created, Error> {
        let service = self.clone();
        let created = self.detach(async move {
            let request = command.request.as_ref();
            settled(deadline, request, || service.create_attached(&command)).await
        });
        let created = noted(created.await, |created| created.game.version())?;
        note_game(&created.game.id);
        Ok(created)
    }

    async fn create_attached(&self, command: &CreateGame) -> Result<Created, Error> {
        let id = match &command.request {
            None => GameId::random(),
            Some(request) => {
                let id = GameId::of_request(request);
                // A repeat is answered before anything that may have changed since is looked at, a layout above all.
                match self.first_answer(command, self.store.load(&id).await?) {
                    Ok(None) => id,
                    Ok(Some(_)) => return self.lasting_answer(command, &id).await,
                    Err(reused) => {
                        // Of another command, an unknown layout is told first.
                        if let BlockedRequest::Stored { layout_id } = command.rules.blocked() {
                            self.layout(layout_id).await?;
                        }
                        return Err(reused);
                    }
                }
            }
        };
        let rules = self.complete(command).await?;
        let layout = rules.layout().cloned();
        let (record, tokens) = creation(command, id, rules);
        let game = Game::created(&record, self.lifetimes)?;
        // First, so that the layout of a new game can be fetched by its id.
        if let Some(layout) = layout {
            self.store.put_layout(layout, game.expire_time).await?;
        }
        let stored = Arc::new(Stored::created(game.clone(), record));
        let create = self.store.create(stored.clone());
        let done = |commit: &Commit| matches!(commit, Commit::Done);
        match self.attempt(Change::Create, create, done).await? {
            Commit::Done => {
                self.telemetry.metrics.game(&game);
                self.cache.put(stored);
                Ok(Created { game, seat_tokens: tokens.seats, owner_token: tokens.owner })
            }
            Commit::Conflict(_) => self.lasting_answer(command, &game.id).await,
        }
    }

    /// What this command's request was answered at first. That answer was perhaps never given: then the game was not known
    /// to last, and from now on is.
    async fn lasting_answer(&self, command: &CreateGame, id: &GameId) -> Result<Created, Error> {
        let first = self.first_answer(command, self.store.load_lasting(id).await?)?;
        first.ok_or_else(|| Error::Internal("a new game's id is taken".into()))
    }

    /// What this command's request was answered at first, if it was.
    fn first_answer(&self, command: &CreateGame, there: Lookup) -> Result<Option<Created>, Error> {
        let Some(request) = &command.request else { return Ok(None) };
        let (record, current) = match &there {
            Lookup::Missing | Lookup::Deleted(None) => return Ok(None),
            Lookup::Deleted(Some(record)) => (record.as_ref(), None),
            Lookup::Found(stored) => match stored.history.first() {
                Some(record) => (record, Some(stored.game.version())),
                None => return Ok(None),
            },
        };
        let game = Game::created(record, self.lifetimes)?;
        let hash = command_hash(&game.salt, request, &command.fingerprint());
        let first = match &record.act {
            Act::Created(creation) => creation.command,
            _ => None,
        };
        if first != Some(hash) {
            let version = current.unwrap_or_else(|| game.version());
            return Err(Error::Refused { refusal: Refusal::RequestIdReused, version });
        }
        let seat_tokens = game
            .colors_and_seats()
            .filter(|(_, seat)| seat.token.is_some())
            .map(|(color, _)| {
                (color, Token::derive(request, &game.salt, &game.id, Role::Seat(color)))
            })
            .collect();
        let owner_token = Token::derive(request, &game.salt, &game.id, Role::Owner);
        Ok(Some(Created { game, seat_tokens, owner_token }))
    }

    /// The rules with their layout drawn or looked up.
    async fn complete(&self, command: &CreateGame) -> Result<Rules, Error> {
        let checked = command.rules.clone();
        let layout = match checked.blocked() {
            BlockedRequest::None | BlockedRequest::Explicit(_) => None,
            BlockedRequest::Draw { .. } => checked.draw(u64::from_be_bytes(random())),
            BlockedRequest::Stored { layout_id } => Some(self.layout(layout_id).await?),
        };
        checked.complete(layout).map_err(|mismatch| {
            let field = "rules.blocked_squares.layout_id";
            Error::Invalid(Faults::one(field, mismatch.to_string()))
        })
    }

    /// A layout that is stored and not expired.
    pub(super) async fn layout(&self, id: &str) -> Result<Layout, Error> {
        match self.store.layout(id).await? {
            Some((layout, until)) if until > Millis::now() => Ok(layout),
            Some(_) | None => Err(Error::LayoutNotFound),
        }
    }
}

struct Tokens {
    seats: Vec<(Color, Token)>,
    owner: Token,
}

fn creation(command: &CreateGame, game_id: GameId, rules: Rules) -> (Record, Tokens) {
    let salt = random();
    let token = |role| match &command.request {
        Some(request) => Token::derive(request, &salt, &game_id, role),
        None => Token::random(),
    };
    let owner = token(Role::Owner);
    let mut seat_tokens = Vec::new();
    let mut seats = Vec::new();
    for (color, seat) in rules.colors().zip(&command.seats) {
        seats.push(seat.clone().map(|player| {
            let token = token(Role::Seat(color));
            let hash = token.hash();
            seat_tokens.push((color, token));
            (player, hash)
        }));
    }
    let named = command.request.as_ref().map(|request| (request, command.fingerprint()));
    let creation = Creation {
        game_id: game_id.clone(),
        rules,
        seats,
        labels: command.labels.clone(),
        owner: owner.hash(),
        salt,
        command: named.as_ref().map(|(request, bytes)| command_hash(&salt, request, bytes)),
    };
    let act = Act::Created(Box::new(creation));
    let request = named.map(|(request, bytes)| RequestMark::new(&salt, request, &bytes));
    (Record { time: Millis::now(), request, act }, Tokens { seats: seat_tokens, owner })
}
