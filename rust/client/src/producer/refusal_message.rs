//! The message about a refused write, for the application and the log: the cause, the brokers concerned and the
//! remedy, from the metadata.
//!
//! Invariant: a number that the metadata does not confirm is left out.

use ottla_protocol::{ApiKey, ErrorCode};
use tokio::time::Duration;

use super::refused_writes::{Notice, RefusedPartition};
use crate::error::Error;
use crate::first_names::first_names;
use crate::metadata::Snapshot;
use crate::printable::printable;
use crate::retry::recovery_line;
use crate::topic_partition::TopicPartition;

/// The error of a partition in a Produce response, with the broker's own message if it has one.
pub(super) fn refusal(
    snapshot: &Snapshot,
    partition: &TopicPartition,
    (code, message): (ErrorCode, Option<&str>),
    broker: i32,
) -> Error {
    let error = Error::from_code(code).lacking(ApiKey::Produce, &partition.0).broker(broker);
    // A broker that adds a message means something else than its replicas, such as a transaction that it
    // could not verify.
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        return error.prefixed(printable(message));
    }
    match explained(snapshot, partition, code, broker) {
        Some(text) => error.with_message(format!("{} ({}): {text}", code.name(), code.code())),
        None => error,
    }
}

/// Logs a notice about refused writes.
pub(super) fn log(notice: &Notice, snapshot: &Snapshot, delivery_timeout: Duration) {
    match notice {
        Notice::Refresh => {}
        Notice::Refused { example, partitions, lasted } => {
            let RefusedPartition { partition, code, broker } = example;
            let error = refusal(snapshot, partition, (*code, None), *broker).at(&partition.0, partition.1);
            let (which, seconds) = (which(partition, *partitions), lasted.as_secs_f64());
            let timeout = delivery_timeout.as_millis();
            tracing::warn!(
                target: "ottla.client", %error,
                "writing to {which} has been refused for {seconds:.0} s; records wait for delivery.timeout.ms ({timeout} ms), then fail"
            );
        }
        Notice::Accepted { example, partitions, lasted } => {
            let which = which(&example.partition, *partitions);
            let line = recovery_line(*lasted, format_args!("writing to {}", which.trim_end_matches(',')));
            tracing::info!(target: "ottla.client", "{line}");
        }
    }
}

fn which((topic, partition): &TopicPartition, count: usize) -> String {
    match count {
        0 | 1 => format!("{topic}-{partition}"),
        _ => format!("{count} partitions, such as {topic}-{partition},"),
    }
}

/// The meaning of an error code in a Produce response for this partition; `None` for the code's own message.
fn explained(
    snapshot: &Snapshot,
    partition: &TopicPartition,
    code: ErrorCode,
    broker: i32,
) -> Option<String> {
    match code {
        ErrorCode::NotEnoughReplicas => Some(too_few_replicas(snapshot, partition)),
        ErrorCode::NotEnoughReplicasAfterAppend => {
            Some(format!("written to the leader only: {}", too_few_replicas(snapshot, partition)))
        }
        ErrorCode::KafkaStorageError => Some(format!(
            "a log directory of broker {broker} is offline: its disk failed, is full or is read-only, as the broker's log says. Repair it and restart the broker; a partition with another in-sync replica moves there by itself"
        )),
        ErrorCode::RequestTimedOut => Some(format!(
            "the in-sync replicas{} did not confirm the records within request.timeout.ms: one of them is down, or slow",
            in_sync(snapshot, partition).map(|names| format!(" ({names})")).unwrap_or_default()
        )),
        _ => None,
    }
}

fn in_sync(snapshot: &Snapshot, (topic, partition): &TopicPartition) -> Option<String> {
    let topic = snapshot.topic(topic)?;
    let isr = topic.isr(topic.partition(*partition)?);
    (!isr.is_empty()).then(|| first_names(isr.iter().map(|id| format!("broker {id}"))))
}

/// Why fewer replicas are in sync than `min.insync.replicas`, and what to do.
fn too_few_replicas(snapshot: &Snapshot, (topic, partition): &TopicPartition) -> String {
    const UNKNOWN: &str = "fewer replicas are in sync than the topic's min.insync.replicas. Bring the brokers of the missing replicas back, or lower min.insync.replicas";
    let known = snapshot.topic(topic).and_then(|topic| Some((topic, topic.partition(*partition)?)));
    let Some((topic, partition)) = known else { return UNKNOWN.to_owned() };
    let (replicas, isr, offline) =
        (topic.replicas(partition), topic.isr(partition), topic.offline(partition));
    let mut missing: Vec<i32> = replicas.iter().copied().filter(|id| !isr.contains(id)).collect();
    missing.sort_unstable();
    let count = replicas.len();
    match (count, missing.len()) {
        (0, _) => UNKNOWN.to_owned(),
        (1, 0) => "it has one replica, and the topic's min.insync.replicas is higher. Lower min.insync.replicas, or add replicas".to_owned(),
        (_, 0) => format!(
            "fewer replicas are in sync than the topic's min.insync.replicas, although all {count} were when the metadata was last read: a replica has just been lost, or min.insync.replicas is higher than {count}. Check the brokers, or lower min.insync.replicas"
        ),
        (_, lost) => {
            let state = |id: &i32| if offline.contains(id) { "offline" } else { "not in sync" };
            let states = first_names(missing.iter().map(|id| format!("broker {id} {}", state(id))));
            let them = if lost == 1 { "it" } else { "them" };
            let (in_sync, verb) = (count - lost, if count - lost == 1 { "is" } else { "are" });
            format!(
                "{in_sync} of {count} replicas {verb} in sync, fewer than the topic's min.insync.replicas ({states}). Bring {them} back, or lower min.insync.replicas"
            )
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test may fail")]
mod tests;
