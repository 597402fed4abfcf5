//! Subscribers of a client's events: while there are any, metadata is refreshed often enough to report
//! changes soon, even on an idle client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use crate::cluster::Client;

/// The number of subscribers of one client.
#[derive(Debug, Default)]
pub(crate) struct EventSubscribers {
    count: AtomicUsize,
    /// Notified when the first one subscribes.
    pub(crate) first_added: Notify,
}

impl EventSubscribers {
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }
}

/// Keeps the metadata no older than `events.metadata.max.age.ms` until dropped.
#[derive(Debug)]
pub struct EventSubscription(Arc<EventSubscribers>);

impl Client {
    /// Has changes in the cluster detected soon, for as long as the subscription lives. Receive the
    /// events with [`Client::events`].
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
