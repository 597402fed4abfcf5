//! A stopwatch for what has to be quick, and another try for what a machine that stood still has spoilt.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::ms;

/// Measures what has to be quick, without the time for which the machine, or this process, stood
/// still: a virtual machine does so for a second now and then. A thread looks at the clock all the
/// while; what passes between two looks beyond what it slept is no time of the code under test.
pub(crate) struct Stopwatch {
    started: Instant,
    ended: Arc<AtomicBool>,
    stood_still: Arc<AtomicU64>,
}

impl Stopwatch {
    const LOOK: Duration = Duration::from_millis(5);
    /// Any machine is late by as much.
    const USUAL: Duration = Duration::from_millis(10);

    pub(crate) fn start() -> Self {
        let (ended, stood_still) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (end, still) = (Arc::clone(&ended), Arc::clone(&stood_still));
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let before = Instant::now();
                std::thread::sleep(Self::LOOK);
                let late = before.elapsed().saturating_sub(Self::LOOK);
                if late > Self::USUAL {
                    still.fetch_add(u64::try_from(late.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
                }
            }
        });
        Stopwatch { started: Instant::now(), ended, stood_still }
    }

    /// What a clock on the wall says.
    pub(crate) fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    /// For how long nothing ran.
    pub(crate) fn stood_still(&self) -> Duration {
        // What the thread has not seen yet, it sees now.
        std::thread::sleep(2 * Self::LOOK);
        Duration::from_micros(self.stood_still.load(Ordering::Relaxed))
    }

    /// For how long it ran.
    pub(crate) fn elapsed(&self) -> Duration {
        let wall = self.wall();
        wall.saturating_sub(self.stood_still())
    }

    /// That it took so long by the wall, and ran for less than that.
    pub(crate) fn assert_within(&self, least: Duration, most: Duration) {
        let (wall, ran) = (self.wall(), self.elapsed());
        assert!(wall >= least && ran < most, "{wall:?}, of which it ran for {ran:?}");
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// Does what is about fractions of a second; once more if it fails and the machine stood still
/// meanwhile, for that shows nothing.
pub(crate) async fn calmly<F: Future<Output = ()> + Send + 'static>(attempt: impl Fn() -> F) {
    for _ in 0..4 {
        let watch = Stopwatch::start();
        let Err(failed) = tokio::spawn(attempt()).await else { return };
        if watch.stood_still() < ms(50) {
            std::panic::resume_unwind(failed.into_panic());
        }
    }
    attempt().await;
}
