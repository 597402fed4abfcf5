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
use crate::topic_partition::TopicPartition;

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
    /// Since when assigned partitions have had no leader, and one of them.
    pub(super) leaderless: Mutex<Option<(Instant, TopicPartition)>>,
    /// The panic that ended the task.
    pub(super) fatal_error: OnceLock<Error>,
}
