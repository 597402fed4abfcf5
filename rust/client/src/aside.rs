//! Work that waits outside of the runtime: an application's callbacks, a KDC, a name server.
//!
//! Invariant: whoever does not come back holds up only those who asked for the same: no thread is shared
//! between what one client, one name or one library waits for and the rest of the process.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::error::{Error, Kind, Result};

/// Threads of one kind of work, so many at once and no more.
#[derive(Debug, Clone)]
pub struct Aside {
    what: &'static str,
    places: Arc<Semaphore>,
}

impl Aside {
    /// For `what`, on at most `threads` threads at once; each lives as long as its work.
    #[must_use]
    pub fn new(what: &'static str, threads: usize) -> Self {
        Self { what, places: Arc::new(Semaphore::new(threads)) }
    }

    /// Runs work on a thread of its own, when there is a place. Whoever gives up waiting leaves the work to
    /// its end, and its place with it. An error: no thread could be had, or the work has panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|_| Error::new(Kind::Closed, "the client is shutting down"))?;
        let (sender, done) = oneshot::channel();
        let work = move || {
            let _place: OwnedSemaphorePermit = place;
            // Whoever asked may have gone.
            let _ = sender.send(work());
        };
        std::thread::Builder::new().name(self.what.to_owned()).spawn(work).map_err(|error| {
            Error::new(Kind::Closed, format!("no thread can be started for {}: {error}", self.what))
        })?;
        done.await.map_err(|_| Error::new(Kind::Internal, format!("{} has panicked", self.what)))
    }
}

#[cfg(test)]
#[allow(clippy::expect_used, clippy::panic, reason = "a test may fail")]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_of_one_kind_waits_for_its_own_kind_only() {
        let (slow, quick) = (Aside::new("slow", 1), Aside::new("quick", 1));
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
        assert!(quick.run(|| ()).await.is_ok(), "its place is free again");
    }
}
