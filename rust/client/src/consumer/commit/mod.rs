//! Commits offsets: automatically, and for the application, one commit at a time.
//!
//! Invariants: an offset that the consumer chooses is at most the position, so it covers delivered records only; one
//! that the application passes is its own. An automatic commit covers only records of earlier polls, and stops once
//! the application has failed.
//! Commits of one consumer never overlap, so an older offset never overwrites a newer one. Partitions that
//! are revoked while a commit waits are not committed (`ownership.rs`). Offsets of topics that are gone hold up
//! nothing (`results.rs`).

mod ownership;
mod results;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, sleep, timeout, timeout_at};

use super::group::Group;
use crate::consumer::commit::ownership::CommitOwnership;
use crate::consumer::commit::results::{CommitSource, record_results};
use crate::consumer::metrics::millis;
use crate::consumer::partition_state::PartitionState;
use crate::consumer::state::ConsumerState;
use crate::error::{Error, Kind, Result};
use crate::group_offsets::ConsumerGroupMetadata;
use crate::group_offsets::{self, CommitResults, CommittedOffset};
use crate::retry;
use crate::topic_partition::TopicPartition;

/// How often to check whether a heartbeat has renewed the member epoch.
const EPOCH_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a revocation waits for pending commits; the rest of the group waits with it.
const PENDING_COMMITS_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct CommitManager {
    shared: Arc<ConsumerState>,
    /// Held by the commit in progress.
    commit_lock: Arc<tokio::sync::Mutex<()>>,
    /// When the next automatic commit is due.
    auto_commit_at: Mutex<Option<Instant>>,
    /// When the first of the automatic commits that failed in a row was due.
    auto_commit_failed_at: Arc<Mutex<Option<Instant>>>,
    /// Whether the application has failed: it may not have processed the records delivered to it.
    stopped: AtomicBool,
}

pub(crate) fn no_group() -> Error {
    Error::new(Kind::Config, "offsets are committed to a group: set group.id")
}

impl CommitManager {
    pub(crate) fn new(shared: Arc<ConsumerState>) -> Self {
        Self {
            shared,
            commit_lock: Arc::default(),
            auto_commit_at: Mutex::default(),
            auto_commit_failed_at: Arc::default(),
            stopped: AtomicBool::new(false),
        }
    }

    fn is_automatic(&self) -> bool {
        let config = self.shared.client.config();
        config.enable_auto_commit && self.shared.group_id.is_some() && !self.stopped.load(Ordering::Acquire)
    }

