//! What an attempt waits for when its deadline ends it: the cause that the error of the call names.
//!
//! Who waits for a server holds an [`Awaiting`]. If the deadline drops the attempt, what it still waits for is noted,
//! on any level below.
//!
//! Invariants: a wait that has ended is not named; at most [`MAX_NOTED`] are.

use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::error::Error;

/// An attempt may wait for a thousand partitions; the first few waits tell its cause.
const MAX_NOTED: usize = 8;

tokio::task_local! {
    /// What the attempt that is being dropped still waits for.
    static AWAITED: Arc<Mutex<Vec<Error>>>;
}

/// Runs an attempt until `deadline`. If it has not ended by then, returns what it waits for, as far as that is known.
pub(super) async fn until<T>(deadline: Instant, attempt: impl Future<Output = T>) -> Result<T, Vec<Error>> {
    let awaited = Arc::new(Mutex::default());
    let attempt = AWAITED.scope(Arc::clone(&awaited), attempt);
    // By the time that the result is mapped, the attempt is dropped.
    timeout_at(deadline, attempt).await.map_err(|_| std::mem::take(&mut *awaited.lock()))
}

/// A wait for a server. Unless [`Awaiting::end`] is called before, dropping it notes what was awaited.
pub(crate) struct Awaiting<F: Fn() -> Error> {
    awaited: F,
    ended: bool,
}

impl<F: Fn() -> Error> Awaiting<F> {
    /// Begins to wait for what the error says has not come yet.
    pub(crate) fn begin(awaited: F) -> Self {
        Self { awaited, ended: false }
    }

    pub(crate) fn end(mut self) {
        self.ended = true;
    }
}

impl<F: Fn() -> Error> Drop for Awaiting<F> {
    fn drop(&mut self) {
        if !self.ended {
            // Outside an attempt, nobody asks.
            let _ = AWAITED.try_with(|noted| {
                let mut noted = noted.lock();
                if noted.len() < MAX_NOTED {
                    noted.push((self.awaited)());
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{Duration, sleep};

    use super::*;
    use crate::error::Kind;

    async fn wait_for(what: &'static str, millis: u64) {
        let awaiting = Awaiting::begin(|| Error::new(Kind::Connection, what));
        sleep(Duration::from_millis(millis)).await;
        awaiting.end();
    }

    fn messages(awaited: Result<(), Vec<Error>>) -> Result<(), Vec<String>> {
        awaited.map_err(|awaited| awaited.iter().map(|error| error.message().to_owned()).collect())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_still_awaited_is_noted_and_what_has_come_is_not() {
        let deadline = Instant::now() + Duration::from_millis(100);
        let attempt = async {
            wait_for("the first", 50).await;
            tokio::join!(wait_for("the second", 10), wait_for("the third", 1_000));
        };
        assert_eq!(messages(until(deadline, attempt).await), Err(vec!["the third".to_owned()]));
        assert_eq!(until(Instant::now(), pending::<()>()).await.map_err(|awaited| awaited.len()), Err(0));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_inside_another_notes_its_own() {
        let now = Instant::now();
        let outer = async {
            let inner = until(now + Duration::from_millis(10), wait_for("the inner", 20)).await;
            assert_eq!(messages(inner), Err(vec!["the inner".to_owned()]));
            wait_for("the outer", 1_000).await;
        };
        let outer = until(now + Duration::from_millis(100), outer).await;
        assert_eq!(messages(outer), Err(vec!["the outer".to_owned()]));
    }
}
