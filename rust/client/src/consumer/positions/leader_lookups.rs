//! Lookups at partition leaders: one request to one leader, without retries.
//!
//! Invariant: a partition that fails does not delay the others. Each result is applied at once, and each
//! failed partition is retried after its own backoff.

use std::collections::HashMap;

use crate::consumer::partition_state::{FetchPosition, FetchState};
use crate::consumer::positions::{LookupResult, VersionedPartition, reset_spec};
use crate::consumer::state::ConsumerState;
use crate::error::{Error, Kind, Result};
use crate::metadata::no_leader::no_leader;
use crate::requests::EpochEnd;
use crate::requests::OffsetSpec;
use crate::requests::PartitionResults;
use crate::topic_partition::TopicPartition;

/// Looks up offsets at a leader.
pub(crate) async fn offsets(
    shared: &ConsumerState,
    leader: Option<i32>,
    partitions: Vec<(VersionedPartition, OffsetSpec)>,
) -> Vec<LookupResult> {
    let response = match leader {
        Some(leader) => {
            let part = partitions.iter().map(|((partition, _), spec)| (partition.clone(), *spec)).collect();
            let (client, committed) = (&shared.client, shared.read_committed());
            let snapshot = client.snapshot();
            client.list_offsets_on(leader, &part, committed, &snapshot).await
        }
        None => Ok(Vec::new()),
    };
    group_results(shared, partitions, |(versioned, _)| &versioned.0, response, LookupResult::Offsets)
}

/// Looks up the end offsets of leader epochs at a leader.
pub(crate) async fn epochs(
    shared: &ConsumerState,
    leader: Option<i32>,
    partitions: Vec<(VersionedPartition, FetchPosition, i32)>,
) -> Vec<LookupResult> {
    let response = match leader {
        Some(leader) => {
            let wanted = partitions.iter();
            let part = wanted.map(|((partition, _), at, _)| (partition.clone(), at.epoch)).collect();
            shared.client.epoch_ends_on(leader, &part, &shared.client.snapshot()).await
        }
        None => Ok(Vec::new()),
    };
    group_results(shared, partitions, |(versioned, ..)| &versioned.0, response, LookupResult::Epochs)
}

/// Compares a position with the end offset of its leader epoch: if the epoch ends below it, the log was
/// truncated.
pub(crate) fn validate(
    shared: &ConsumerState,
    versioned: &VersionedPartition,
    position: FetchPosition,
    epoch: i32,
    end: &EpochEnd,
) {
    let mut subscriptions = shared.subscriptions.lock();
    let Some(state) = subscriptions.current(&versioned.0, versioned.1) else { return };
    if state.fetch_state != FetchState::AwaitValidation {
        return;
    }
    state.in_flight = false;
    shared.record_success(state, &versioned.0);
    if end.end_offset >= position.offset && end.leader_epoch >= 0 {
        (state.fetch_state, state.validated_epoch) = (FetchState::Fetching, epoch);
        return;
    }
    let end_of_epoch = FetchPosition { offset: end.end_offset.max(0), epoch: end.leader_epoch };
    let known = end.end_offset >= 0 && end.leader_epoch >= 0;
    let position = state.position;
    let (topic, partition) = &versioned.0;
    tracing::warn!(target: "ottla.fetch", %topic, partition, offset = position.offset, end = end.end_offset, "the log was truncated");
    let reset = reset_spec(shared.client.config().auto_offset_reset);
    let (fetch_state, at, error) = match reset {
        // Only undelivered records are gone: fetch what is there now.
        _ if known && end_of_epoch.offset >= position.offset => (FetchState::Fetching, position, None),
        Some(_) if known => (FetchState::Fetching, end_of_epoch, None),
        Some(spec) => (FetchState::AwaitOffset(spec), position, None),
        None => {
            let message = format!(
                "a new leader truncated the log at offset {}, below the position {}, and auto.offset.reset is none: seek to an offset to continue",
                end.end_offset, position.offset
            );
            (FetchState::AwaitSeek, position, Some(Error::new(Kind::DataLoss, message)))
        }
    };
    subscriptions.reposition(&versioned.0, fetch_state, at);
    if let Some(state) = subscriptions.state(&versioned.0) {
        state.validated_epoch = epoch;
    }
    if let Some(error) = error {
        subscriptions.fail(&versioned.0, error);
    }
}

/// Separates the partitions that were looked up from the failed ones, each with its own error.
fn group_results<S, F>(
    shared: &ConsumerState,
    partitions: Vec<S>,
    partition_of: impl Fn(&S) -> &TopicPartition,
    response: Result<PartitionResults<F>>,
    found: impl Fn(Vec<S>, Result<HashMap<TopicPartition, F>>) -> LookupResult,
) -> Vec<LookupResult> {
    let responses = match response {
        Ok(responses) => responses,
        Err(error) => return vec![found(partitions, Err(error))],
    };
    let mut received = HashMap::new();
    let mut rejected = HashMap::new();
    for (partition, result) in responses {
        match result {
            Ok(data) => drop(received.insert(partition, data)),
            Err(error) => drop(rejected.insert(partition, error)),
        }
    }
    let is_received = |versioned: &S| received.contains_key(partition_of(versioned));
    let (answered, missing): (Vec<S>, Vec<S>) = partitions.into_iter().partition(is_received);
    let snapshot = shared.client.snapshot();
    let mut all = Vec::new();
    for versioned in missing {
        let (topic, partition) = partition_of(&versioned);
        let error = match rejected.get(partition_of(&versioned)) {
            Some(error) => error.clone().at(topic, *partition),
            None => no_leader(&snapshot, topic, *partition),
        };
        all.push(found(vec![versioned], Err(error)));
    }
    if !answered.is_empty() {
        all.push(found(answered, Ok(received)));
    }
    all
}
