//! Inputs shared by the benchmark scenarios.
#![allow(clippy::unwrap_used, reason = "a failure ends the run")]

mod random_array;

use bytes::Bytes;
use ottla_protocol::messages::metadata::{
    MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use ottla_protocol::records::{BatchBuilder, Compression, Compressor, ProducerState, rewrite};
use ottla_protocol::wire::Uuid;

pub use random_array::random_array;

/// The sizes of a record's value, in bytes.
pub const SIZES: [usize; 2] = [100, 1000];

/// The key of records that have one.
pub const KEY: &[u8] = b"some-key";

/// `total` bytes of values that resemble log lines and compress about as well.
#[must_use]
pub fn values(size: usize, total: usize) -> Vec<Vec<u8>> {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let line = |row: usize| {
        let mut line = Vec::with_capacity(size + 100);
        while line.len() < size {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let (user, code) = (seed % 100_000, 200 + seed % 5);
            line.extend_from_slice(
                format!(
                    "{{\"n\":{row},\"user\":\"u{user}\",\"path\":\"/orders/{seed:x}\",\"code\":{code}}} "
                )
                .as_bytes(),
            );
        }
        line.truncate(size);
        line
    };
    (0..total / size).map(line).collect()
}

/// A partition's records in a Fetch response, in batches of 64 KiB before compression, and their number.
#[must_use]
pub fn fetched(codec: Compression, key: Option<&[u8]>, size: usize, total: usize) -> (Bytes, u64) {
    let values = values(size, total);
    let mut compressor = Compressor::new(codec).unwrap();
    let mut builder = BatchBuilder::new(64 << 10);
    let (mut blob, mut base) = (Vec::new(), 0);
    for (row, value) in values.iter().enumerate() {
        builder.append(1_700_000_000_000 + row as i64, key, Some(value), &[]).unwrap();
        if builder.size_in_bytes() > (64 << 10) - size || row + 1 == values.len() {
            let count = builder.len() as i64;
            let batch = builder.finish(&ProducerState::default(), &mut compressor).unwrap();
            blob.extend_from_slice(&rewrite::assign_base_offset(batch, base, 0).unwrap());
            base += count;
        }
    }
    (blob.into(), values.len() as u64)
}

/// A Metadata response with three brokers and `topics` topics of `partitions` partitions.
#[must_use]
pub fn metadata(topics: i32, partitions: i32) -> MetadataResponse {
    let broker = |node_id: i32| MetadataResponseBroker {
        node_id,
        host: format!("broker-{node_id}"),
        port: 9092,
        rack: Some(format!("rack-{node_id}")),
    };
    let partition = |index: i32| MetadataResponsePartition {
        partition_index: index,
        leader_id: index % 3,
        leader_epoch: 5,
        replica_nodes: vec![0, 1, 2],
        isr_nodes: vec![0, 1, 2],
        ..Default::default()
    };
    let topic = |number: i32| {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&(number + 1).to_be_bytes());
        MetadataResponseTopic {
            name: Some(format!("topic-{number:04}")),
            topic_id: Uuid(id),
            partitions: (0..partitions).map(partition).collect(),
            ..Default::default()
        }
    };
    MetadataResponse {
        brokers: (0..3).map(broker).collect(),
        cluster_id: Some("bench".to_owned()),
        controller_id: 0,
        topics: (0..topics).map(topic).collect(),
        ..Default::default()
    }
}
