//! The responses to fetches that no task waits for: the task that reads one from the socket leaves it here, and wakes the
//! fetcher, which decodes it.
//!
//! Invariant: each such fetch gets an entry, a response or an error. A broker has at most one fetch in flight, so few wait
//! here.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::error::Result;

/// Which fetch it is: the broker, and a number that counts up.
pub(crate) type FetchNumber = (i32, u64);

/// Responses that the fetcher has not taken yet.
#[derive(Default)]
pub(crate) struct CompletedFetches {
    responses: Mutex<Vec<(FetchNumber, Result<UndecodedResponse>)>>,
    added: Notify,
}

/// A response as it was received.
pub(crate) struct UndecodedResponse {
    pub(crate) connection: Arc<Connection>,
    pub(crate) version: i16,
    pub(crate) bytes: Bytes,
}

impl CompletedFetches {
    /// Adds the response to a fetch.
    pub(crate) fn add(&self, fetch: FetchNumber, response: Result<UndecodedResponse>) {
        self.responses.lock().push((fetch, response));
        self.added.notify_one();
    }

    /// Waits until a response is added.
    pub(crate) async fn wait(&self) {
        self.added.notified().await;
    }

    /// Takes all responses.
    pub(crate) fn take(&self) -> Vec<(FetchNumber, Result<UndecodedResponse>)> {
        std::mem::take(&mut *self.responses.lock())
    }
}
