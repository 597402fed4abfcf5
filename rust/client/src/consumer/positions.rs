//! Where to read: committed offsets, `auto.offset.reset`, and whether the log was cut (KIP-320).
//!
//! Invariants: a look-up counts only for partitions that are as they were when it began, so that a
//! slow one never undoes a seek. A failure of the network never resets a position. A log that was
//! cut below the position is told to the application, or reset as the policy says; nothing is
//! skipped silently.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use super::offsets::{self, Committed};
use super::shared::Shared;
use super::slot::{Phase, Slot, Standing};
use crate::config::AutoOffsetReset;
use crate::error::{Error, Kind, Result};
use crate::list_offsets::{ListedOffset, OffsetSpec, TopicPartition};
use crate::metadata::Snapshot;
use crate::offset_for_leader_epoch::EpochEnd;

/// A partition, and its version when the look-up began.
type Subject = (TopicPartition, u64);

/// Something to look up.
pub(super) enum LookUp {
    Committed(Vec<Subject>),
    Offsets(Vec<(Subject, OffsetSpec)>),
    Epochs(Vec<(Subject, Standing, i32)>),
}

/// What was found.
pub(super) enum Found {
    Committed(Vec<Subject>, Result<HashMap<TopicPartition, Option<Committed>>>),
    Offsets(Vec<(Subject, OffsetSpec)>, Result<HashMap<TopicPartition, ListedOffset>>),
    Epochs(Vec<(Subject, Standing, i32)>, Result<HashMap<TopicPartition, EpochEnd>>),
}

/// The look-ups to begin now.
pub(super) fn wanted(shared: &Shared, snapshot: &Snapshot, now: Instant) -> Vec<LookUp> {
    let mut committed = Vec::new();
    let mut epochs = Vec::new();
    // One topic that cannot be looked up does not hold up the others.
    let mut offsets: BTreeMap<Arc<str>, Vec<(Subject, OffsetSpec)>> = BTreeMap::new();
    let mut stuck = Vec::new();
    let policy = shared.client.config().auto_offset_reset;
    let mut assignment = shared.assignment.lock();
    for (partition, slot) in assignment.slots() {
        if !slot.is_due(now) {
            continue;
        }
        if matches!(slot.phase, Phase::Fetch) {
            check_topic(slot, snapshot, partition);
        }
        if matches!(slot.phase, Phase::Fetch) {
            check_epoch(slot, snapshot, partition);
        }
        if matches!(slot.phase, Phase::OutOfRange) && !slot.is_handed_out() {
            continue;
        }
        if matches!(slot.phase, Phase::Policy | Phase::OutOfRange) {
            match spec(policy) {
                Some(spec) => {
                    if slot.phase == Phase::OutOfRange {
                        let offset = slot.position.offset;
                        tracing::warn!(target: "ottla.fetch", topic = %partition.0, partition = partition.1, offset, ?policy, "the position is not in the log: reset");
                    }
                    slot.phase = Phase::LookUp(spec);
                }
                None => {
                    stuck.push((partition.clone(), no_position(slot)));
                    slot.phase = Phase::Stuck;
                }
            }
        }
        // Most of the time that is all: nothing is copied for who is fetched.
        let subject = || (partition.clone(), slot.version);
        match slot.phase {
            Phase::Committed => committed.push(subject()),
            Phase::LookUp(spec) => {
                offsets.entry(Arc::clone(&partition.0)).or_default().push((subject(), spec));
            }
            Phase::Validate => {
                let Some(known) = snapshot.partition(&partition.0, partition.1) else { continue };
                epochs.push((subject(), slot.fetched, known.leader_epoch));
            }
            Phase::Policy | Phase::Fetch | Phase::OutOfRange | Phase::Stuck => continue,
        }
        slot.busy = true;
    }
    for (partition, error) in stuck {
        assignment.fail(&partition, error);
        shared.ready.notify_waiters();
    }
    let mut wanted: Vec<LookUp> = offsets.into_values().map(LookUp::Offsets).collect();
    if !committed.is_empty() {
        wanted.push(LookUp::Committed(committed));
    }
    if !epochs.is_empty() {
        wanted.push(LookUp::Epochs(epochs));
    }
    wanted
}

