//! Looks up positions: committed offsets, `auto.offset.reset`, and log truncation (KIP-320).
//!
//! Invariants: a lookup counts only for partitions whose version has not changed since it started, so a
//! slow lookup never undoes a seek. A network failure never resets a position. A truncation below the
//! position is reported to the application or reset by the policy; nothing is skipped silently.

pub(crate) mod committed_lookups;
mod leader_lookups;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ottla_protocol::ErrorCode;
use tokio::time::Instant;

use crate::cluster::IfMissing;
use crate::config::AutoOffsetReset;
use crate::consumer::partition_state::{FetchPosition, FetchState, PartitionState};
use crate::consumer::positions::committed_lookups::CommittedOffsets;
use crate::consumer::state::ConsumerState;
use crate::error::{Error, Kind, Result};
use crate::metadata::{RefreshNeed, Snapshot};
use crate::requests::EpochEnd;
use crate::requests::{ListedOffset, OffsetSpec};
use crate::topic_partition::TopicPartition;

/// A partition and its version when the lookup started.
pub(crate) type VersionedPartition = (TopicPartition, u64);

type Specs = Vec<(VersionedPartition, OffsetSpec)>;

/// A lookup. Those sent to a leader name it, or `None` if there is no leader.
pub(crate) enum PositionLookup {
    Committed(Vec<VersionedPartition>),
    Topic(Arc<str>, Vec<VersionedPartition>),
    Offsets(Option<i32>, Specs),
    Epochs(Option<i32>, Vec<(VersionedPartition, FetchPosition, i32)>),
}

/// The outcome of a lookup.
pub(crate) enum LookupResult {
    Committed(Vec<VersionedPartition>, Result<CommittedOffsets>),
    Topic(Vec<VersionedPartition>, Result<()>),
    Offsets(Specs, Result<HashMap<TopicPartition, ListedOffset>>),
    Epochs(Vec<(VersionedPartition, FetchPosition, i32)>, Result<HashMap<TopicPartition, EpochEnd>>),
}

/// Collects the lookups that are due, and marks their partitions as in flight.
pub(crate) fn due_lookups(shared: &ConsumerState, snapshot: &Snapshot, now: Instant) -> Vec<PositionLookup> {
    let mut committed = Vec::new();
    // Grouped so that an unreachable leader or topic does not delay the others.
    let mut topics: BTreeMap<Arc<str>, Vec<VersionedPartition>> = BTreeMap::new();
    let mut epochs: BTreeMap<Option<i32>, Vec<(VersionedPartition, FetchPosition, i32)>> = BTreeMap::new();
    // Nor does a timestamp that not every broker supports.
    let mut offsets: BTreeMap<(Option<i32>, bool), Specs> = BTreeMap::new();
    let mut stuck = Vec::new();
    let policy = shared.client.config().auto_offset_reset;
    let mut subscriptions = shared.subscriptions.lock();
    for (partition, state) in subscriptions.states() {
        if !state.can_request(now) {
            continue;
        }
        if matches!(state.fetch_state, FetchState::Fetching) {
            check_topic(state, snapshot, partition);
        }
        if matches!(state.fetch_state, FetchState::Fetching) {
            check_epoch(state, snapshot, partition);
        }
        if matches!(state.fetch_state, FetchState::OutOfRange) && !state.is_fully_delivered() {
            continue;
        }
        if matches!(state.fetch_state, FetchState::AwaitReset | FetchState::OutOfRange) {
            match reset_spec(policy) {
                Some(spec) => {
                    if state.fetch_state == FetchState::OutOfRange {
                        let offset = state.position.offset;
                        let cause = if is_recreated(state, snapshot, partition) {
                            "the topic was deleted and recreated"
                        } else {
                            "the position is not in the log"
                        };
                        tracing::warn!(target: "ottla.fetch", topic = %partition.0, partition = partition.1, offset, ?policy, "{cause}: resetting the position");
                    }
                    state.fetch_state = FetchState::AwaitOffset(spec);
                }
                None => {
                    stuck.push((
                        partition.clone(),
                        no_position(state, is_recreated(state, snapshot, partition)),
                    ));
                    state.fetch_state = FetchState::AwaitSeek;
                }
            }
        }
        // The common case copies nothing: partitions that only fetch.
        let versioned = || (partition.clone(), state.version);
        let leader = || snapshot.leader(&partition.0, partition.1).map(|leader| leader.id);
        match state.fetch_state {
            FetchState::AwaitCommitted => committed.push(versioned()),
            FetchState::AwaitOffset(_) if snapshot.topic(&partition.0).is_none() => {
                topics.entry(Arc::clone(&partition.0)).or_default().push(versioned());
            }
            FetchState::AwaitOffset(spec) => {
                let key = (leader(), spec == OffsetSpec::MaxTimestamp);
                offsets.entry(key).or_default().push((versioned(), spec));
            }
            FetchState::AwaitValidation => {
                let Some(known) = snapshot.partition(&partition.0, partition.1) else { continue };
                let epoch = known.leader_epoch;
                epochs.entry(leader()).or_default().push((versioned(), state.next_fetch, epoch));
            }
            FetchState::AwaitReset
            | FetchState::Fetching
            | FetchState::OutOfRange
            | FetchState::AwaitSeek => continue,
        }
        state.in_flight = true;
    }
    for (partition, error) in stuck {
        subscriptions.fail(&partition, error);
        shared.poll_wakeup.notify_waiters();
    }
    let topics = topics.into_iter().map(|(topic, partitions)| PositionLookup::Topic(topic, partitions));
    let offsets =
        offsets.into_iter().map(|((leader, _), partitions)| PositionLookup::Offsets(leader, partitions));
    let epochs = epochs.into_iter().map(|(leader, partitions)| PositionLookup::Epochs(leader, partitions));
    let mut lookups: Vec<PositionLookup> = topics.chain(offsets).chain(epochs).collect();
    if !committed.is_empty() {
        lookups.push(PositionLookup::Committed(committed));
    }
    lookups
}

