//! The results of a commit: what is recorded, reported and dropped.
//!
//! Invariants: one rejected partition fails a commit that the application requested, and the error names all
//! rejected ones. An automatic commit drops the offsets of topics that are gone, with one warning: nothing can
//! read those topics again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use super::ownership::CommitOwnership;
use crate::consumer::state::ConsumerState;
use crate::error::{Error, Result};
use crate::group_offsets::{self, CommitResults, CommittedOffset};
use crate::topic_partition::TopicPartition;

/// Who requested a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitSource {
    /// The consumer, by `enable.auto.commit`.
    Automatic,
    Application,
}

/// Records the committed offsets. One rejected partition fails the whole commit.
pub(super) fn record_results(
    shared: &ConsumerState,
    ownership: &CommitOwnership,
    source: CommitSource,
    mut offsets: HashMap<TopicPartition, CommittedOffset>,
    results: CommitResults,
) -> Result<()> {
    let (mut failed, mut gone) = (BTreeMap::new(), BTreeMap::new());
    for (partition, result) in results {
        match (result, offsets.get(&partition)) {
            (Ok(()), Some(committed)) => ownership.record_committed(shared, &partition, committed.offset),
            (Ok(()), None) => {}
            (Err(error), Some(committed))
                if source == CommitSource::Automatic && group_offsets::is_gone(&error) =>
            {
                // It is not sent again until the position moves.
                if ownership.record_dropped(shared, &partition, committed.offset) {
                    gone.insert(partition.clone(), error);
                }
                offsets.remove(&partition);
            }
            (Err(error), _) => drop(failed.insert(partition, error)),
        }
    }
    if let Some((_, error)) = gone.first_key_value() {
        tracing::warn!(target: "ottla.group", %error, "offsets of topics that do not exist any more are dropped: {}", list(gone.keys()));
    }
    let several = failed.len() > 1;
    if let Some(error) = failed.first_key_value().map(|(_, error)| error.clone()) {
        return Err(if several { with_all(error, &failed) } else { error });
    }
    if !offsets.is_empty() {
        shared.report_commit(&offsets);
    }
    Ok(())
}

/// Names all partitions whose offsets were rejected.
fn with_all(error: Error, failed: &BTreeMap<TopicPartition, Error>) -> Error {
    error.prefixed(format_args!("offsets of these partitions were not committed: {}", list(failed.keys())))
}

/// The partitions by topic, such as `a (0, 1), b (0)`.
fn list<'a>(partitions: impl Iterator<Item = &'a TopicPartition>) -> String {
    let mut topics: BTreeMap<&str, BTreeSet<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(topic).or_default().insert(*partition);
    }
    let mut text = String::new();
    for (topic, partitions) in topics {
        let numbers: Vec<String> = partitions.iter().map(ToString::to_string).collect();
        let separator = if text.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}{topic} ({})", numbers.join(", "));
    }
    text
}
