//! A piece of a partition's log that waits to be handed out.
//!
//! Invariant: it holds whole batches whose CRCs were checked if they are to be; a piece that was cut
//! in two is read as one: what is known of aborted transactions goes with its rest. One that waits for
//! long keeps no more than twice its size in memory.

use bytes::Bytes;
use ottla_protocol::records::{AbortedTransactions, Batches};

use super::records::Decoded;
use crate::error::{Error, Kind};
use crate::topic_partition::TopicPartition;

/// How often the same bad batch is fetched before it is believed to be bad in the log.
pub(super) const CORRUPT_MAX: u32 = 3;

/// Record batches of one partition, as they came.
#[derive(Debug)]
pub struct Prefetched {
    /// The partition.
    pub partition: TopicPartition,
    /// What the partition's version was when they were asked for.
    pub(super) version: u64,
    /// The batches; the first may start before `start`.
    pub records: Bytes,
    /// The bytes that are kept in memory for them: those of all records that came with them.
    pub(super) frame: usize,
    /// The first offset that is wanted.
    pub start: i64,
    /// The offset after the last.
    pub end: i64,
    /// The leader epoch of the last batch; -1 if unknown.
    pub epoch: i32,
    /// For `read_committed`: which batches are not to be seen.
    pub aborted: Option<AbortedTransactions>,
    /// What is decoded already of the first batch.
    pub(super) decoded: Option<Box<Decoded>>,
}

impl Prefetched {
    /// For [`super::Consumer::handed_out`].
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Copies the batches out of the answer that they came in, if they are the smaller part of it.
    pub(super) fn leave_frame(&mut self) {
        if self.records.len() < self.frame / 2 {
            self.records = Bytes::copy_from_slice(&self.records);
            self.frame = self.records.len();
            // It may hold the answer, too, and is decoded again.
            self.decoded = None;
        }
    }
}

/// What of a fetched blob can be used.
#[derive(Debug, Default)]
pub(super) struct Usable {
    /// The whole batches.
    pub(super) records: Bytes,
    /// The offset after the last whole batch, and that batch's leader epoch.
    pub(super) next: Option<(i64, i32)>,
    /// The size that the batch announces which was cut off.
    pub(super) cut_off: Option<usize>,
    /// Why what comes after the usable batches is of no use.
    pub(super) flaw: Option<Error>,
}

/// Looks through the batches of a blob.
pub(super) fn usable(records: &Bytes, check_crcs: bool) -> Usable {
    let mut usable = Usable::default();
    let mut batches = Batches::new(records.clone()).check_crc(check_crcs);
    let mut whole = 0;
    for batch in batches.by_ref() {
        match batch {
            Ok(batch) => {
                whole += batch.size_in_bytes();
                usable.next = Some((batch.last_offset() + 1, batch.partition_leader_epoch()));
            }
            Err(error) => usable.flaw = Some(error.into()),
        }
    }
    usable.cut_off = batches.next_batch_size();
    usable.records = records.slice(..whole);
    usable
}

/// A batch that no answer holds.
pub(super) fn too_large(size: usize) -> Error {
    let words = format!("the broker sends only part of a batch of {size} bytes; raise fetch.max.bytes");
    Error::new(Kind::Config, words)
}
