//! Generates the contract's code from `proto/` without a system `protoc`.
//!
//! Two passes: messages and client once, as every client sees them; then the server, in which a watch's messages are
//! `WatchFrame`s, whose contents are already encoded.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const PROTO_ROOT: &str = "../../proto";
const SERVICE: &str = "reversi/v1/game_service.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={PROTO_ROOT}");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors = protox::compile([SERVICE], [PROTO_ROOT])?;
    fs::write(out.join("descriptors.binpb"), descriptors.encode_to_vec())?;

    tonic_prost_build::configure()
        .build_server(false)
        .btree_map(".")
        .compile_fds(descriptors.clone())?;

    let server = out.join("server");
    fs::create_dir_all(&server)?;
    tonic_prost_build::configure()
        .build_client(false)
        .codec_path("crate::ServerCodec")
        .out_dir(&server)
        .extern_path(".reversi.v1", "crate::v1")
        .extern_path(".reversi.v1.WatchGameResponse", "crate::WatchFrame")
        .compile_fds(descriptors)?;
    Ok(())
}
