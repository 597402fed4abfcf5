//! Where to read: committed offsets, `auto.offset.reset`, and whether the log was cut (KIP-320).
//!
//! Invariants: a look-up counts only for partitions that are as they were when it began, so that a
//! slow one never undoes a seek. A failure of the network never resets a position. A log that was
//! cut below the position is told to the application, or reset as the policy says; nothing is
//! skipped silently.

pub(crate) mod committed_lookups;
mod leader_lookups;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use crate::cluster::IfMissing;
use crate::config::AutoOffsetReset;
use crate::consumer::partition_state::{Phase, Slot, Standing};
use crate::consumer::positions::committed_lookups::Stored;
use crate::consumer::state::Shared;
use crate::error::{Error, Kind, Result};
use crate::metadata::Snapshot;
use crate::requests::EpochEnd;
use crate::requests::{ListedOffset, OffsetSpec};
use crate::topic_partition::TopicPartition;

/// A partition, and its version when the look-up began.
pub(crate) type Subject = (TopicPartition, u64);

type Specs = Vec<(Subject, OffsetSpec)>;

/// Something to look up; what leaders are asked for, of one of them, or of nobody if there is none.
pub(crate) enum LookUp {
    Committed(Vec<Subject>),
    Topic(Arc<str>, Vec<Subject>),
    Offsets(Option<i32>, Specs),
    Epochs(Option<i32>, Vec<(Subject, Standing, i32)>),
}

/// What was found.
pub(crate) enum Found {
    Committed(Vec<Subject>, Result<Stored>),
    Topic(Vec<Subject>, Result<()>),
    Offsets(Specs, Result<HashMap<TopicPartition, ListedOffset>>),
    Epochs(Vec<(Subject, Standing, i32)>, Result<HashMap<TopicPartition, EpochEnd>>),
}

/// The look-ups to begin now.
pub(crate) fn wanted(shared: &Shared, snapshot: &Snapshot, now: Instant) -> Vec<LookUp> {
    let mut committed = Vec::new();
    // One topic or leader that cannot be asked does not hold up the others.
    let mut topics: BTreeMap<Arc<str>, Vec<Subject>> = BTreeMap::new();
    let mut epochs: BTreeMap<Option<i32>, Vec<(Subject, Standing, i32)>> = BTreeMap::new();
    // Nor does what not every broker can be asked for.
    let mut offsets: BTreeMap<(Option<i32>, bool), Specs> = BTreeMap::new();
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
        let leader = || snapshot.leader(&partition.0, partition.1).map(|leader| leader.id);
        match slot.phase {
            Phase::Committed => committed.push(subject()),
            Phase::LookUp(_) if snapshot.topic(&partition.0).is_none() => {
                topics.entry(Arc::clone(&partition.0)).or_default().push(subject());
            }
            Phase::LookUp(spec) => {
                let of = (leader(), spec == OffsetSpec::MaxTimestamp);
                offsets.entry(of).or_default().push((subject(), spec));
            }
            Phase::Validate => {
                let Some(known) = snapshot.partition(&partition.0, partition.1) else { continue };
                let epoch = known.leader_epoch;
                epochs.entry(leader()).or_default().push((subject(), slot.fetched, epoch));
            }
            Phase::Policy | Phase::Fetch | Phase::OutOfRange | Phase::Stuck => continue,
        }
        slot.busy = true;
    }
    for (partition, error) in stuck {
        assignment.fail(&partition, error);
        shared.ready.notify_waiters();
    }
    let topics = topics.into_iter().map(|(topic, subjects)| LookUp::Topic(topic, subjects));
    let offsets = offsets.into_iter().map(|((leader, _), subjects)| LookUp::Offsets(leader, subjects));
    let epochs = epochs.into_iter().map(|(leader, subjects)| LookUp::Epochs(leader, subjects));
    let mut wanted: Vec<LookUp> = topics.chain(offsets).chain(epochs).collect();
    if !committed.is_empty() {
        wanted.push(LookUp::Committed(committed));
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
pub(crate) fn spec(policy: AutoOffsetReset) -> Option<OffsetSpec> {
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
        return Error::from_code(ErrorCode::OffsetOutOfRange).with_message(words).as_kind(Kind::Offset);
    }
    let words = "no offset is committed, and auto.offset.reset is none: seek to where to begin";
    Error::new(Kind::Offset, words)
}

impl LookUp {
    /// What was found, in parts of which each counts whatever became of the others.
    pub(crate) async fn run(self, shared: &Shared) -> Vec<Found> {
        let client = &shared.client;
        let timeout = client.config().default_api_timeout;
        match self {
            Self::Committed(subjects) => {
                let partitions: Vec<_> = subjects.iter().map(|(partition, _)| partition.clone()).collect();
                vec![Found::Committed(subjects, committed_lookups::ask(shared, partitions, timeout).await)]
            }
            Self::Topic(topic, subjects) => {
                let known = client.topics(&[topic], IfMissing::Fail, timeout).await;
                vec![Found::Topic(subjects, known.map(drop))]
            }
            Self::Offsets(leader, subjects) => leader_lookups::offsets(shared, leader, subjects).await,
            Self::Epochs(leader, subjects) => leader_lookups::epochs(shared, leader, subjects).await,
        }
    }
}

impl Found {
    /// Takes in what was found. Says whether the metadata is in doubt.
    pub(crate) fn apply(self, shared: &Shared) -> bool {
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
            // Now its leaders are known.
            Self::Topic(subjects, Ok(())) => {
                let mut assignment = shared.assignment.lock();
                for (partition, version) in subjects {
                    if let Some(slot) = assignment.current(&partition, version) {
                        slot.busy = false;
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
                        leader_lookups::validate(shared, &subject, standing, epoch, end);
                    }
                }
            }
            Self::Committed(subjects, Err(error)) | Self::Topic(subjects, Err(error)) => {
                return failed(shared, subjects, &error);
            }
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
    slot.busy = false;
    match standing {
        Some(standing) => {
            slot.succeeded();
            slot.stand_at(standing);
            slot.phase = Phase::Fetch;
        }
        // Even the end of the log is unknown to its leader.
        None if slot.phase == otherwise => shared.rest(slot, Instant::now()),
        None => slot.phase = otherwise,
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
        let since = slot.failing_since.unwrap_or(now);
        shared.record_failure(&mut assignment, &partition, since, error.clone());
        if !committed_lookups::is_transient(shared, error) {
            assignment.fail(&partition, error.clone());
        }
    }
    drop(assignment);
    shared.ready.notify_waiters();
    true
}
