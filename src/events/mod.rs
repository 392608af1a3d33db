//! Spreads what was committed to those who watch.
//!
//! `hub` has one topic for each watched game; a `topic` follows the game in the store and holds its history, each event
//! encoded once; a `cursor` is one watcher's place in it and decides what comes next; a `watch` moves a cursor along a
//! bounded channel, with heartbeats and every way to end. Writers never wait here: a commit leaves a hint and goes on.

mod cursor;
mod hub;
mod relay;
mod topic;
mod watch;

pub use self::{
    hub::Hub,
    relay::relay,
    watch::{Watch, WatchGame, WatchSettings, Watches},
};
