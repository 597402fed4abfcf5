//! Committing: when, what, and one after the other.
//!
//! Invariants: what is committed is at most the position, so only what was handed out; by itself, only
//! what earlier polls handed out, and nothing once the application has failed. Commits of one consumer
//! go out one at a time, so that an older offset never overwrites a newer one. What was given up while
//! a commit waited is not committed (`claim.rs`).

mod claim;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ottla_protocol::ErrorCode;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, sleep, timeout, timeout_at};

use super::group::Group;
use super::offsets::{self, Committed, Outcomes};
use crate::consumer::commit::claim::Claim;
use crate::consumer::partition_state::Slot;
use crate::consumer::state::Shared;
use crate::error::{Error, Kind, Result};
use crate::retry;
use crate::topic_partition::TopicPartition;

/// How often a member's epoch is looked at that a heartbeat is to renew.
const LOOK: Duration = Duration::from_millis(20);
/// How long partitions are not given up for commits of them that wait for their turn. The others of the
/// group wait, too.
const SETTLING: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Commits {
    shared: Arc<Shared>,
    /// Held by the commit that is under way.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// When offsets are next committed by themselves.
    due: Mutex<Option<Instant>>,
    /// The application has failed: what it was handed out may not be processed.
    stopped: AtomicBool,
}

pub(crate) fn no_group() -> Error {
    Error::new(Kind::Config, "offsets are kept in a group: set group.id")
}

impl Commits {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, turn: Arc::default(), due: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    fn is_automatic(&self) -> bool {
        let config = self.shared.client.config();
        config.enable_auto_commit && self.shared.group_id.is_some() && !self.stopped.load(Ordering::Acquire)
    }