    /// Stops automatic commits.
    pub(crate) fn stop_auto_commit(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// When [`CommitManager::maybe_auto_commit`] has something to do.
    pub(crate) fn next_auto_commit(&self, now: Instant) -> Instant {
        let due = if self.is_automatic() { *self.auto_commit_at.lock() } else { None };
        // Any delay long enough not to matter.
        due.unwrap_or(now + Duration::from_secs(3_600))
    }

    /// Starts an automatic commit if one is due; runs before a poll delivers new records.
    pub(crate) fn maybe_auto_commit(&self, now: Instant) {
        if !self.is_automatic() {
            return;
        }
        let interval = self.shared.client.config().auto_commit_interval;
        let mut due = self.auto_commit_at.lock();
        match *due {
            Some(at) if at <= now => *due = Some(now + interval),
            Some(_) => return,
            None => {
                *due = Some(now + interval);
                return;
            }
        }
        drop(due);
        // A commit in progress covers the essential part; the next one covers the rest.
        let Ok(guard) = Arc::clone(&self.commit_lock).try_lock_owned() else { return };
        let positions = self.uncommitted_positions();
        if positions.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let ownership = CommitOwnership::capture(&shared, &positions);
        let failed_at = Arc::clone(&self.auto_commit_failed_at);
        tokio::spawn(async move {
            let timeout = shared.client.config().default_api_timeout;
            let result =
                send(&shared, &ownership, CommitSource::Automatic, positions, retry::deadline(timeout)).await;
            drop(guard);
            let mut failed_at = failed_at.lock();
            match result {
                Err(error) => {
                    failed_at.get_or_insert(now);
                    tracing::warn!(target: "ottla.group", %error, "the automatic commit failed; the next one retries");
                }
                Ok(_) => {
                    if let Some(since) = failed_at.take() {
                        let line = retry::recovery_line(since.elapsed(), "the automatic commit");
                        tracing::info!(target: "ottla.group", "{line}");
                    }
                }
            }
        });
    }

    /// All positions.
    pub(crate) fn positions(&self) -> HashMap<TopicPartition, CommittedOffset> {
        self.select(|_| true)
    }

    /// The positions that an automatic commit sends: those that are neither committed yet nor dropped.
    fn uncommitted_positions(&self) -> HashMap<TopicPartition, CommittedOffset> {
        self.select(|state| {
            let offset = state.position.offset;
            offset != state.auto_committed && offset != state.dropped
        })
    }

    fn select(
        &self,
        is_selected: impl Fn(&PartitionState) -> bool,
    ) -> HashMap<TopicPartition, CommittedOffset> {
        let mut subscriptions = self.shared.subscriptions.lock();
        let selected = subscriptions.states();
        let selected = selected.filter(|(_, state)| state.position.offset >= 0 && is_selected(state));
        let committed = |state: &PartitionState| CommittedOffset {
            offset: state.position.offset,
            leader_epoch: (state.position.epoch >= 0).then_some(state.position.epoch),
            metadata: Some(String::new()),
            topic_id: state.topic_id,
        };
        selected.map(|(partition, state)| (partition.clone(), committed(state))).collect()
    }

    /// The offsets that a transaction commits, or all positions, and the member's identity. Fails if a
    /// partition was revoked: its records may be processed elsewhere.
    pub(crate) fn offsets_for_transaction(
        &self,
        offsets: Option<HashMap<TopicPartition, CommittedOffset>>,
    ) -> Result<(HashMap<TopicPartition, CommittedOffset>, ConsumerGroupMetadata)> {
        let member = self.shared.group_metadata().ok_or_else(no_group)?;
        if self.is_automatic() && self.shared.is_subscribed() {
            let message =
                "the consumer also commits its offsets outside of transactions: set enable.auto.commit=false";
            return Err(Error::new(Kind::Config, message));
        }
        let mut offsets = match offsets {
            Some(offsets) => self.with_topic_ids(offsets),
            None => self.positions(),
        };
        let ownership = CommitOwnership::capture(&self.shared, &offsets);
        let revoked = ownership.remove_revoked(&self.shared, &member, &mut offsets);
        if let Some(error) = revoked.into_values().find_map(Result::err) {
            return Err(error.as_kind(Kind::CommitFailed));
        }
        if member.generation < 0 && self.shared.is_subscribed() {
            return Err(not_a_member(self.shared.membership()).as_kind(Kind::CommitFailed));
        }
        Ok((offsets, member))
    }

    /// Adds the topic ids of assigned partitions to the application's offsets.
    fn with_topic_ids(
        &self,
        mut offsets: HashMap<TopicPartition, CommittedOffset>,
    ) -> HashMap<TopicPartition, CommittedOffset> {
        let mut subscriptions = self.shared.subscriptions.lock();
        for (partition, committed) in &mut offsets {
            if let Some(state) = subscriptions.state(partition).filter(|_| committed.topic_id.is_zero()) {
                committed.topic_id = state.topic_id;
            }
        }
        offsets
    }

    /// Commits before a revocation. Failures are logged: the partitions are revoked anyway.
    pub(crate) async fn before_revocation(&self) {
        // Commits of the application are awaited after its callback, which may add to them.
        if self.is_automatic() {
            self.auto_commit_now(self.shared.client.config().default_api_timeout).await;
        }
    }

    /// Waits for the commit in progress, then commits delivered records if automatic commits are on.
    pub(crate) async fn auto_commit_now(&self, timeout: Duration) {
        let deadline = retry::deadline(timeout);
        let Ok(_guard) = timeout_at(deadline, self.commit_lock.lock()).await else { return };
        if !self.is_automatic() {
            return;
        }
        let positions = self.uncommitted_positions();
        if positions.is_empty() {
            return;
        }
        let ownership = CommitOwnership::capture(&self.shared, &positions);
        if let Err(error) = send(&self.shared, &ownership, CommitSource::Automatic, positions, deadline).await
        {
            tracing::warn!(target: "ottla.group", %error, "the last automatic commit failed: the latest records are read again");
        }
    }

    /// Waits a few seconds for pending commits, before a revocation makes them fail.
    pub(crate) async fn wait_for_pending(&self) {
        let _ = timeout(PENDING_COMMITS_TIMEOUT, self.commit_lock.lock()).await;
    }

    /// Commits `offsets`, or all positions.
    ///
    /// Offsets of topics that do not exist any more are an error; the others are committed all the same.
    pub(crate) async fn commit(
        &self,
        offsets: Option<HashMap<TopicPartition, CommittedOffset>>,
        timeout: Duration,
    ) -> Result<()> {
        if self.shared.group_id.is_none() {
            return Err(no_group());
        }
        // Captured before waiting: a commit covers what was delivered when it was requested.
        let offsets = match offsets {
            Some(offsets) => self.with_topic_ids(offsets),
            None => self.positions(),
        };
        let ownership = CommitOwnership::capture(&self.shared, &offsets);
        let deadline = retry::deadline(timeout);
        let guard = timeout_at(deadline, self.commit_lock.lock()).await;
        let _guard = guard.map_err(|_| {
            let message = format!("an earlier commit is still in progress after {} ms", timeout.as_millis());
            Error::new(Kind::Timeout, message)
        })?;
        if offsets.is_empty() {
            return Ok(());
        }
        send(&self.shared, &ownership, CommitSource::Application, offsets, deadline).await
    }
}

/// Sends one commit. After STALE_MEMBER_EPOCH it waits for the heartbeat that brings the new epoch.
async fn send(
    shared: &ConsumerState,
    ownership: &CommitOwnership,
    source: CommitSource,
    mut offsets: HashMap<TopicPartition, CommittedOffset>,
    deadline: Instant,
) -> Result<()> {
    let mut results = CommitResults::new();
    loop {
        let member = shared.group_metadata().ok_or_else(no_group)?;
        // Checked in each round: a new epoch may come with other partitions.
        results.extend(ownership.remove_revoked(shared, &member, &mut offsets));
        if offsets.is_empty() {
            return record_results(shared, ownership, source, offsets, results);
        }
        if member.generation < 0 && shared.is_subscribed() {
            return Err(not_a_member(shared.membership()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let began = Instant::now();
        let result = group_offsets::commit(&shared.client, &member, offsets.clone(), left).await;
        let error = match result {
            Ok(committed) => {
                shared.metrics.commit_latency.record(millis(began.elapsed()));
                results.extend(committed);
                return record_results(shared, ownership, source, offsets, results);
            }
            Err(error) => error,
        };
        let (Some(group), Some(code)) = (shared.membership(), error.code()) else { return Err(error) };
        group.report_error(&member, code);
        if code != ErrorCode::StaleMemberEpoch {
            // A member that polled too late gets that reason rather than its consequence.
            return Err(with_reason(group, error));
        }
        while shared.group_metadata().as_ref() == Some(&member) {
            if Instant::now() + EPOCH_POLL_INTERVAL >= deadline {
                return Err(error);
            }
            sleep(EPOCH_POLL_INTERVAL).await;
        }
    }
}

/// The coordinator would accept this commit as one of a consumer with assigned partitions, and bypass the
/// members.
fn not_a_member(group: Option<&Group>) -> Error {
    let message = "not committed: this consumer is not a member of its group, and other members may own its partitions; poll to join";
    let error = Error::with_code(ErrorCode::UnknownMemberId, message);
    match group {
        Some(group) => with_reason(group, error),
        None => error,
    }
}

/// Adds why the member left its group without being asked to.
fn with_reason(group: &Group, error: Error) -> Error {
    match group.leave_reason() {
        Some(reason) => error.prefixed(reason),
        None => error,
    }
}
