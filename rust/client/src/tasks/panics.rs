//! Converts panics into errors for all waiters.
//!
//! Invariant: no caller waits for a task that has panicked, and a panic is never mistaken for success. A
//! panic is a bug in ottla, in a library that it uses, or in a callback of the application.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use crate::error::{Error, Kind, Result};

/// Runs `work`; if it panics, returns an error of [`Kind::Internal`] that names `what`.
///
/// State that the work shares with others must be valid whenever it panics.
pub async fn try_catch<T>(what: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    catch(what, work).await?
}

/// As [`try_catch`], for work that cannot fail.
pub async fn catch<T>(what: &str, work: impl Future<Output = T>) -> Result<T> {
    let mut work = pin!(work);
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(panic) => Poll::Ready(Err(panicked(what, &*panic))),
    })
    .await
}

/// As [`catch`], for work that does not wait.
pub fn catch_now<T>(what: &str, work: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| panicked(what, &*panic))
}

fn panicked(what: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let error =
        Error::new(Kind::Internal, format!("{what} panicked: {message}; please report this bug in ottla"));
    tracing::error!(target: "ottla", %error, "a task has panicked");
    error
}

#[cfg(test)]
#[allow(clippy::panic, reason = "what is tested")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_that_says_what_died_and_why() {
        let fine: Result<i32> = try_catch("a task", async { Ok(1) }).await;
        assert!(matches!(fine, Ok(1)));
        let panicked: Result<()> = try_catch("a task", async { panic!("on purpose, {}", 7) }).await;
        let error = panicked.err().map(|error| (error.kind(), error.is_transient(), error.to_string()));
        let message = "a task panicked: on purpose, 7; please report this bug in ottla";
        assert_eq!(error, Some((Kind::Internal, false, message.to_owned())));
    }
}
