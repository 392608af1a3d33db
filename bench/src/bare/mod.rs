//! The bare service: answers `MakeMove` with as many bytes as reversid does, and does nothing on the way but what every
//! such service must: decode, store as many bytes, encode.

mod keep;

use std::{
    convert::Infallible,
    fs,
    path::PathBuf,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use prost::Message as _;
use reversi_proto::v1;
use tonic::{
    Request, Response, Status,
    body::Body,
    codegen::{BoxFuture, Service, http},
    server::{Grpc, NamedService},
    transport::{Server, server::TcpIncoming},
};
use tonic_prost::ProstCodec;

use self::keep::Keep;
use crate::recording::EntryBytes;

/// What the bench tells it.
#[derive(clap::Args)]
pub struct Args {
    /// Where to keep bytes, as reversid takes it.
    #[arg(long)]
    store: String,
    /// The recorded events.
    #[arg(long)]
    events: PathBuf,
    #[command(flatten)]
    entry: EntryBytes,
}

/// Serves until it is killed.
pub fn run(args: &Args) -> Result<(), String> {
    let bare = Arc::new(Bare {
        answers: answers(args)?,
        entry: args.entry,
        keep: Keep::open(&args.store)?,
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(async {
        let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into());
        let incoming = incoming.map_err(|error| error.to_string())?.with_nodelay(Some(true));
        let address = incoming.local_addr().map_err(|error| error.to_string())?;
        eprintln!("listening on {address}");
        let server = Server::builder().add_service(Calls(bare)).serve_with_incoming(incoming);
        server.await.map_err(|error| error.to_string())
    })
}

/// The answers by game and revision, ready to be sent.
fn answers(args: &Args) -> Result<Vec<Vec<Bytes>>, String> {
    let bytes = fs::read(&args.events).map_err(|error| error.to_string())?;
    let mut bytes = Bytes::from(bytes);
    let mut answers = Vec::new();
    while !bytes.is_empty() {
        let record = v1::ListGameEventsResponse::decode_length_delimited(&mut bytes);
        let events = record.map_err(|error| error.to_string())?.events;
        answers.push(events.iter().map(|event| event.encode_to_vec().into()).collect());
    }
    Ok(answers)
}

struct Bare {
    answers: Vec<Vec<Bytes>>,
    entry: EntryBytes,
    keep: Keep,
}

/// A `MakeMoveResponse` whose event is encoded already.
#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(bytes = "bytes", tag = "1")]
    event: Bytes,
}

impl Bare {
    async fn make_move(
        &self,
        request: Request<v1::MakeMoveRequest>,
    ) -> Result<Response<Answer>, Status> {
        let request = request.into_inner();
        let revision = request.expected_version.unwrap_or_default().revision as usize;
        let recorded = request.game_id.get(..3).and_then(|play| play.parse::<usize>().ok());
        let event = recorded.and_then(|play| self.answers.get(play)?.get(revision));
        let event = event.ok_or_else(|| Status::not_found("that is not one of the bench's"))?;
        let kept = self.keep.put(request.game_id, self.entry.at(revision + 1)).await;
        kept.map_err(Status::unavailable)?;
        Ok(Response::new(Answer { event: event.clone() }))
    }
}

/// Its one method, as generated code would dispatch it.
#[derive(Clone)]
struct Calls(Arc<Bare>);

impl NamedService for Calls {
    const NAME: &'static str = "reversi.v1.GameService";
}

impl Service<http::Request<Body>> for Calls {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let bare = self.0.clone();
        Box::pin(async move {
            let mut grpc = Grpc::new(ProstCodec::<Answer, v1::MakeMoveRequest>::default());
            Ok(grpc.unary(MakeMove(bare), request).await)
        })
    }
}

struct MakeMove(Arc<Bare>);

impl tonic::server::UnaryService<v1::MakeMoveRequest> for MakeMove {
    type Response = Answer;
    type Future = BoxFuture<Response<Answer>, Status>;

    fn call(&mut self, request: Request<v1::MakeMoveRequest>) -> Self::Future {
        let bare = self.0.clone();
        Box::pin(async move { bare.make_move(request).await })
    }
}
