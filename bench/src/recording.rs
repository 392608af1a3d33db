//! What reversid answers and keeps, recorded once: the bare service gives as many bytes of each.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use prost::Message as _;
use redb::{Builder, ReadableDatabase as _, TableDefinition};
use reversi_proto::v1;
use tokio::task::JoinSet;

use crate::{
    play::{self, Client, Game, Moves},
    process::Server,
};

/// How many different games are played, over and over.
const GAMES: u64 = 16;

/// Where reversid's file has its entries.
const ENTRIES: TableDefinition<&str, &[u8]> = TableDefinition::new("games");

/// How long an entry is: a game has so many bytes from its creation on, and so many more after each move.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct EntryBytes {
    /// At creation.
    #[arg(long)]
    pub created: usize,
    /// In all the moves of all the recorded games together.
    #[arg(long)]
    pub moved: usize,
    /// How many those are.
    #[arg(long)]
    pub moves: usize,
}

impl EntryBytes {
    /// At this revision.
    pub fn at(&self, revision: usize) -> usize {
        self.created + self.moved * revision.saturating_sub(1) / self.moves
    }
}

/// Real games, and what became of them.
pub struct Recording {
    /// The moves.
    pub plays: Arc<[Moves]>,
    /// The bytes of the stored form.
    pub entry: EntryBytes,
    /// The bytes of all answers, and how many answers there are.
    pub answers: (usize, usize),
    /// Where the events are: each game's, as one message with its length before it.
    path: PathBuf,
}

impl Recording {
    /// Plays every game to its end on the embedded store, whose file shows what is kept of them.
    pub async fn make(reversid: &Path, folder: &Path) -> Result<Self, String> {
        let plays: Arc<[Moves]> = play::games(GAMES)?.into();
        let store = folder.join("recorded.redb");
        let server = Server::reversid(reversid, &format!("file:{}", store.display())).await?;
        let connected = Client::connect(server.address().to_owned()).await;
        let client = connected.map_err(|error| error.to_string())?;
        let unplayed = Game::create(client.clone(), 0, 0).await?;
        let mut games = JoinSet::new();
        for play in 0..plays.len() {
            games.spawn(whole(client.clone(), plays.clone(), play));
        }
        let mut records = Vec::new();
        while let Some(record) = games.join_next().await {
            records.push(record.map_err(|error| error.to_string())??);
        }
        records.sort_by_key(|record| record.play);
        // What was acknowledged is in the file, whatever ends the process.
        drop(server);

        let text = |error: redb::Error| format!("the recorded games cannot be read: {error}");
        let read = |id: &str| {
            let database = Builder::new().open(&store)?;
            let entries = database.begin_read()?.open_table(ENTRIES)?;
            Ok(entries.get(id)?.map_or(0, |entry| entry.value().len()))
        };
        let created = read(&unplayed.id).map_err(text)?;
        let mut moved = 0;
        for record in &records {
            moved += read(&record.id).map_err(text)?.saturating_sub(created);
        }
        let moves = plays.iter().map(Vec::len).sum();
        let answers = records.iter().flat_map(|record| record.events.events.iter().skip(1));
        let answers = answers
            .map(|event| v1::MakeMoveResponse { event: Some(event.clone()) }.encoded_len())
            .sum();
        let path = folder.join("recorded.events");
        let bytes: Vec<u8> = records
            .iter()
            .flat_map(|record| record.events.encode_length_delimited_to_vec())
            .collect();
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        let entry = EntryBytes { created, moved, moves };
        Ok(Self { plays, entry, answers: (answers, moves), path })
    }

    /// The flags that hand it to the bare service.
    pub fn arguments(&self) -> Vec<String> {
        let EntryBytes { created, moved, moves } = self.entry;
        let flags = [("events", self.path.display().to_string())].into_iter().chain(
            [("created", created), ("moved", moved), ("moves", moves)]
                .map(|(flag, bytes)| (flag, bytes.to_string())),
        );
        flags.map(|(flag, value)| format!("--{flag}={value}")).collect()
    }
}

struct Record {
    play: usize,
    id: String,
    events: v1::ListGameEventsResponse,
}

/// Plays a game to its end and asks for its record.
async fn whole(mut client: Client, plays: Arc<[Moves]>, play: usize) -> Result<Record, String> {
    let mut game = Game::create(client.clone(), play, play).await?;
    while let Some(request) = game.request(&plays) {
        let answer = client.make_move(request).await;
        game.answered(answer.map_err(|error| format!("MakeMove: {error}"))?.into_inner())?;
    }
    let request = v1::ListGameEventsRequest {
        game_id: game.id.clone(),
        page_size: 500,
        ..Default::default()
    };
    let events = client.list_game_events(request).await;
    let events = events.map_err(|error| format!("ListGameEvents: {error}"))?.into_inner();
    Ok(Record { play, id: game.id, events })
}
