//! Acquires the records of one partition and reads their batches.
//!
//! Invariant: the response has the batches of all acquired records, and none without one.

use bytes::{Bytes, BytesMut};
use ottla_protocol::messages::share_fetch::{AcquiredRecords, PartitionData};
use ottla_protocol::wire::Uuid;

use super::super::share_acknowledgements::{ShareError, enter_partition, plain};
use super::{RequestContext, empty_partition};
use crate::log::{PartitionLog, StoredBatch};
use crate::share_partition::{AcquireRequest, AcquiredRange};
use crate::state::ShareSessionRequest;

/// The bytes that are available in the partitions of a session, counted up to `enough`.
pub(super) fn available_bytes(
    context: &RequestContext<'_>,
    session: &ShareSessionRequest,
    partitions: &[(Uuid, i32)],
    enough: usize,
) -> usize {
    let mut size = 0;
    for (topic_id, index) in partitions {
        let Ok(name) = context.state.topic_name("", *topic_id, true) else { continue };
        let share = context.state.share_partitions.get(&session.group, (*topic_id, *index));
        let (Ok(partition), Some(share)) = (context.state.partition(&name, *index), share) else { continue };
        let end = partition.log.high_watermark();
        for batch in partition.log.batches_in(share.next_fetch_offset()..end) {
            size += batch.bytes.len();
            if size >= enough {
                return size;
            }
        }
    }
    size
}

/// Acquires records of a partition; `None` if there are none.
pub(super) fn read(
    context: &mut RequestContext<'_>,
    group: &str,
    (topic_id, index): (Uuid, i32),
    (request, max_bytes, is_enough): (&AcquireRequest, usize, bool),
) -> Result<Option<PartitionData>, ShareError> {
    let name = context.state.topic_name("", topic_id, true).map_err(plain)?;
    enter_partition(context, group, (&name, topic_id, index))?;
    let config = context.state.groups.config_of(group).share.clone();
    let share = context.state.share_partitions.get(group, (topic_id, index));
    let Some(share) = share.filter(|share| is_enough && share.can_acquire(&config)) else { return Ok(None) };
    let log = &context.state.partition(&name, index).map_err(plain)?.log;
    let end = if config.read_committed { log.last_stable_offset() } else { log.high_watermark() };
    let batches = choose(log, share.next_fetch_offset()..end, max_bytes);
    let (aborted, readable): (Vec<_>, Vec<_>) =
        batches.iter().partition(|batch| config.read_committed && is_aborted(log, batch));
    let ranges = |batches: Vec<&StoredBatch>| batches.into_iter().map(range_of).collect::<Vec<_>>();
    let (aborted, readable) = (ranges(aborted), ranges(readable));
    let share = context.state.share_partitions.get_mut(group, (topic_id, index));
    let Some(share) = share else { return Ok(None) };
    aborted.into_iter().for_each(|range| share.archive(range));
    let acquired = share.acquire(&readable, request, &config, context.clock);
    if acquired.is_empty() {
        return Ok(None);
    }
    context.changed = true;
    let mut records = BytesMut::new();
    let is_acquired = |batch: &&StoredBatch| {
        acquired
            .iter()
            .any(|range| range.first_offset <= batch.last_offset && range.last_offset >= batch.base_offset)
    };
    batches.iter().filter(is_acquired).for_each(|batch| records.extend_from_slice(&batch.bytes));
    let build = |range: AcquiredRange| AcquiredRecords {
        first_offset: range.first_offset,
        last_offset: range.last_offset,
        delivery_count: i16::try_from(range.delivery_count).unwrap_or(i16::MAX),
    };
    Ok(Some(PartitionData {
        records: Some(super::super::corrupt::corrupted(context, &name, index, Bytes::from(records))),
        acquired_records: acquired.into_iter().map(build).collect(),
        ..empty_partition(index)
    }))
}

fn range_of(batch: &StoredBatch) -> (i64, i64) {
    (batch.base_offset, batch.last_offset)
}

/// Whole batches up to a size; at least one.
fn choose(log: &PartitionLog, offsets: std::ops::Range<i64>, max_bytes: usize) -> Vec<StoredBatch> {
    let mut size = 0;
    let fits = |batch: &&StoredBatch| {
        let is_first = size == 0;
        size += batch.bytes.len();
        is_first || size <= max_bytes
    };
    log.batches_in(offsets).take_while(fits).cloned().collect()
}

/// Whether a batch belongs to an aborted transaction, its marker included.
fn is_aborted(log: &PartitionLog, batch: &StoredBatch) -> bool {
    log.aborted(batch.base_offset, batch.last_offset + 1).any(|aborted| {
        aborted.producer_id == batch.producer_id
            && (aborted.first_offset..=aborted.last_offset).contains(&batch.base_offset)
    })
}