/// A topic that was deleted and made again is another one, in which the position means nothing:
/// where it happens to lie in the new log, reading on would skip what is before it.
fn check_topic(slot: &mut Slot, snapshot: &Snapshot, partition: &TopicPartition) {
    let Some(topic) = snapshot.topic(&partition.0).filter(|topic| !topic.id.is_zero()) else { return };
    if slot.topic_id.is_zero() {
        slot.topic_id = topic.id;
    } else if slot.topic_id != topic.id {
        slot.phase = Phase::OutOfRange;
    }
}

/// A new leader may have another log: a position is fetched from it only once that is known.
fn check_epoch(slot: &mut Slot, snapshot: &Snapshot, partition: &TopicPartition) {
    let Some(known) = snapshot.partition(&partition.0, partition.1) else { return };
    if known.leader_epoch > slot.validated {
        if slot.fetched.epoch >= 0 {
            slot.phase = Phase::Validate;
        } else {
            slot.validated = known.leader_epoch;
        }
    }
}

/// The offset that a policy stands for; `None` if the application is to say.
fn spec(policy: AutoOffsetReset) -> Option<OffsetSpec> {
    match policy {
        AutoOffsetReset::Earliest => Some(OffsetSpec::Earliest),
        AutoOffsetReset::Latest => Some(OffsetSpec::Latest),
        AutoOffsetReset::ByDuration(ago) => {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let millis = since.saturating_sub(ago).as_millis();
            Some(OffsetSpec::Timestamp(i64::try_from(millis).unwrap_or(i64::MAX)))
        }
        AutoOffsetReset::None => None,
    }
}

fn no_position(slot: &Slot) -> Error {
    if slot.phase == Phase::OutOfRange {
        let words = format!(
            "the position {} is not in the log, and auto.offset.reset is none: seek to where to go on",
            slot.position.offset
        );
        return Error::from_code(ErrorCode::OffsetOutOfRange).saying(words).as_kind(Kind::Offset);
    }
    let words = "no offset is committed, and auto.offset.reset is none: seek to where to begin";
    Error::new(Kind::Offset, words)
}

impl LookUp {
    pub(super) async fn run(self, shared: &Shared) -> Found {
        let client = &shared.client;
        let timeout = client.config().default_api_timeout;
        match self {
            Self::Committed(subjects) => {
                let partitions: Vec<_> = subjects.iter().map(|(partition, _)| partition.clone()).collect();
                let found = match shared.member() {
                    Some(member) => {
                        let stable = shared.read_committed();
                        offsets::committed(client, &member, Some(partitions), stable, timeout).await
                    }
                    None => Ok(HashMap::new()),
                };
                Found::Committed(subjects, found)
            }
            Self::Offsets(subjects) => {
                let wanted: Vec<_> =
                    subjects.iter().map(|((partition, _), spec)| (partition.clone(), *spec)).collect();
                let found = client.list_offsets(wanted, shared.read_committed(), timeout).await;
                Found::Offsets(subjects, found)
            }
            Self::Epochs(subjects) => {
                let wanted: Vec<_> = subjects
                    .iter()
                    .map(|((partition, _), standing, _)| (partition.clone(), standing.epoch))
                    .collect();
                let found = client.offset_for_leader_epoch(wanted, timeout).await;
                Found::Epochs(subjects, found)
            }
        }
    }
}

