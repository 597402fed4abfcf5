//! Who listens to a client's events: while somebody does, the metadata is refreshed often enough that
//! changes are known soon, on an idle client too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::cluster::Client;

/// The listeners of one client.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    count: AtomicUsize,
    /// The first one has come.
    pub(crate) came: Notify,
}

impl Listeners {
    pub(crate) fn are_there(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }
}

/// Keeps the metadata no older than `events.metadata.max.age.ms` until it is dropped.
#[derive(Debug)]
pub struct Listening(Arc<Listeners>);

impl Client {
    /// Has changes in the cluster noticed soon, for somebody who listens to [`Client::events`].
    #[must_use]
    pub fn listen(&self) -> Listening {
        let listeners = Arc::clone(&self.inner.listeners);
        if listeners.count.fetch_add(1, Ordering::AcqRel) == 0 {
            listeners.came.notify_one();
        }
        Listening(listeners)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}