/// Detects a recreated topic, in which the position is meaningless: reading from there would skip the
/// records before it.
fn check_topic(state: &mut PartitionState, snapshot: &Snapshot, partition: &TopicPartition) {
    let Some(topic) = snapshot.topic(&partition.0).filter(|topic| !topic.id.is_zero()) else { return };
    if state.topic_id.is_zero() {
        state.topic_id = topic.id;
    } else if is_recreated(state, snapshot, partition) {
        state.fetch_state = FetchState::OutOfRange;
    }
}

/// Whether the position belongs to a deleted topic of the same name.
fn is_recreated(state: &PartitionState, snapshot: &Snapshot, partition: &TopicPartition) -> bool {
    let now = snapshot.topic(&partition.0).map(|topic| topic.id).filter(|id| !id.is_zero());
    !state.topic_id.is_zero() && now.is_some_and(|now| now != state.topic_id)
}

/// Detects a new leader, whose log may differ: the position is validated before the next fetch.
fn check_epoch(state: &mut PartitionState, snapshot: &Snapshot, partition: &TopicPartition) {
    let Some(known) = snapshot.partition(&partition.0, partition.1) else { return };
    if known.leader_epoch > state.validated_epoch {
        if state.next_fetch.epoch >= 0 {
            state.fetch_state = FetchState::AwaitValidation;
        } else {
            state.validated_epoch = known.leader_epoch;
        }
    }
}

