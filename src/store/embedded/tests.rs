//! The thread that writes, over a disk that counts how often it is synced, and fails when it is told to.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    task::{Context, Waker},
    time::Duration,
};

use redb::{Database, ReadableDatabase as _, StorageBackend, backends::InMemoryBackend};
use reversi_rules::{Board, Layout};

use super::{
    backup::copy_to,
    file::{DataFile, Disk},
    tables::{self, View},
    writer::Writer,
};
use crate::{error::StoreError, model::Millis, store::BackupError};

#[derive(Debug, Default)]
struct Gauges {
    syncs: AtomicUsize,
    failing: AtomicBool,
}

#[derive(Clone, Debug)]
struct TestDisk {
    memory: Arc<InMemoryBackend>,
    gauges: Arc<Gauges>,
}

impl TestDisk {
    fn check(&self) -> io::Result<()> {
        match self.gauges.failing.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the disk is full")),
            false => Ok(()),
        }
    }
}

impl Disk for TestDisk {
    fn open(&self) -> Result<Database, String> {
        let database = Database::builder().create_with_backend(self.clone());
        let database = database.map_err(|error| error.to_string())?;
        tables::prepare(&database).map(|()| database)
    }

    fn probe(&self) -> io::Result<()> {
        self.check()
    }
}

impl StorageBackend for TestDisk {
    fn len(&self) -> io::Result<u64> {
        self.memory.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.memory.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check()?;
        self.memory.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.check()?;
        self.gauges.syncs.fetch_add(1, Ordering::SeqCst);
        self.memory.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check()?;
        self.memory.write(offset, data)
    }
}

/// A writer over an empty disk.
struct Bench {
    gauges: Arc<Gauges>,
    file: Arc<DataFile>,
    writer: Writer,
}

type Written<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + 'a>>;

impl Bench {
    fn new() -> Self {
        let gauges = Arc::new(Gauges::default());
        let disk = TestDisk { memory: Arc::new(InMemoryBackend::new()), gauges: gauges.clone() };
        let file = Arc::new(DataFile::on(Box::new(disk)).expect("a new file"));
        let writer = Writer::start(file.clone()).expect("a thread");
        Self { gauges, file, writer }
    }

    fn syncs(&self) -> usize {
        self.gauges.syncs.load(Ordering::SeqCst)
    }

    /// A write of one layout.
    fn put(&self, seed: u64) -> Written<'_> {
        let layout = layout(seed);
        Box::pin(self.writer.write(move |tables| tables.put_layout(&layout, Millis(1))))
    }

    /// The same behind a thread that is held, queued already.
    fn queue(&self, seed: u64) -> Written<'_> {
        queued(self.put(seed))
    }

    /// Makes the thread wait, in a transaction that it has begun, until the sender says or drops.
    async fn hold(&self) -> (mpsc::Sender<()>, Written<'_>) {
        let (release, held) = mpsc::channel();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let holding = queued(Box::pin(self.writer.write(move |_| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        })));
        begins.await.expect("the thread comes to it");
        (release, holding)
    }

    fn has(&self, seed: u64) -> bool {
        let found = self.file.run(|database| {
            let view = View::open(&database.begin_read().expect("it can be read"))?;
            view.layout(&layout(seed).id())
        });
        found.expect("it can be read").is_some()
    }
}

fn layout(seed: u64) -> Layout {
    Layout::draw(Board::B8x8, 0, 4, seed).expect("four squares fit")
}

/// Polled once, which queues it.
fn queued(mut write: Written) -> Written {
    let polled = write.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending(), "nothing is answered before it is on disk");
    write
}

#[tokio::test]
async fn what_waits_together_is_synced_together() {
    let bench = Bench::new();
    let (release, holding) = bench.hold().await;
    let before = bench.syncs();
    let waiting: Vec<_> = (1..=200).map(|seed| bench.queue(seed)).collect();
    drop(release);
    holding.await.expect("it is written");
    for write in waiting {
        write.await.expect("it is written");
    }
    let together = bench.syncs() - before;
    // A transaction syncs once, and once more when the file grows.
    assert!((2..=4).contains(&together), "{together} syncs for one write and 200 behind it");
    assert!((1..=200).all(|seed| bench.has(seed)));
}

