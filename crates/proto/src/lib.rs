//! The `reversi.v1` contract in Rust: messages and client as generated, the server trait, the descriptor set for
//! reflection, conversions to and from the rules types, and a replay of records.
//!
//! The specification is the comments in `proto/`; they are repeated on the generated items here.

mod code_name;
mod codec;
pub mod convert;
mod frame;
pub mod replay;
pub mod to_wire;

pub use code_name::code_name;
pub use codec::{PIECE_BYTES, ServerCodec};
pub use frame::{WatchFrame, watch_frame};

/// Messages, enums and the client, generated from `proto/`.
#[allow(missing_docs, clippy::all)]
pub mod v1 {
    tonic::include_proto!("reversi.v1");
}

/// The server's side, generated from `proto/`; its watch stream is of [`WatchFrame`]s.
#[allow(missing_docs, clippy::all)]
pub mod server {
    include!(concat!(env!("OUT_DIR"), "/server/reversi.v1.rs"));
    pub use game_service_server::{GameService, GameServiceServer};
}

/// The encoded `FileDescriptorSet` of the contract and all that it imports.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.binpb"));