    /// Commits nothing automatically from now on.
    pub(crate) fn stop_auto_commit(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// When [`Commits::tick`] has something to do.
    pub(crate) fn due(&self, now: Instant) -> Instant {
        let due = if self.is_automatic() { *self.due.lock() } else { None };
        // Any time that is long enough not to matter.
        due.unwrap_or(now + Duration::from_secs(3_600))
    }

    /// Commits by itself if it is time; called before a poll hands out anything new.
    pub(crate) fn tick(&self, now: Instant) {
        if !self.is_automatic() {
            return;
        }
        let every = self.shared.client.config().auto_commit_interval;
        let mut due = self.due.lock();
        match *due {
            Some(at) if at <= now => *due = Some(now + every),
            Some(_) => return,
            None => {
                *due = Some(now + every);
                return;
            }
        }
        drop(due);
        // One that is still under way has what matters, and the next one has the rest.
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else { return };
        let positions = self.positions(false);
        if positions.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let claim = Claim::new(&shared, &positions);
        tokio::spawn(async move {
            let timeout = shared.client.config().default_api_timeout;
            let outcome = send(&shared, &claim, positions, retry::deadline(timeout)).await;
            drop(turn);
            if let Err(error) = outcome {
                tracing::warn!(target: "ottla.group", %error, "offsets were not committed; the next time will try again");
            }
        });
    }

    /// The positions; only those that are not committed yet, or all.
    pub(crate) fn positions(&self, all: bool) -> HashMap<TopicPartition, Committed> {
        let mut assignment = self.shared.assignment.lock();
        let wanted = assignment
            .slots()
            .filter(|(_, slot)| slot.position.offset >= 0 && (all || slot.position.offset != slot.committed));
        let committed = |slot: &Slot| Committed {
            offset: slot.position.offset,
            leader_epoch: (slot.position.epoch >= 0).then_some(slot.position.epoch),
            metadata: String::new(),
            topic_id: slot.topic_id,
        };
        wanted.map(|(partition, slot)| (partition.clone(), committed(slot))).collect()
    }

    /// Adds of which topics offsets are that the application names: of those that it reads.
    fn of_what_is_read(
        &self,
        mut offsets: HashMap<TopicPartition, Committed>,
    ) -> HashMap<TopicPartition, Committed> {
        let mut assignment = self.shared.assignment.lock();
        for (partition, committed) in &mut offsets {
            if let Some(slot) = assignment.slot(partition).filter(|_| committed.topic_id.is_zero()) {
                committed.topic_id = slot.topic_id;
            }
        }
        offsets
    }

    /// Commits before partitions are given up; what fails is logged, since they are given up anyway.
    pub(crate) async fn before_giving_up(&self) {
        // What the application commits itself is waited for after its callback, which may add to it.
        if self.is_automatic() {
            self.last(self.shared.client.config().default_api_timeout).await;
        }
    }

    /// Waits for the commits that are under way, and commits what was handed out, if that is to
    /// happen by itself.
    pub(crate) async fn last(&self, timeout: Duration) {
        let deadline = retry::deadline(timeout);
        let Ok(_turn) = timeout_at(deadline, self.turn.lock()).await else { return };
        if !self.is_automatic() {
            return;
        }
        let positions = self.positions(false);
        if positions.is_empty() {
            return;
        }
        let claim = Claim::new(&self.shared, &positions);
        if let Err(error) = send(&self.shared, &claim, positions, deadline).await {
            tracing::warn!(target: "ottla.group", %error, "offsets were not committed: what was handed out last is handed out again");
        }
    }

    /// Waits, but not for long, until the commits that were asked for have gone out: what they are of
    /// is about to be given up, and then they are refused.
    pub(crate) async fn settled(&self) {
        let _ = timeout(SETTLING, self.turn.lock()).await;
    }

    /// Commits `offsets`, or all positions.
    pub(crate) async fn commit(
        &self,
        offsets: Option<HashMap<TopicPartition, Committed>>,
        timeout: Duration,
    ) -> Result<()> {
        if self.shared.group_id.is_none() {
            return Err(no_group());
        }
        // Taken before the wait for a turn: a commit is of what was handed out when it was asked for.
        let offsets = match offsets {
            Some(offsets) => self.of_what_is_read(offsets),
            None => self.positions(true),
        };
        let claim = Claim::new(&self.shared, &offsets);
        let deadline = retry::deadline(timeout);
        let turn = timeout_at(deadline, self.turn.lock()).await;
        let _turn = turn.map_err(|_| {
            let words = format!("an earlier commit is still under way after {} ms", timeout.as_millis());
            Error::new(Kind::Timeout, words)
        })?;
        if offsets.is_empty() {
            return Ok(());
        }
        send(&self.shared, &claim, offsets, deadline).await
    }
}

/// One commit. STALE_MEMBER_EPOCH waits for the heartbeat that brings the new epoch.
async fn send(
    shared: &Shared,
    claim: &Claim,
    mut offsets: HashMap<TopicPartition, Committed>,
    deadline: Instant,
) -> Result<()> {
    let mut gone = Outcomes::new();
    loop {
        let member = shared.member().ok_or_else(no_group)?;
        // Each time: under a new epoch other partitions may be this member's own.
        gone.extend(claim.withdraw(shared, &member, &mut offsets));
        if offsets.is_empty() {
            return note(shared, claim, &offsets, gone);
        }
        if member.generation < 0 && shared.is_subscribed() {
            return Err(no_member(shared.membership()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let outcome = offsets::commit(&shared.client, &member, offsets.clone(), left).await;
        let error = match outcome {
            Ok(outcomes) => {
                gone.extend(outcomes);
                return note(shared, claim, &offsets, gone);
            }
            Err(error) => error,
        };
        let (Some(group), Some(code)) = (shared.membership(), error.code()) else { return Err(error) };
        group.trouble(&member, code);
        if code != ErrorCode::StaleMemberEpoch {
            // A member that was too slow to poll is told that, rather than what came of it.
            return Err(with_reason(group, error));
        }
        while shared.member().as_ref() == Some(&member) {
            if Instant::now() + LOOK >= deadline {
                return Err(error);
            }
            sleep(LOOK).await;
        }
    }
}

/// A commit of who is not a member would pass for one by hand, over the heads of the members.
fn no_member(group: Option<&Group>) -> Error {
    let words = "not committed: this consumer is not a member of its group now, and its partitions may be somebody else's; poll to join";
    let error = Error::with_code(ErrorCode::UnknownMemberId, words);
    match group {
        Some(group) => with_reason(group, error),
        None => error,
    }
}

/// The error with why the member left its group, if it was not asked to.
fn with_reason(group: &Group, error: Error) -> Error {
    match group.why_left() {
        Some(why) => error.prefixed(why),
        None => error,
    }
}

/// Notes what was committed. One partition that was refused is an error for all.
fn note(
    shared: &Shared,
    claim: &Claim,
    offsets: &HashMap<TopicPartition, Committed>,
    outcomes: Outcomes,
) -> Result<()> {
    let mut refused = Ok(());
    for (partition, outcome) in outcomes {
        match (outcome, offsets.get(&partition)) {
            (Ok(()), Some(committed)) => claim.note(shared, &partition, committed.offset),
            (Ok(()), None) => {}
            (Err(error), _) => refused = Err(error),
        }
    }
    refused
}
