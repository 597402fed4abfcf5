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
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::timeout_at;

use super::park::{Parked, Parker};
use super::{EXITING, FOREVER, is_main_thread, runtime};
use crate::convert::errors;
use crate::logging;

/// Blocks on a future.
pub(crate) fn wait<F: Future + Send>(py: Python<'_>, future: F) -> PyResult<F::Output>
where
    F::Output: Send,
{
    let mut future = pin!(future);
    loop {
        if let Some(output) = block(py, FOREVER, future.as_mut())? {
            return Ok(output);
        }
    }
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
    block(py, timeout, pin!(future))
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
    timeout: Duration,
    future: Pin<&mut F>,
) -> PyResult<Option<F::Output>>
where
    F::Output: Send,
{
    let runtime = runtime()?;
    let is_main = is_main_thread(py)?;
    logging::refresh_levels(py);
    let deadline = Instant::now() + timeout.min(FOREVER);
    py.detach(|| {
        if is_main {
            return block_main_thread(&runtime, deadline, future);
        }
        let output = runtime.block_on(async {
            if timeout >= FOREVER {
                Some(future.await)
            } else {
                timeout_at(deadline.into(), future).await.ok()
            }
        });
        while EXITING.load(Ordering::Acquire) {
            thread::park();
        }
        Ok(output)
    })
}

/// Blocks Python's main thread, the only one on which signal handlers run.
fn block_main_thread<F: Future + Send>(
    runtime: &Runtime,
    deadline: Instant,
    mut future: Pin<&mut F>,
) -> PyResult<Option<F::Output>>
where
    F::Output: Send,
{
    let parker = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&parker));
    loop {
        let polled = {
            let _context = runtime.enter();
            future.as_mut().poll(&mut Context::from_waker(&waker))
        };
        if let Poll::Ready(output) = polled {
            return Ok(Some(output));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        match parker.park(left) {
            Parked::Woken => {}
            Parked::TimedOut if deadline <= Instant::now() => {}
            // There may be a signal.
            Parked::TimedOut | Parked::Interrupted => {
                match block_beside_handlers(runtime, deadline, future.as_mut(), &parker) {
                    Some(blocked) => return blocked,
                    // There are too many threads: the future waits for the handlers.
                    None => Python::attach(|py| py.check_signals())?,
                }
            }
        }
    }
}

/// Runs a future on another thread, since a signal handler may wait, too, on this one. Returns `None`, and
/// runs nothing, if there can be no thread.
fn block_beside_handlers<F: Future + Send>(
    runtime: &Runtime,
    deadline: Instant,
    future: Pin<&mut F>,
    parker: &Arc<Parker>,
) -> Option<PyResult<Option<F::Output>>>
where
    F::Output: Send,
{
    let cancelled = Notify::new();
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(1);
        let reply = Reply { sender: Some(sender), waker: Waker::from(Arc::clone(parker)) };
        let is_cancelled = cancelled.notified();
        let run = move || reply.send(runtime.block_on(before(future, is_cancelled)));
        thread::Builder::new().name("ottla-wait".to_owned()).spawn_scoped(scope, run).ok()?;
        loop {
            match receiver.try_recv() {
                Ok(output) => return Some(Ok(output)),
                // The thread has panicked: the scope panics, too.
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {}
            }
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                cancelled.notify_one();
                return Some(Err(raised));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                cancelled.notify_one();
                // What became ready at the last moment counts.
                return receiver.recv().ok().map(Ok);
            }
            parker.park(left);
        }
    })
}

/// Sends the result of a thread, and wakes the one that waits for it, also if there is none because of a panic.
struct Reply<T> {
    sender: Option<SyncSender<T>>,
    waker: Waker,
}

impl<T> Reply<T> {
    fn send(self, result: T) {
        if let Some(sender) = &self.sender {
            // An error only says that the other thread has a result of its own.
            let _ = sender.send(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.waker.wake_by_ref();
    }
}

/// Returns the output of a future, or `None` if `end` completes before it.
async fn before<F: Future>(future: Pin<&mut F>, end: impl Future<Output = ()>) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = end => None,
    }
}
