//! Fetched records of one partition that this member has acquired from the partition's leader.
//!
//! Invariant: `acquired` holds the records that were not delivered. Acquired offsets without a record end as
//! gaps, and those of an unreadable batch are released.

use bytes::Bytes;
use ottla_protocol::messages::share_fetch::AcquiredRecords;
use tokio::time::Instant;

use super::offset_ranges::OffsetRanges;
use crate::consumer::completed_fetch::CompletedFetch;
use crate::consumer::group::TopicIdPartition;
use crate::topic_partition::TopicPartition;

/// Acquired records of one partition.
#[derive(Debug, Clone)]
pub(super) struct AcquiredFetch {
    pub(super) leader: i32,
    pub(super) id: TopicIdPartition,
    pub(super) partition: TopicPartition,
    /// The batches, CRC-checked if so configured.
    pub(super) records: Bytes,
    /// The acquired offsets and their delivery counts.
    pub(super) acquired: OffsetRanges<i16>,
    /// When the acquisition lock expires; other members may get the records then.
    pub(super) locked_until: Instant,
}

impl AcquiredFetch {
    /// The records between the first and the last acquired offset, for the decoder.
    pub(super) fn to_completed_fetch(&self) -> CompletedFetch {
        let start = self.acquired.first().unwrap_or(0);
        let end = self.acquired.last().map_or(start, |last| last.saturating_add(1));
        CompletedFetch::of_range(self.partition.clone(), self.records.clone(), start..end)
    }
}

/// The acquired offsets of a response, with their delivery counts.
pub(super) fn acquired_offsets(acquired: &[AcquiredRecords]) -> OffsetRanges<i16> {
    let mut offsets = OffsetRanges::default();
    for range in acquired {
        offsets.insert(range.first_offset, range.last_offset, range.delivery_count);
    }
    offsets
}