#[tokio::test]
async fn nothing_is_answered_or_seen_before_it_is_synced() {
    let bench = Bench::new();
    let (release, holding) = bench.hold().await;
    let mut write = bench.queue(1);
    assert!(write.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(!bench.has(1));
    drop(release);
    write.await.expect("it is written");
    assert!(bench.has(1));
    holding.await.expect("it is written");
}

#[tokio::test]
async fn a_write_whose_caller_left_is_written_in_its_turn() {
    let bench = Bench::new();
    let (release, holding) = bench.hold().await;
    drop(bench.queue(1));
    let next = bench.queue(2);
    drop(release);
    holding.await.expect("it is written");
    next.await.expect("it is written");
    assert!(bench.has(1));
}

#[tokio::test]
async fn closing_writes_what_has_queued_and_takes_nothing_more() {
    let bench = Bench::new();
    let (release, holding) = bench.hold().await;
    let queued = bench.queue(1);
    let closing = bench.writer.close();
    let mut closing = Box::pin(closing);
    assert!(closing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let late = bench.put(2).await;
    assert!(matches!(late, Err(StoreError::NotDone(_))), "{late:?}");
    drop(release);
    closing.await;
    holding.await.expect("it is written");
    queued.await.expect("it is written");
    assert!(bench.has(1) && !bench.has(2));
}

#[tokio::test]
async fn what_the_disk_refused_is_unavailable_and_never_half_there() {
    let bench = Bench::new();
    bench.put(0).await.expect("it is written");
    let (release, holding) = bench.hold().await;
    let waiting = [1, 2].map(|seed| bench.queue(seed));
    bench.gauges.failing.store(true, Ordering::SeqCst);
    drop(release);
    for write in [holding].into_iter().chain(waiting) {
        let refused = write.await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    }
    let refused = bench.put(3).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(bench.has(0), "reads go on");
    assert!((1..=3).all(|seed| !bench.has(seed)));

    bench.gauges.failing.store(false, Ordering::SeqCst);
    let got_over = async {
        while bench.put(4).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), got_over).await.expect("it is opened again");
    assert!(bench.has(0) && bench.has(4), "what was acknowledged is there");
    assert!((1..=3).all(|seed| !bench.has(seed)), "what was refused is not");
}

#[tokio::test]
async fn a_backup_that_finds_no_room_is_given_up_and_the_store_goes_on() {
    let bench = Bench::new();
    for seed in 1..=3 {
        bench.put(seed).await.expect("it is written");
    }
    let full = TestDisk { memory: Arc::new(InMemoryBackend::new()), gauges: Arc::default() };
    let gauges = full.gauges.clone();
    let tables = AtomicUsize::new(0);
    let given_up = bench.file.run(|database| {
        Ok(copy_to(database, full, || {
            let begun = tables.fetch_add(1, Ordering::SeqCst);
            gauges.failing.store(begun >= 2, Ordering::SeqCst);
            Ok(())
        }))
    });
    let given_up = given_up.expect("it is open");
    assert!(matches!(given_up, Err(BackupError::Failed(_))), "{given_up:?}");
    assert!(!bench.file.failed());
    bench.put(4).await.expect("it is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_closes_the_file_waits_for_no_backup() {
    let bench = Bench::new();
    bench.put(1).await.expect("it is written");
    let target = TestDisk { memory: Arc::new(InMemoryBackend::new()), gauges: Arc::default() };
    let (begun, begins) = mpsc::channel();
    let file = bench.file.clone();
    let copying = tokio::task::spawn_blocking(move || {
        file.run(|database| {
            Ok(copy_to(database, target, || {
                let _ = begun.send(());
                // Without the wish to close it this would last for ever.
                while !file.is_wanted() {
                    std::thread::yield_now();
                }
                Err(BackupError::Running)
            }))
        })
    });
    begins.recv().expect("it begins");
    let file = bench.file.clone();
    let closing = tokio::task::spawn_blocking(move || file.close());
    tokio::time::timeout(Duration::from_secs(20), closing).await.expect("in time").expect("closed");
    let given_up = copying.await.expect("no panic").expect("it was open");
    assert!(matches!(given_up, Err(BackupError::Running)), "{given_up:?}");
}
