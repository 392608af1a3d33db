//! Writes the fixtures of a new form: `REVERSI_WRITE_FORM=2 cargo test --test stored_forms newest`, once, by the release that is
//! the first to write it.

use std::fs;

use data_encoding::HEXLOWER;
use prost::Message as _;
use reversi_proto::v1::{self, Board, Color};
use reversid::store::StoreUrl;

use super::{
    fixture::{Names, describe, dump, folder, stem},
    replay::{Hand, request_id},
};
use crate::common::{
    self, Client, StoreKind, TestServer, lines::LIFETIMES, stored, variants::variants,
};

/// As long as a setting may be, so that nothing in a fixture expires.
const KEPT: [&str; 4] = ["--idle-ttl", "36500d", "--finished-ttl", "36500d"];

/// Writes both stores if the environment asks for this form, which must be what this source writes, and must be new.
pub async fn write_if_asked(written: u8) {
    let Some(asked) = std::env::var_os("REVERSI_WRITE_FORM") else { return };
    assert_eq!(asked.to_str(), Some(written.to_string().as_str()), "this source writes another");
    let folder = folder(written);
    fs::create_dir(&folder).expect("a released fixture is never written again");
    for kind in [StoreKind::File, StoreKind::Redis] {
        let server = TestServer::with(kind, &KEPT).await;
        let mut client = server.client().await;
        let mut writer = Writer { client: client.clone(), number: 0, creations: String::new() };
        let mut names = writer.games().await;
        layouts(&mut client, &mut names).await;
        drop(client);
        let creations = std::mem::take(&mut writer.creations);
        drop(writer);
        let home = server.stopped().await.home;

        let url = StoreUrl::parse(&home.url).expect("a URL");
        let store = url.open(LIFETIMES).expect("it opens");
        let contents = describe(&store, &names).await;
        store.close().await;
        let put = |ending: &str, text: &str| {
            let path = folder.join(format!("{}.{ending}", stem(kind)));
            fs::write(path, text).expect("it is written");
        };
        put("contents", &contents);
        put("creations", &creations);
        match &home.redis {
            Some(redis) => put("keys", &dump(&redis.url())),
            None => {
                stored::database(&home).compact().expect("nobody else has the file");
                fs::copy(home.file(), folder.join("file.redb")).expect("it is copied");
            }
        }
    }
}

struct Writer {
    client: Client,
    number: u32,
    creations: String,
}

impl Writer {
    /// Creates a game under a request id.
    async fn create(&mut self, request: v1::CreateGameRequest) -> (Hand, v1::Game) {
        self.number += 1;
        let request = v1::CreateGameRequest { request_id: request_id(self.number, 1), ..request };
        let bytes = HEXLOWER.encode(&request.encode_to_vec());
        let created = self.client.create_game(request).await.expect("a game").into_inner();
        let game = created.game.clone().expect("a game");
        self.creations += &format!("{} {} {bytes}\n", self.number, game.game_id);
        (Hand::new(self.number, created), game)
    }

    /// Plays so many moves, or until the game is over; not always the first one.
    async fn play(&mut self, hand: &mut Hand, game: &v1::Game, moves: usize) {
        let mut now = common::position(game).clone();
        for number in 0..moves {
            let Some(square) = now.legal_moves.get(number % now.legal_moves.len().max(1)) else {
                break;
            };
            let color = Color::try_from(now.to_move).expect("a colour");
            let event = hand.play(&mut self.client, color, square).await.expect("a seat of ours");
            now = event.position.expect("a position");
        }
    }

