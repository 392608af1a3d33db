//! From when on what was acknowledged and lost cannot be there any more.

use std::time::Instant;

use reversi_rules::Version;

use super::{Window, calls::asked};
use crate::log::{Answer, Log};

/// When the last fault was over that can have lost this version, which is not kept. None if one goes on, and for what was never
/// acknowledged: nobody knows when that was made.
pub fn gone(log: &Log, windows: &[Window], version: Version) -> Option<Instant> {
    let mut acknowledged = false;
    let mut gone = None;
    for call in asked(log, version) {
        let done = matches!(call.answer, Answer::Done(at) if at == version);
        acknowledged |= done;
        // A call that was answered otherwise may have made it as well, before what it was answered.
        let may_lose = |window: &&Window| window.loses || !done;
        let over = windows.iter().filter(|it| it.overlaps(call.begun, call.ended));
        for window in over.filter(may_lose) {
            gone = gone.max(Some(window.until?));
        }
    }
    gone.filter(|_| acknowledged)
}
