//! The one thread that writes: group commit.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot};

use super::{
    file::DataFile,
    tables::{Tables, unavailable},
};
use crate::{error::StoreError, store::closed};

/// How many writes may wait for the thread. Over it a write is refused at once, having changed nothing.
const QUEUE_MAX: usize = 1_024;

/// How many writes share one fsync at the most, which bounds what one transaction holds in memory.
const BATCH_MAX: usize = 256;

/// How long after a failed write no other is tried.
const REOPEN: Duration = Duration::from_secs(1);

/// Tells a write's caller how it ended, once the transaction that it was part of has ended.
type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A write, waiting for its turn. It checks first and writes last: what it refuses has written nothing.
type Write = Box<dyn FnOnce(&mut Tables) -> Answer + Send>;

/// The way to the thread.
pub struct Writer {
    /// Taken by `close`; the thread ends when it is dropped and what had queued is done.
    queue: Mutex<Option<mpsc::Sender<Write>>>,
    /// Taken by whoever waits for the thread's end.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The operating system's.
    pub fn start(file: Arc<DataFile>) -> io::Result<Self> {
        let (queue, writes) = mpsc::channel(QUEUE_MAX);
        let thread =
            thread::Builder::new().name("store-writer".into()).spawn(move || run(&file, writes))?;
        Ok(Self { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)) })
    }

    /// Runs `write` in the next transaction, and answers when that is on disk. Dropped meanwhile, it is done all the same.
    ///
    /// # Errors
    ///
    /// Those of `write`; [`StoreError::QueueFull`]; [`StoreError::Unavailable`] when the transaction failed, with
    /// everything in it.
    pub async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Tables) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let write: Write = Box::new(move |tables| {
            let result = write(tables);
            Box::new(move |ended| drop(answer.send(result.and_then(|value| ended.map(|()| value)))))
        });
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or_else(closed)?;
        queue.try_send(write).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::QueueFull,
            mpsc::error::TrySendError::Closed(_) => closed(),
        })?;
        drop(queue);
        // Unanswered is what no transaction could be begun for.
        answered
            .await
            .map_err(|_| StoreError::Unavailable("the file could not be written".into()))?
    }

    /// Does what has queued and ends the thread.
    pub async fn close(&self) {
        drop(self.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let ended = tokio::task::spawn_blocking(move || thread.join()).await;
            if !matches!(ended, Ok(Ok(()))) {
                tracing::error!("the thread that writes the store panicked");
            }
        }
    }
}

fn run(file: &DataFile, mut writes: mpsc::Receiver<Write>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    let mut reopened: Option<Instant> = None;
    while writes.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        if file.failed() {
            // Dropped, they are answered: not before a while after the last attempt is there another.
            if reopened.is_some_and(|last| last.elapsed() < REOPEN) {
                batch.clear();
                continue;
            }
            reopened = Some(Instant::now());
            if let Err(error) = file.reopen() {
                tracing::error!(error, "the store could not be opened again");
                batch.clear();
                continue;
            }
        }
        let ended = commit(file, batch.drain(..));
        file.note(ended.is_err());
    }
}

fn commit(file: &DataFile, batch: impl Iterator<Item = Write>) -> Result<(), StoreError> {
    let mut answers = Vec::new();
    let ended = file.run(|database| {
        let transaction = database.begin_write().map_err(unavailable)?;
        let failed = {
            let mut tables = Tables::open(&transaction)?;
            answers.extend(batch.map(|write| write(&mut tables)));
            tables.failed()
        };
        match failed {
            // A write may have been cut in half: nothing of this transaction counts.
            true => Err(StoreError::Unavailable("a write to the file failed".into())),
            false => transaction.commit().map_err(unavailable),
        }
    });
    if let Err(error) = &ended {
        tracing::error!(%error, "the store could not write");
    }
    for answer in answers {
        answer(ended.clone());
    }
    ended
}

#[cfg(test)]
mod tests {
    use tokio::{sync::oneshot, task::JoinSet};

    use super::*;

    #[tokio::test]
    async fn a_full_queue_refuses_a_write_at_once_and_does_the_others() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = DataFile::open(&folder.path().join("games.redb")).expect("a store");
        let writer = Arc::new(Writer::start(Arc::new(file)).expect("a thread"));
        let mut writes = JoinSet::new();
        let (begun, begins) = oneshot::channel();
        let (release, released) = oneshot::channel::<()>();
        let first = writer.clone();
        writes.spawn(async move {
            let write = |_: &mut Tables| {
                begun.send(()).expect("the test waits for it");
                released.blocking_recv().expect("the test releases it");
                Ok(())
            };
            first.write(write).await
        });
        begins.await.expect("the thread takes the first write");
        for _ in 0..=QUEUE_MAX {
            let writer = writer.clone();
            writes.spawn(async move { writer.write(|_| Ok(())).await });
        }
        // The thread is held up, so nothing but a refusal can be an answer.
        let refused = writes.join_next().await.expect("a write").expect("no panic");
        assert!(matches!(refused, Err(StoreError::QueueFull)), "{refused:?}");
        release.send(()).expect("the thread waits");
        let ended = writes.join_all().await;
        assert_eq!(ended.len(), 1 + QUEUE_MAX);
        assert!(ended.iter().all(Result::is_ok));
    }
}
