//! The state that a [`Group`](super::Group) shares with its task.
//!
//! Invariant: `requested` is locked before `membership_manager` where both are.

use std::sync::OnceLock;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::classic::Assignors;
use super::contact::Contact;
use super::membership_manager::MembershipManager;
use super::settings::GroupSettings;
use super::subscription::Subscription;
use crate::cluster::Client;
use crate::error::Error;

/// The state that a [`Group`](super::Group) shares with its task.
#[derive(Debug)]
pub(super) struct GroupState {
    pub(super) client: Client,
    pub(super) settings: GroupSettings,
    pub(super) assignors: Assignors,
    pub(super) contact: Contact,
    pub(super) membership_manager: Mutex<Box<dyn MembershipManager>>,
    /// The subscription that the application has requested.
    pub(super) requested: Mutex<SubscriptionRequest>,
    /// Wakes the task.
    pub(super) wake: Notify,
    /// Signals rebalance events, and that the member is idle.
    pub(super) event_notify: Notify,
    /// The panic that ended the task.
    pub(super) fatal_error: OnceLock<Error>,
}

/// The latest subscription request of the application.
#[derive(Debug, Default)]
pub(super) struct SubscriptionRequest {
    pub(super) subscription: Option<Subscription>,
    /// Grows with each request.
    pub(super) version: u64,
}

impl SubscriptionRequest {
    pub(super) fn set(&mut self, subscription: Option<Subscription>) {
        self.subscription = subscription;
        self.version += 1;
    }
}
