//! `reversid`: a game-state service for Reversi and its variants.
//!
//! A change goes `api` (form) → `service` (judge, commit) → `store` (compare and append), and comes back to watchers as
//! a hint → `events` (re-read, fold, encode once) → `api` (stream). In reading order: `model` is what is kept and talked
//! about, `wire` says it in the contract's words, `store` keeps it, `events` spreads it, `service` changes it, `api` speaks
//! gRPC, `app` wires the parts and runs the process's life.
//!
//! Dependencies point one way, `tests/architecture.rs` holds them there.

pub mod api;
pub mod app;
pub mod build_info;
pub mod error;
pub mod events;
pub mod model;
mod sabotage;
pub mod service;
pub mod settings;
pub mod store;
pub mod telemetry;
pub mod wire;
