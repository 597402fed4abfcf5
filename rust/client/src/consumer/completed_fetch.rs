//! Fetched record batches of one partition that wait for delivery.
//!
//! Invariant: a fetch holds whole batches, CRC-checked if so configured. The state of aborted transactions
//! moves with the remainder when a fetch is split. A fetch that waits for long retains at most twice its
//! size, and 1 MiB of decompressed records.

use std::ops::Range;

use bytes::Bytes;
use ottla_protocol::records::{AbortedTransactions, Batches, OpenBatch};

use crate::error::{Error, Kind};
use crate::topic_partition::TopicPartition;

/// After this many fetches of the same corrupt batch, the log itself is taken to be corrupt.
pub(super) const MAX_CORRUPT_FETCHES: u32 = 3;

/// The most decompressed bytes that a fetch of a paused partition retains: more are decompressed again.
const MAX_PAUSED: usize = 1 << 20;

/// Undecoded record batches of one partition.
#[derive(Debug)]
pub struct CompletedFetch {
    /// The partition.
    pub partition: TopicPartition,
    /// The partition's version when the fetch was sent.
    pub(super) version: u64,
    /// The batches; the first may start before `start`.
    pub records: Bytes,
    /// The bytes that stay in memory with the batches: all records of their response.
    pub(super) response_bytes: usize,
    /// The first offset to deliver.
    pub start: i64,
    /// The offset after the last batch.
    pub end: i64,
    /// The leader epoch of the last batch; -1 if unknown.
    pub epoch: i32,
    /// With `read_committed`, the aborted transactions to filter out.
    pub aborted: Option<AbortedTransactions>,
    /// The first batch of `records`, if it was read in part: it is not decompressed in every poll.
    pub(super) remaining: Option<Box<OpenBatch>>,
}

impl CompletedFetch {
    /// The records of `batches` with offsets in a range, without a position that moves past them.
    pub(super) fn of_range(partition: TopicPartition, records: Bytes, range: Range<i64>) -> Self {
        Self {
            partition,
            version: 0,
            response_bytes: records.len(),
            records,
            start: range.start,
            end: range.end,
            epoch: -1,
            aborted: None,
            remaining: None,
        }
    }

    /// For [`crate::consumer::Consumer::mark_delivered`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Frees what the fetch retains in addition to its batches: much decompressed records, and their response if
    /// they are less than half of it.
    pub(super) fn detach_from_response(&mut self) {
        self.remaining.take_if(|open| open.decompressed_len() > MAX_PAUSED);
        if self.records.len() < self.response_bytes / 2 {
            self.records = Bytes::copy_from_slice(&self.records);
            self.response_bytes = self.records.len();
            // It retains the response, too; the batch is decompressed again.
            self.remaining = None;
        }
    }
}

/// The usable part of fetched bytes.
#[derive(Debug, Default)]
pub(super) struct CheckedBatches {
    /// The whole batches.
    pub(super) records: Bytes,
    /// The offset after the last whole batch, and its leader epoch.
    pub(super) next: Option<(i64, i32)>,
    /// The announced size of a truncated last batch.
    pub(super) truncated_size: Option<usize>,
    /// Why the bytes after the usable batches are invalid.
    pub(super) error: Option<Error>,
}

/// Checks the batches in fetched bytes.
pub(super) fn check_batches(records: &Bytes, check_crcs: bool) -> CheckedBatches {
    let mut checked = CheckedBatches::default();
    let mut batches = Batches::new(records.clone()).check_crc(check_crcs);
    let mut whole = 0;
    for batch in batches.by_ref() {
        match batch {
            Ok(batch) => {
                whole += batch.size_in_bytes();
                checked.next = Some((batch.last_offset() + 1, batch.partition_leader_epoch()));
            }
            Err(error) => checked.error = Some(error.into()),
        }
    }
    checked.truncated_size = batches.next_batch_size();
    checked.records = records.slice(..whole);
    checked
}

/// The error for a batch that no response can hold.
pub(super) fn batch_too_large(size: usize) -> Error {
    let message = format!("the broker sends only part of a batch of {size} bytes; raise fetch.max.bytes");
    Error::new(Kind::Config, message)
}
