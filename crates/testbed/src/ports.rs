//! Ports for servers that have to be told theirs, and that stay theirs also while they are down.

use std::{
    env,
    fs::{self, File},
    net::TcpListener,
    process,
    sync::atomic::{AtomicU16, Ordering},
};

/// Below those that systems give out by themselves, so that no connection takes one by chance.
const FIRST: u16 = 20_000;
const COUNT: u16 = 10_000;

/// A port of 127.0.0.1 that no other user of this crate has, in any process, until this is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Locked; the system unlocks it when this process is gone.
    _claim: File,
}

impl Port {
    /// A free port.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn claim() -> Self {
        static TRIED: AtomicU16 = AtomicU16::new(0);
        let folder = env::temp_dir().join("reversi-testbed-ports");
        fs::create_dir_all(&folder).expect("a temporary folder");
        // Processes begin far apart.
        let begin = (process::id() % u32::from(COUNT)) as u16;
        for _ in 0..COUNT {
            let tried = TRIED.fetch_add(1, Ordering::Relaxed) % COUNT;
            let offset = (u32::from(begin) * 97 + u32::from(tried)) % u32::from(COUNT);
            let number = FIRST + offset as u16;
            let Ok(claim) = File::create(folder.join(number.to_string())) else { continue };
            if claim.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Self { number, _claim: claim };
            }
        }
        panic!("no port is free from {FIRST} on");
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }
}