impl Found {
    /// Takes in what was found. Says whether the metadata is in doubt.
    pub(super) fn apply(self, shared: &Shared) -> bool {
        match self {
            Self::Committed(subjects, Ok(mut found)) => {
                for (partition, version) in subjects {
                    let standing = found.remove(&partition).flatten().map(|committed| Standing {
                        offset: committed.offset,
                        epoch: committed.leader_epoch.unwrap_or(-1),
                    });
                    let subject = (partition, version);
                    place(shared, &subject, standing, Phase::Policy);
                    if let Some(slot) = shared.assignment.lock().current(&subject.0, subject.1) {
                        slot.committed = slot.position.offset;
                    }
                }
            }
            Self::Offsets(subjects, Ok(found)) => {
                for (subject, _) in subjects {
                    let listed = found.get(&subject.0).filter(|listed| listed.offset >= 0);
                    let standing =
                        listed.map(|listed| Standing { offset: listed.offset, epoch: listed.leader_epoch });
                    // No record is as young as that: on from the end.
                    place(shared, &subject, standing, Phase::LookUp(OffsetSpec::Latest));
                }
            }
            Self::Epochs(subjects, Ok(found)) => {
                for (subject, standing, epoch) in subjects {
                    if let Some(end) = found.get(&subject.0) {
                        validate(shared, &subject, standing, epoch, end);
                    }
                }
            }
            Self::Committed(subjects, Err(error)) => return failed(shared, subjects, &error),
            Self::Offsets(subjects, Err(error)) => {
                return failed(shared, subjects.into_iter().map(|(subject, _)| subject), &error);
            }
            Self::Epochs(subjects, Err(error)) => {
                return failed(shared, subjects.into_iter().map(|(subject, ..)| subject), &error);
            }
        }
        shared.ready.notify_waiters();
        false
    }
}

/// Sets a position that was looked up; without one, what to try next.
fn place(shared: &Shared, subject: &Subject, standing: Option<Standing>, otherwise: Phase) {
    let mut assignment = shared.assignment.lock();
    let Some(slot) = assignment.current(&subject.0, subject.1) else { return };
    (slot.busy, slot.failures) = (false, 0);
    match standing {
        Some(standing) => {
            slot.stand_at(standing);
            slot.phase = Phase::Fetch;
        }
        None => slot.phase = otherwise,
    }
}

/// What the leader said of the epoch of the last record: if it ends below the position, the log was
/// cut.
fn validate(shared: &Shared, subject: &Subject, standing: Standing, epoch: i32, end: &EpochEnd) {
    let mut assignment = shared.assignment.lock();
    let Some(slot) = assignment.current(&subject.0, subject.1) else { return };
    if slot.phase != Phase::Validate {
        return;
    }
    (slot.busy, slot.failures) = (false, 0);
    if end.end_offset >= standing.offset && end.leader_epoch >= 0 {
        (slot.phase, slot.validated) = (Phase::Fetch, epoch);
        return;
    }
    let cut = Standing { offset: end.end_offset.max(0), epoch: end.leader_epoch };
    let known = end.end_offset >= 0 && end.leader_epoch >= 0;
    let position = slot.position;
    let (topic, partition) = &subject.0;
    tracing::warn!(target: "ottla.fetch", %topic, partition, offset = position.offset, end = end.end_offset, "the log was cut");
    let reset = spec(shared.client.config().auto_offset_reset);
    let (phase, at, error) = match reset {
        // Only what was not handed out is gone: what is there now takes its place.
        _ if known && cut.offset >= position.offset => (Phase::Fetch, position, None),
        Some(_) if known => (Phase::Fetch, cut, None),
        Some(spec) => (Phase::LookUp(spec), position, None),
        None => {
            let words = format!(
                "the log was cut at offset {} by a new leader, below the position {}, and auto.offset.reset is none: seek to where to go on",
                end.end_offset, position.offset
            );
            (Phase::Stuck, position, Some(Error::new(Kind::DataLoss, words)))
        }
    };
    assignment.go_on(&subject.0, phase, at);
    if let Some(slot) = assignment.slot(&subject.0) {
        slot.validated = epoch;
    }
    if let Some(error) = error {
        assignment.fail(&subject.0, error);
    }
}

/// A look-up has failed: it is tried again, or told to the application.
fn failed(shared: &Shared, subjects: impl IntoIterator<Item = Subject>, error: &Error) -> bool {
    tracing::debug!(target: "ottla.fetch", %error, "a position cannot be looked up");
    let now = Instant::now();
    let mut assignment = shared.assignment.lock();
    for (partition, version) in subjects {
        let Some(slot) = assignment.current(&partition, version) else { continue };
        slot.busy = false;
        shared.rest(slot, now);
        if !error.may_pass() {
            assignment.fail(&partition, error.clone());
        }
    }
    drop(assignment);
    shared.ready.notify_waiters();
    true
}
