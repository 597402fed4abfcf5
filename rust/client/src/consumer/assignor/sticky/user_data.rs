//! The user data of the sticky assignors, in Java's formats, which have no version.
//!
//! - `sticky`: topics and partitions; since Kafka 2.3 followed by their generation.
//! - `cooperative-sticky`: the generation.
//!
//! A member with malformed user data counts as new.

use bytes::Bytes;
use ottla_protocol::wire::{Reader, Result, Writer};

use crate::consumer::assignor::protocol::{by_topic, partitions};
use crate::topic_partition::TopicPartition;

/// Encodes the previous assignment; `None` if it exceeds the format's limits, which no broker accepts
/// either.
pub(super) fn encode_previous(previous: &[TopicPartition], generation: i32) -> Option<Bytes> {
    let mut w = Writer::new();
    let topics = by_topic(previous);
    w.count(Some(topics.len()), false).ok()?;
    for (topic, partitions) in topics {
        w.string(Some(topic), false).ok()?;
        w.count(Some(partitions.len()), false).ok()?;
        for partition in partitions {
            w.i32(partition);
        }
    }
    w.i32(generation);
    Some(w.finish().to_bytes())
}

/// Decodes the previous partitions and their generation, if it is present.
pub(super) fn decode_previous(bytes: Bytes) -> Option<(Vec<TopicPartition>, Option<i32>)> {
    let mut r = Reader::new(bytes);
    let previous = read_previous(&mut r).ok()?;
    Some((previous, r.i32().ok()))
}

fn read_previous(r: &mut Reader) -> Result<Vec<TopicPartition>> {
    let mut previous = Vec::new();
    for _ in 0..r.count(false, size_of::<TopicPartition>())?.unwrap_or_default() {
        let topic = r.string(false)?.unwrap_or_default();
        let count = r.count(false, size_of::<i32>())?.unwrap_or_default();
        let mut indexes = Vec::with_capacity(count);
        for _ in 0..count {
            indexes.push(r.i32()?);
        }
        previous.extend(partitions(topic, indexes));
    }
    Ok(previous)
}

pub(super) fn encode_generation(generation: i32) -> Bytes {
    Bytes::copy_from_slice(&generation.to_be_bytes())
}

pub(super) fn decode_generation(bytes: Bytes) -> Option<i32> {
    Reader::new(bytes).i32().ok()
}
