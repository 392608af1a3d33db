//! Until when a call is attempted anew while the store is away.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::model::{Deadline, jittered};

/// How long attempts go on for a caller who has no deadline.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long they go on at most, whatever a caller's deadline.
const PATIENCE_MAX: Duration = Duration::from_secs(60);

/// How long before a caller's deadline the last attempt begins at the latest, so that the caller hears how it ended.
const LAST: Duration = Duration::from_millis(50);

/// The first pause between attempts, which doubles up to the second.
const PAUSE: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(250);

/// How long a call is attempted anew, from now on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    until: Instant,
}

impl Patience {
    /// Until shortly before `deadline`, or for a moment.
    pub fn until(deadline: Option<Deadline>) -> Self {
        let now = Instant::now();
        let until = match deadline {
            Some(deadline) => {
                (deadline.at.checked_sub(LAST).unwrap_or(now)).min(now + PATIENCE_MAX)
            }
            None => now + PATIENCE,
        };
        Self { until }
    }

    /// Attempts something until it succeeds, or fails with what `may_pass` says no to, or time is up.
    ///
    /// # Errors
    ///
    /// That of the last attempt.
    pub async fn attempt<T, E, F>(
        self,
        may_pass: impl Fn(&E) -> bool,
        attempt: impl Fn() -> F,
    ) -> Result<T, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut pause = PAUSE;
        loop {
            let result = attempt().await;
            let wait = jittered(pause);
            let again = result.as_ref().is_err_and(&may_pass) && Instant::now() + wait < self.until;
            if !again {
                return result;
            }
            sleep(wait).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}
