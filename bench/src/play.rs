//! Real games: moves by the rules, and the requests that a careful client makes of them.

use reversi_proto::v1::{self, game_service_client::GameServiceClient};
use reversi_rules::{Color, Position, Setup, Square};
use tonic::transport::Channel;
use uuid::Uuid;

/// Speaks to either service.
pub type Client = GameServiceClient<Channel>;

/// The moves of a whole 8x8 game.
pub type Moves = Vec<(Color, Square)>;

/// Whole games of two players, with moves by a generator that starts from the same state every time.
pub fn games(count: u64) -> Result<Vec<Moves>, String> {
    let rules = Setup::default().check().ok().and_then(|checked| checked.complete(None).ok());
    let rules = rules.ok_or("the rules refuse a plain game")?;
    let mut state = 1;
    let mut game = || {
        let mut position = Position::start(&rules);
        let mut moves = Vec::new();
        while let Some(color) = position.to_move() {
            let legal = position.legal_moves();
            // A multiplicative congruential generator (Knuth, MMIX); its upper bits are good enough to choose by.
            state = u64::wrapping_mul(state, 6_364_136_223_846_793_005).wrapping_add(1);
            let chosen = (state >> 33) % u64::from(legal.len());
            let square = legal.iter().nth(chosen as usize).ok_or("a turn without a move")?;
            position.play(square).map_err(|_| "the rules refuse a legal move")?;
            moves.push((color, square));
        }
        Ok(moves)
    };
    (0..count).map(|_| game()).collect()
}

/// A game that is being played.
pub struct Game {
    /// Its name.
    pub id: String,
    /// Which of the prepared games it follows.
    pub play: usize,
    tokens: [String; 2],
    version: v1::Version,
}

impl Game {
    /// Creates a game at the service, with both seats claimed.
    ///
    /// # Errors
    ///
    /// The service's.
    pub async fn create(mut client: Client, number: usize, play: usize) -> Result<Self, String> {
        let player = |side| v1::NewSeat {
            player_id: format!("{side}-player-{:05}", number % 100_000),
            ..Default::default()
        };
        let request = v1::CreateGameRequest {
            seats: vec![player("black"), player("white")],
            request_id: Uuid::new_v4().to_string(),
            ..Default::default()
        };
        let created = client.create_game(request).await;
        let created = created.map_err(|error| format!("CreateGame: {error}"))?.into_inner();
        let game = created.game.ok_or("CreateGame answers without a game")?;
        let version = game.version.ok_or("a game has no version")?;
        let mut tokens = created.seat_tokens.into_iter().map(|seat| seat.seat_token);
        let mut token = || tokens.next().ok_or("a seat has no token");
        Ok(Self { id: game.game_id, play, tokens: [token()?, token()?], version })
    }

    /// A game that the bare service takes for one: names and tokens as long as real ones. Its name begins with which of the
    /// prepared games it is, in three digits.
    pub fn pretend(number: usize, play: usize) -> Self {
        let tokens = [(); 2].map(|()| "t".repeat(26));
        let version = v1::Version { revision: 1, digest: 1 };
        Self { id: format!("{play:03}{number:023}"), play, tokens, version }
    }

    /// The next move, if the game is not over.
    pub fn request(&self, plays: &[Moves]) -> Option<v1::MakeMoveRequest> {
        let done = usize::try_from(self.version.revision).ok()?.checked_sub(1)?;
        let (color, square) = plays[self.play].get(done)?;
        Some(v1::MakeMoveRequest {
            game_id: self.id.clone(),
            square: square.to_string(),
            seat_token: self.tokens[usize::from(color.number()) - 1].clone(),
            expected_version: Some(self.version),
            request_id: Uuid::new_v4().to_string(),
            ..Default::default()
        })
    }

    /// Takes what the service answered.
    ///
    /// # Errors
    ///
    /// It is not the answer to the next move.
    pub fn answered(&mut self, answer: v1::MakeMoveResponse) -> Result<(), String> {
        let version = answer.event.and_then(|event| event.version);
        let version = version.ok_or("MakeMove answers without a version")?;
        if version.revision != self.version.revision + 1 {
            return Err(format!("revision {} follows {:?}", version.revision, self.version));
        }
        self.version = version;
        Ok(())
    }
}
