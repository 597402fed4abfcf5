//! Who listens to a client's events: while somebody does, the metadata is refreshed often enough that
//! changes are known soon, on an idle client too.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::cluster::Client;

/// The event_subscribers of one client.
#[derive(Debug, Default)]
pub(crate) struct EventSubscribers {
    count: AtomicUsize,
    /// The first one has come.
    pub(crate) first_added: Notify,
}

impl EventSubscribers {
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }
}

/// Keeps the metadata no older than `events.metadata.max.age.ms` until it is dropped.
#[derive(Debug)]
pub struct EventSubscription(Arc<EventSubscribers>);

impl Client {
    /// Has changes in the cluster noticed soon, for somebody who listens to [`Client::events`].
    #[must_use]
    pub fn subscribe_events(&self) -> EventSubscription {
        let event_subscribers = Arc::clone(&self.inner.event_subscribers);
        if event_subscribers.count.fetch_add(1, Ordering::AcqRel) == 0 {
            event_subscribers.first_added.notify_one();
        }
        EventSubscription(event_subscribers)
    }
}

impl Drop for EventSubscription {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
    }
}
