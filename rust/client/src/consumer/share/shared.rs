//! The state that a share consumer shares with its task.
//!
//! Invariant: the lock of `state` is never held across an await.

use std::sync::OnceLock;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::state::ShareState;
use crate::cluster::Client;
use crate::consumer::group::Group;
use crate::error::Error;

/// The state that a share consumer shares with its task.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) state: Mutex<ShareState>,
    /// Wakes the task.
    pub(super) fetcher_wakeup: Notify,
    /// Wakes a poll, a commit or closing.
    pub(super) poll_wakeup: Notify,
    /// The group membership, from the first poll after subscribing.
    pub(super) group: OnceLock<Group>,
    /// Since when an assigned partition has had no leader.
    pub(super) leaderless_since: Mutex<Option<Instant>>,
    /// The panic that ended the task.
    pub(super) fatal_error: OnceLock<Error>,
}
