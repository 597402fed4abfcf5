//! Partitions whose leaders refuse writes although nothing is wrong with the records: too few replicas are in
//! sync, or a log directory is offline. Decides when to refresh the metadata and when to warn. No I/O; the
//! sender passes the time and what the brokers responded, and logs.
//!
//! Invariants: what lasts is one warning within two seconds of the first refusal and then at growing
//! intervals, however many partitions it affects, and one line once none is refused any more. The metadata is
//! refreshed before a warning, so that its numbers are true. There are no more entries than partitions with
//! records.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;
use tokio::time::{Duration, Instant};

use crate::retry::warning_pace::WarningPace;
use crate::topic_partition::TopicPartition;

/// How long refusals last before the first warning: the metadata may need a moment, and two seconds must not
/// pass in silence.
const WARN_AFTER: Duration = Duration::from_millis(1_500);
/// How long before a warning the metadata is refreshed.
const REFRESHED_BEFORE: Duration = Duration::from_millis(500);
/// A partition that was neither refused nor written to for this long has no more records to write.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Why leaders refuse writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Fewer replicas are in sync than `min.insync.replicas`.
    TooFewReplicas,
    /// A log directory of the leader is offline.
    LogDirectory,
}

impl Refusal {
    /// The refusal that an error code of a Produce response expresses.
    pub(super) fn of(code: ErrorCode) -> Option<Self> {
        match code {
            ErrorCode::NotEnoughReplicas | ErrorCode::NotEnoughReplicasAfterAppend => {
                Some(Self::TooFewReplicas)
            }
            ErrorCode::KafkaStorageError => Some(Self::LogDirectory),
            _ => None,
        }
    }
}

/// One refused partition, as an example of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedPartition {
    pub(super) partition: TopicPartition,
    pub(super) code: ErrorCode,
    pub(super) broker: i32,
}

/// What the sender does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Refresh the metadata: a warning may follow.
    Refresh,
    /// Warn: writes to this many partitions have been refused for this long.
    Refused { example: RefusedPartition, partitions: usize, lasted: Duration },
    /// Log that it is over, after this long.
    Accepted { example: RefusedPartition, partitions: usize, lasted: Duration },
}

#[derive(Debug, Clone, Copy)]
struct Refused {
    first: Instant,
    last: Instant,
}

/// The partitions that are refused for one reason.
#[derive(Debug)]
struct Condition {
    refusal: Refusal,
    partitions: HashMap<TopicPartition, Refused>,
    /// When the first partition was refused.
    since: Instant,
    /// The most recent refusal.
    example: RefusedPartition,
    last_refused: Instant,
    refresh_at: Option<Instant>,
    /// When to look whether a warning is due; `None` until the next refusal.
    check_at: Option<Instant>,
    pace: WarningPace,
    /// The partitions that the last warning counted, and when it was given; `None` before the first one.
    warned: Option<(usize, Instant)>,
    /// Whether a partition was written to since the condition began.
    some_accepted: bool,
}

impl Condition {
    fn new(refusal: Refusal, example: RefusedPartition, now: Instant) -> Self {
        Self {
            refusal,
            partitions: HashMap::new(),
            since: now,
            example,
            last_refused: now,
            refresh_at: None,
            check_at: None,
            pace: WarningPace::new(now),
            warned: None,
            some_accepted: false,
        }
    }

    fn refused(&mut self, refused: RefusedPartition, now: Instant) {
        if self.partitions.is_empty() {
            (self.since, self.warned, self.some_accepted, self.refresh_at) = (now, None, false, Some(now));
        }
        let new = Refused { first: now, last: now };
        self.partitions.entry(refused.partition.clone()).or_insert(new).last = now;
        self.pace.see(now);
        (self.example, self.last_refused) = (refused, now);
        let due = (now + WARN_AFTER).max(self.pace.next());
        if self.check_at.is_none_or(|at| at > due) {
            self.schedule(due);
        }
    }

    /// Schedules a warning, and the refresh before it.
    fn schedule(&mut self, at: Instant) {
        self.check_at = Some(at);
        self.refresh_at.get_or_insert(at - REFRESHED_BEFORE);
    }

    /// Records that a partition is written to. Returns the end of the condition, if a warning was given.
    fn written(&mut self, partition: &TopicPartition, now: Instant) -> Option<Notice> {
        // Nearly always it is empty.
        if self.partitions.is_empty() || self.partitions.remove(partition).is_none() {
            return None;
        }
        self.some_accepted = true;
        if self.partitions.is_empty() { self.end(now) } else { None }
    }

    fn end(&mut self, now: Instant) -> Option<Notice> {
        (self.check_at, self.refresh_at) = (None, None);
        let (partitions, _) = self.warned.take().filter(|_| self.some_accepted)?;
        let lasted = now.saturating_duration_since(self.since);
        Some(Notice::Accepted { example: self.example.clone(), partitions, lasted })
    }

    fn poll(&mut self, now: Instant, notices: &mut Vec<Notice>) {
        if self.refresh_at.take_if(|at| *at <= now).is_some() {
            notices.push(Notice::Refresh);
            // The first one may have come before the brokers knew which replicas are left.
            let again = self.check_at.map(|at| at - REFRESHED_BEFORE);
            self.refresh_at = again.filter(|again| *again > now);
        }
        if self.check_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        self.partitions.retain(|_, it| now.saturating_duration_since(it.last) < FORGOTTEN_AFTER);
        let Some(since) = self.partitions.values().map(|refused| refused.first).min() else {
            // The records of those that are left have expired, as their errors say.
            notices.extend(self.end(now));
            return;
        };
        let lasted = now.saturating_duration_since(since);
        if lasted < WARN_AFTER {
            self.schedule(since + WARN_AFTER);
        } else if self.warned.is_some_and(|(_, at)| self.last_refused <= at) {
            // Nothing has been refused since the last warning.
            self.check_at = Some(now + FORGOTTEN_AFTER);
        } else if self.pace.is_next(now) {
            let partitions = self.partitions.len();
            self.warned = Some((partitions, now));
            notices.push(Notice::Refused { example: self.example.clone(), partitions, lasted });
            self.schedule(self.pace.next());
        } else {
            self.schedule(self.pace.next());
        }
    }
}

/// The partitions that are refused, by reason.
#[derive(Debug, Default)]
pub(super) struct RefusedWrites(Vec<Condition>);

impl RefusedWrites {
    /// Records that a leader has refused a batch.
    pub(super) fn refused(&mut self, refused: RefusedPartition, now: Instant) {
        let Some(refusal) = Refusal::of(refused.code) else { return };
        match self.0.iter_mut().find(|condition| condition.refusal == refusal) {
            Some(condition) => condition.refused(refused, now),
            None => {
                let mut condition = Condition::new(refusal, refused.clone(), now);
                condition.refused(refused, now);
                self.0.push(condition);
            }
        }
    }

    /// Records that a leader has accepted a batch. Returns the conditions that end with that.
    pub(super) fn written(&mut self, partition: &TopicPartition, now: Instant) -> Vec<Notice> {
        self.0.iter_mut().filter_map(|condition| condition.written(partition, now)).collect()
    }

    /// What is due.
    pub(super) fn poll(&mut self, now: Instant) -> Vec<Notice> {
        let mut notices = Vec::new();
        self.0.iter_mut().for_each(|condition| condition.poll(now, &mut notices));
        notices
    }

    /// When to poll again.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.0.iter().flat_map(|condition| [condition.refresh_at, condition.check_at]).flatten().min()
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test may fail")]
mod tests;
