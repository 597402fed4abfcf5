//! Blocking on a future without the GIL.
//!
//! Invariants: the thread that waits polls the future itself and is woken by it directly. On the main thread, signal
//! handlers run, and may call ottla again, as `close()` does: what they interrupt makes progress meanwhile, on another
//! thread, so that their call may wait for it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, TryRecvError, sync_channel};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::park::{Parked, Parker, SIGNAL_CHECK};
use super::{EXITING, FOREVER, is_main_thread, runtime};
use crate::convert::errors;
use crate::logging;

/// Blocks on a future.
pub(crate) fn wait<F: Future + Send>(py: Python<'_>, future: F) -> PyResult<F::Output>
where
    F::Output: Send,
{
    block(py, None, future)?.ok_or_else(|| errors::closed("the call ended without a result"))
}

/// Blocks on a future for this long; `None` if it is not ready then. Waiting this way sets no timer.
pub(crate) fn wait_at_most<F: Future + Send>(
    py: Python<'_>,
    timeout: Duration,
    future: F,
) -> PyResult<Option<F::Output>>
where
    F::Output: Send,
{
    block(py, Some(Instant::now() + timeout.min(FOREVER)), future)
}

/// Blocks on a future of the client, and converts its error.
pub(crate) fn wait_for<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = ottla_client::Result<T>> + Send,
) -> PyResult<T> {
    wait(py, future)?.map_err(|error| errors::raise(py, &error))
}

fn block<F: Future + Send>(
    py: Python<'_>,
    deadline: Option<Instant>,
    future: F,
) -> PyResult<Option<F::Output>>
where
    F::Output: Send,
{
    let waiter = Waiter { runtime: runtime()?, is_main: is_main_thread(py)?, deadline };
    logging::refresh_levels(py);
    py.detach(|| {
        let mut output = None;
        waiter.wait(pin!(async { output = Some(future.await) }))?;
        Ok(output)
    })
}

/// A future to wait for. It has no type of its own, so the code that waits is compiled once.
type Waited<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send + 'a)>;

/// The thread that waits, and until when.
struct Waiter {
    runtime: Arc<Runtime>,
    is_main: bool,
    deadline: Option<Instant>,
}

impl Waiter {
    fn wait(&self, future: Waited<'_>) -> PyResult<()> {
        if self.is_main {
            return self.wait_on_main_thread(future);
        }
        self.runtime.block_on(async {
            match self.deadline {
                None => future.await,
                // Whether it completed shows in what it has left.
                Some(deadline) => drop(timeout_at(deadline.into(), future).await),
            }
        });
        while EXITING.load(Ordering::Acquire) {
            thread::park();
        }
        Ok(())
    }

    /// Blocks Python's main thread, the only one on which signal handlers run.
    fn wait_on_main_thread(&self, mut future: Waited<'_>) -> PyResult<()> {
        let parker = Arc::new(Parker::new());
        let waker = Waker::from(Arc::clone(&parker));
        // Not from one park to the next: wake-ups may come more often than that.
        let mut look_at = Instant::now() + SIGNAL_CHECK;
        loop {
            let polled = {
                let _context = self.runtime.enter();
                future.as_mut().poll(&mut Context::from_waker(&waker))
            };
            let now = Instant::now();
            if polled.is_ready() || self.is_over(now) {
                return Ok(());
            }
            let parked = parker.park(self.until(look_at).saturating_duration_since(now));
            let now = Instant::now();
            let may_have_signal = parked == Parked::Interrupted || now >= look_at;
            if self.is_over(now) || !may_have_signal {
                continue;
            }
            match self.wait_beside_handlers(future.as_mut(), &parker) {
                Some(waited) => return waited,
                // There are too many threads: the future waits for the handlers.
                None => Python::attach(|py| py.check_signals())?,
            }
            look_at = now + SIGNAL_CHECK;
        }
    }

    /// Runs a future on another thread, since a signal handler may wait, too, on this one. Returns `None`, and
    /// runs nothing, if there can be no thread.
    fn wait_beside_handlers(&self, future: Waited<'_>, parker: &Arc<Parker>) -> Option<PyResult<()>> {
        let cancelled = Notify::new();
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(1);
            let ended = Ended { sender: Some(sender), waker: Waker::from(Arc::clone(parker)) };
            let is_cancelled = cancelled.notified();
            let run = move || {
                self.runtime.block_on(before(future, is_cancelled));
                ended.tell();
            };
            thread::Builder::new().name("ottla-wait".to_owned()).spawn_scoped(scope, run).ok()?;
            loop {
                match receiver.try_recv() {
                    Ok(()) => return Some(Ok(())),
                    // The thread has panicked: the scope panics, too.
                    Err(TryRecvError::Disconnected) => return None,
                    Err(TryRecvError::Empty) => {}
                }
                if let Err(raised) = Python::attach(|py| py.check_signals()) {
                    cancelled.notify_one();
                    return Some(Err(raised));
                }
                let now = Instant::now();
                if self.is_over(now) {
                    cancelled.notify_one();
                    // What becomes ready at the last moment counts.
                    return receiver.recv().ok().map(Ok);
                }
                parker.park(self.until(now + SIGNAL_CHECK).saturating_duration_since(now));
            }
        })
    }

    fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// `time`, or the deadline if it is earlier.
    fn until(&self, time: Instant) -> Instant {
        self.deadline.map_or(time, |deadline| deadline.min(time))
    }
}

/// Tells the thread that waits that the one beside it has ended, also if it has panicked.
struct Ended {
    sender: Option<SyncSender<()>>,
    waker: Waker,
}

impl Ended {
    fn tell(self) {
        if let Some(sender) = &self.sender {
            // An error only says that nobody waits any more.
            let _ = sender.send(());
        }
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.waker.wake_by_ref();
    }
}

/// Waits for a future, or until `end` completes.
async fn before(future: Waited<'_>, end: impl Future<Output = ()>) {
    tokio::select! {
        biased;
        () = future => {}
        () = end => {}
    }
}
