//! Faults on purpose, so that the torture harness can show that it finds them.
//!
//! Only test builds have them: the feature `sabotage` is off unless asked for, and refused where optimised programs are built.
//! The variable `REVERSID_SABOTAGE` then chooses one. Without the feature all of this is `false`, and gone.

/// What can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// `request-ids`: a repeat is not recognised.
    RequestIds,
    /// `digests`: equal revisions count as equal versions.
    Digests,
    /// `revisions`: a commit does not mind what it was judged on.
    Revisions,
    /// `hints`: nobody hears of a commit, nor looks by himself.
    Hints,
    /// `heartbeats`: they are ahead of what was delivered.
    Heartbeats,
    /// `replica-reads`: Redis is read where it may be behind.
    #[cfg(feature = "sabotage")]
    ReplicaReads,
}

#[cfg(all(feature = "sabotage", not(debug_assertions)))]
compile_error!("the feature `sabotage` is for test builds alone");

/// Whether this is broken.
#[cfg(not(feature = "sabotage"))]
pub const fn sabotaged(_: Sabotage) -> bool {
    false
}

/// Whether this is broken.
///
/// # Panics
///
/// If the variable names nothing that can be.
#[cfg(feature = "sabotage")]
pub fn sabotaged(what: Sabotage) -> bool {
    use std::sync::LazyLock;
    static CHOSEN: LazyLock<Option<Sabotage>> = LazyLock::new(|| {
        let name = std::env::var("REVERSID_SABOTAGE").ok()?;
        let chosen = match name.as_str() {
            "request-ids" => Sabotage::RequestIds,
            "digests" => Sabotage::Digests,
            "revisions" => Sabotage::Revisions,
            "hints" => Sabotage::Hints,
            "heartbeats" => Sabotage::Heartbeats,
            "replica-reads" => Sabotage::ReplicaReads,
            _ => panic!("nothing is called {name}"),
        };
        eprintln!("reversid: broken on purpose: {name}");
        Some(chosen)
    });
    *CHOSEN == Some(what)
}
