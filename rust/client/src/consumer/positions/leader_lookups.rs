//! Positions that leaders are asked for: one request to one of them, and nothing is tried again here.
//!
//! Invariant: a partition that has no leader, is refused, or whose leader does not answer holds up no
//! other: what was found counts at once, and each of the rest is asked for again after its own rest.

use std::collections::HashMap;

use ottla_protocol::ErrorCode;

use crate::consumer::partition_state::{Phase, Standing};
use crate::consumer::positions::{Found, Subject, spec};
use crate::consumer::state::Shared;
use crate::error::{Error, Kind, Result};
use crate::metadata::no_leader::no_leader;
use crate::requests::EpochEnd;
use crate::requests::OffsetSpec;
use crate::requests::PartitionResults;
use crate::topic_partition::TopicPartition;

/// Asks a leader for offsets.
pub(crate) async fn offsets(
    shared: &Shared,
    leader: Option<i32>,
    subjects: Vec<(Subject, OffsetSpec)>,
) -> Vec<Found> {
    let asked = match leader {
        Some(leader) => {
            let part = subjects.iter().map(|((partition, _), spec)| (partition.clone(), *spec)).collect();
            let (client, committed) = (&shared.client, shared.read_committed());
            let snapshot = client.snapshot();
            client.list_offsets_on(leader, &part, committed, &snapshot).await
        }
        None => Ok(Vec::new()),
    };
    sort(shared, subjects, |(subject, _)| &subject.0, asked, Found::Offsets)
}

/// Asks a leader where the epochs of positions end.
pub(crate) async fn epochs(
    shared: &Shared,
    leader: Option<i32>,
    subjects: Vec<(Subject, Standing, i32)>,
) -> Vec<Found> {
    let asked = match leader {
        Some(leader) => {
            let wanted = subjects.iter();
            let part = wanted.map(|((partition, _), at, _)| (partition.clone(), at.epoch)).collect();
            shared.client.epoch_ends_on(leader, &part, &shared.client.snapshot()).await
        }
        None => Ok(Vec::new()),
    };
    sort(shared, subjects, |(subject, ..)| &subject.0, asked, Found::Epochs)
}

/// What the leader said of the epoch of the last record: if it ends below the position, the log was
/// cut.
pub(crate) fn validate(shared: &Shared, subject: &Subject, standing: Standing, epoch: i32, end: &EpochEnd) {
    let mut assignment = shared.assignment.lock();
    let Some(slot) = assignment.current(&subject.0, subject.1) else { return };
    if slot.phase != Phase::Validate {
        return;
    }
    slot.busy = false;
    slot.succeeded();
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

/// Sorts what was found from what was not, for each reason of its own.
fn sort<S, F>(
    shared: &Shared,
    subjects: Vec<S>,
    partition_of: impl Fn(&S) -> &TopicPartition,
    asked: Result<PartitionResults<F>>,
    found: impl Fn(Vec<S>, Result<HashMap<TopicPartition, F>>) -> Found,
) -> Vec<Found> {
    let answers = match asked {
        Ok(answers) => answers,
        Err(error) => return vec![found(subjects, Err(error))],
    };
    let mut told = HashMap::new();
    let mut refused = HashMap::new();
    for (partition, code, answer) in answers {
        if code == ErrorCode::None {
            told.insert(partition, answer);
        } else {
            refused.insert(partition, code);
        }
    }
    let is_told = |subject: &S| told.contains_key(partition_of(subject));
    let (there, missing): (Vec<S>, Vec<S>) = subjects.into_iter().partition(is_told);
    let snapshot = shared.client.snapshot();
    let mut all = Vec::new();
    for subject in missing {
        let (topic, partition) = partition_of(&subject);
        let error = match refused.get(partition_of(&subject)) {
            Some(code) => Error::from_code(*code).at(topic, *partition),
            None => no_leader(&snapshot, topic, *partition),
        };
        all.push(found(vec![subject], Err(error)));
    }
    if !there.is_empty() {
        all.push(found(there, Ok(told)));
    }
    all
}