/// The offset that a policy resets to; `None` if the application must seek.
pub(crate) fn reset_spec(policy: AutoOffsetReset) -> Option<OffsetSpec> {
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

fn no_position(state: &PartitionState, is_recreated: bool) -> Error {
    if state.fetch_state == FetchState::OutOfRange {
        let position = state.position.offset;
        let cause = if is_recreated {
            format!(
                "the topic was deleted and recreated, and the position {position} belongs to the deleted one"
            )
        } else {
            format!("the position {position} is not in the log")
        };
        let message = format!("{cause}; auto.offset.reset is none: seek to an offset to continue");
        return Error::from_code(ErrorCode::OffsetOutOfRange).with_message(message).as_kind(Kind::Offset);
    }
    let message = "no offset is committed, and auto.offset.reset is none: seek to an offset to start";
    Error::new(Kind::Offset, message)
}

impl PositionLookup {
    /// Runs the lookup. The results are independent of each other.
    pub(crate) async fn run(self, shared: &ConsumerState) -> Vec<LookupResult> {
        let client = &shared.client;
        let timeout = client.config().default_api_timeout;
        match self {
            Self::Committed(partitions) => {
                let names: Vec<_> = partitions.iter().map(|(partition, _)| partition.clone()).collect();
                vec![LookupResult::Committed(
                    partitions,
                    committed_lookups::fetch_once(shared, names, timeout).await,
                )]
            }
            Self::Topic(topic, partitions) => {
                let known = client.topics(&[topic], IfMissing::Fail, timeout).await;
                vec![LookupResult::Topic(partitions, known.map(drop))]
            }
            Self::Offsets(leader, partitions) => leader_lookups::offsets(shared, leader, partitions).await,
            Self::Epochs(leader, partitions) => leader_lookups::epochs(shared, leader, partitions).await,
        }
    }
}

impl LookupResult {
    /// Applies the result. Returns what it needs of the metadata.
    pub(crate) fn apply(self, shared: &ConsumerState) -> Option<RefreshNeed> {
        match self {
            Self::Committed(partitions, Ok(mut found)) => {
                for (partition, version) in partitions {
                    let position = found.remove(&partition).flatten().map(|committed| FetchPosition {
                        offset: committed.offset,
                        epoch: committed.leader_epoch.unwrap_or(-1),
                    });
                    let versioned = (partition, version);
                    apply_position(shared, &versioned, position, FetchState::AwaitReset);
                    if let Some(state) = shared.subscriptions.lock().current(&versioned.0, versioned.1) {
                        state.auto_committed = state.position.offset;
                    }
                }
            }
            // Now the leaders are known.
            Self::Topic(partitions, Ok(())) => {
                let mut subscriptions = shared.subscriptions.lock();
                for (partition, version) in partitions {
                    if let Some(state) = subscriptions.current(&partition, version) {
                        state.in_flight = false;
                    }
                }
            }
            Self::Offsets(partitions, Ok(found)) => {
                for (versioned, _) in partitions {
                    let listed = found.get(&versioned.0).filter(|listed| listed.offset >= 0);
                    let position = listed
                        .map(|listed| FetchPosition { offset: listed.offset, epoch: listed.leader_epoch });
                    // No record has this timestamp or a later one: continue at the end.
                    apply_position(shared, &versioned, position, FetchState::AwaitOffset(OffsetSpec::Latest));
                }
            }
            Self::Epochs(partitions, Ok(found)) => {
                for (versioned, position, epoch) in partitions {
                    if let Some(end) = found.get(&versioned.0) {
                        leader_lookups::validate(shared, &versioned, position, epoch, end);
                    }
                }
            }
            Self::Committed(partitions, Err(error)) | Self::Topic(partitions, Err(error)) => {
                return failed(shared, partitions, &error);
            }
            Self::Offsets(partitions, Err(error)) => {
                return failed(shared, partitions.into_iter().map(|(versioned, _)| versioned), &error);
            }
            Self::Epochs(partitions, Err(error)) => {
                return failed(shared, partitions.into_iter().map(|(versioned, ..)| versioned), &error);
            }
        }
        shared.poll_wakeup.notify_waiters();
        None
    }
}

/// Applies a position that was looked up; without one, the partition moves to `otherwise`.
fn apply_position(
    shared: &ConsumerState,
    versioned: &VersionedPartition,
    position: Option<FetchPosition>,
    otherwise: FetchState,
) {
    let mut subscriptions = shared.subscriptions.lock();
    let Some(state) = subscriptions.current(&versioned.0, versioned.1) else { return };
    state.in_flight = false;
    match position {
        Some(position) => {
            shared.record_success(state, &versioned.0);
            state.set_position(position);
            state.fetch_state = FetchState::Fetching;
        }
        // Its leader does not even know the end of the log.
        None if state.fetch_state == otherwise => shared.back_off(state, Instant::now()),
        None => state.fetch_state = otherwise,
    }
}

/// Handles a failed lookup: it is retried or reported to the application. Returns what it needs of the
/// metadata.
fn failed(
    shared: &ConsumerState,
    partitions: impl IntoIterator<Item = VersionedPartition>,
    error: &Error,
) -> Option<RefreshNeed> {
    tracing::debug!(target: "ottla.fetch", %error, "a position lookup failed");
    let now = Instant::now();
    let snapshot = shared.client.snapshot();
    let mut need = Some(RefreshNeed::Stale(snapshot.generation));
    let mut subscriptions = shared.subscriptions.lock();
    for (partition, version) in partitions {
        if snapshot.leader(&partition.0, partition.1).is_none() {
            need = Some(RefreshNeed::Missing(snapshot.generation));
        }
        let Some(state) = subscriptions.current(&partition, version) else { continue };
        state.in_flight = false;
        shared.back_off(state, now);
        let since = state.failing_since.unwrap_or(now);
        shared.record_failure(&mut subscriptions, &partition, since, error.clone());
        if !error.is_repeated(since, now) && !committed_lookups::may_pass(shared, error) {
            subscriptions.fail(&partition, error.clone());
        }
    }
    drop(subscriptions);
    shared.poll_wakeup.notify_waiters();
    need
}
