//! Points in time, and how long a game is kept.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// The system's clock. It may go back; whoever needs order takes the later of two times.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// This time and `wait` more, or the end of time.
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long from `earlier` until this; zero if it is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// When a caller stops to wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    /// By our clock.
    pub at: Instant,
    /// From here on it is near.
    near: Instant,
}

impl Deadline {
    /// How long before it a deadline is near: a tenth of the time that was asked for, within these bounds. The caller's own
    /// clock runs ahead of ours, by however long its call took to get here, and some callers round the time up.
    const NEAR_MIN: Duration = Duration::from_millis(20);
    const NEAR_MAX: Duration = Duration::from_secs(1);

    /// So long from now on.
    pub fn after(wait: Duration) -> Self {
        let now = Instant::now();
        let near = (wait / 10).clamp(Self::NEAR_MIN, Self::NEAR_MAX);
        Self { at: now + wait, near: now + wait.saturating_sub(near) }
    }

    /// Whether it has passed or is about to: a caller who goes now goes because of it.
    pub fn is_near(self) -> bool {
        Instant::now() >= self.near
    }
}

/// How long games are kept after their last commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// A game that is not finished, and a layout that nobody uses.
    pub idle: Duration,
    /// A finished game.
    pub finished: Duration,
}

/// How long a creation that a request made is remembered at least, also when the game is deleted or expired, so that a late
/// repeat of it creates nothing.
pub const TOMBSTONE: Duration = Duration::from_secs(24 * 60 * 60);

/// `wait`, give or take a tenth, so that what began together does not go on together.
pub fn jittered(wait: Duration) -> Duration {
    let part = f64::from(u16::from_be_bytes(super::random())) / f64::from(u16::MAX);
    wait.mul_f64(0.9 + 0.2 * part)
}