    /// Games in every state and of every variant.
    async fn games(&mut self) -> Names {
        let mut names = Names::default();
        for rules in variants() {
            let (mut hand, game) = self.create(seated(rules)).await;
            self.play(&mut hand, &game, 4).await;
            names.games.push(hand.id);
        }
        let fewest = v1::Objective::FewestDiscs.into();
        let small = Board::Board6x6.into();
        let large = Board::Board10x10.into();
        for rules in [
            v1::Rules::default(),
            v1::Rules { board: small, objective: fewest, ..Default::default() },
            v1::Rules { board: large, players: 4, ..Default::default() },
        ] {
            let (mut hand, game) = self.create(seated(rules)).await;
            self.play(&mut hand, &game, usize::MAX).await;
            names.games.push(hand.id);
        }

        let rules = v1::Rules { players: 3, ..Default::default() };
        let open = |rules| v1::CreateGameRequest { rules: Some(rules), ..Default::default() };
        names.games.push(self.create(open(rules.clone())).await.0.id);
        let (mut hand, _) = self.create(open(rules.clone())).await;
        hand.join(&mut self.client, Color::White, "late", "Zu spät ☃").await;
        names.games.push(hand.id);
        let (mut hand, _) = self.create(open(rules)).await;
        for (color, player) in [(Color::Red, "ann"), (Color::Black, ""), (Color::White, "bob")] {
            hand.join(&mut self.client, color, player, "").await;
        }
        let game = common::get(&mut self.client, &hand.id).await;
        self.play(&mut hand, &game, 4).await;
        hand.resign(&mut self.client, Color::Black).await;
        names.games.push(hand.id);

        let labels = [("event", "größe=1"), ("round", ""), ("\u{1f3b2}", "dice")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let (mut hand, game) =
            self.create(v1::CreateGameRequest { labels, ..seated(v1::Rules::default()) }).await;
        self.play(&mut hand, &game, 1).await;
        hand.resign(&mut self.client, Color::White).await;
        names.games.push(hand.id);
        let (mut hand, _) = self.create(open(v1::Rules::default())).await;
        hand.abort(&mut self.client).await;
        names.games.push(hand.id);
        let (mut hand, game) = self.create(seated(v1::Rules::default())).await;
        self.play(&mut hand, &game, 2).await;
        hand.abort(&mut self.client).await;
        names.games.push(hand.id);

        let unnamed = common::create(&mut self.client, v1::Rules::default()).await;
        common::play_out(&mut self.client, &unnamed).await;
        names.games.push(unnamed.id);
        let (hand, _) = self.create(seated(v1::Rules::default())).await;
        let unnamed = common::create(&mut self.client, v1::Rules::default()).await;
        for (game_id, owner_token) in [(hand.id, hand.owner), (unnamed.id, unnamed.owner)] {
            let delete = v1::DeleteGameRequest { game_id: game_id.clone(), owner_token };
            self.client.delete_game(delete).await.expect("the owner may");
            names.games.push(game_id);
        }
        names
    }
}

/// A game with every seat claimed, under names of their own.
fn seated(rules: v1::Rules) -> v1::CreateGameRequest {
    let seat = |(player, name): (&str, &str)| v1::NewSeat {
        player_id: player.into(),
        display_name: name.into(),
        open: false,
    };
    let players = [("ann", "Ann \u{1f3b2}"), ("", ""), ("bob", "Bob"), ("eve", "十")];
    let seats = players.into_iter().map(seat).take(rules.players.max(2) as usize).collect();
    v1::CreateGameRequest { rules: Some(rules), seats, ..Default::default() }
}

/// Layouts that were drawn, and one that came with a game.
async fn layouts(client: &mut Client, names: &mut Names) {
    for (board, count, seed) in [(Board::Board8x8, 4, 0), (Board::Octagon, 1, u64::MAX)] {
        let request = v1::CreateLayoutRequest {
            board: board.into(),
            count,
            seed: Some(seed),
            ..Default::default()
        };
        let drawn = client.create_layout(request).await.expect("a layout").into_inner();
        names.layouts.push(drawn.layout.expect("a layout").layout_id);
    }
    let squares = ["a3", "h8"].map(ToOwned::to_owned).into();
    let blocked = v1::BlockedSquares { squares, ..Default::default() };
    let rules = v1::Rules { blocked_squares: Some(blocked), ..Default::default() };
    let game = common::create(client, rules).await.game;
    names.games.push(game.game_id);
    names.layouts.push(game.layout.expect("a layout").layout_id);
}
