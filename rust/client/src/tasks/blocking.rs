//! Blocking work outside the runtime: the application's callbacks, a KDC.
//!
//! Invariant: each pool runs a limited number of calls at once, so that a callback that does not return
//! blocks only its own client, and not others for lack of threads.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

use crate::error::{Error, Kind, Result};

/// Limits how many blocking calls of one kind run at once.
#[derive(Debug, Clone)]
pub struct BlockingPool {
    what: &'static str,
    permits: Arc<Semaphore>,
}

impl BlockingPool {
    /// Creates a pool for `what` with this many permits.
    #[must_use]
    pub fn new(what: &'static str, permits: usize) -> Self {
        Self { what, permits: Arc::new(Semaphore::new(permits)) }
    }

    /// Runs `work` on a blocking thread when a permit is free. If the caller gives up, the work still
    /// runs to its end and keeps its permit. Fails if the work panics or the runtime shuts down.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| Error::new(Kind::Closed, "the client is shutting down"))?;
        let work = move || {
            let _permit: OwnedSemaphorePermit = permit;
            work()
        };
        run_blocking(self.what, work).await
    }
}

/// Runs `work` on a blocking thread. Fails if it panics or the runtime shuts down.
pub(crate) async fn run_blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    spawn_blocking(work).await.map_err(|error| match error.is_panic() {
        true => Error::new(Kind::Internal, format!("{what} panicked")),
        false => Error::new(Kind::Closed, "the client's runtime is shutting down"),
    })
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_of_one_kind_waits_for_its_own_kind_only() {
        let (slow, quick) = (BlockingPool::new("slow", 1), BlockingPool::new("quick", 1));
        let (release, held) = mpsc::channel::<()>();
        let first = tokio::spawn({
            let slow = slow.clone();
            async move { slow.run(move || held.recv().is_ok()).await }
        });
        tokio::task::yield_now().await;
        let second = tokio::time::timeout(Duration::from_millis(50), slow.run(|| ())).await;
        assert!(second.is_err(), "two at once");
        assert_eq!(quick.run(|| 7).await.ok(), Some(7));
        release.send(()).expect("it waits");
        assert!(first.await.expect("no panic").expect("an end"));
        assert!(slow.run(|| ()).await.is_ok());
        let died = quick.run(|| panic!("on purpose")).await.map(|(): ()| ());
        assert_eq!(died.err().map(|error| error.kind()), Some(Kind::Internal));
        assert!(quick.run(|| ()).await.is_ok(), "the permit is free again");
    }
}
