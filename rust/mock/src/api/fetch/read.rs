//! Reads one partition, on its leader or a follower.
//!
//! Invariant: the response has no records beyond this replica's end offset, nor, for read_committed, beyond
//! the last stable offset.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{AbortedTransaction, EpochEndOffset, FetchPartition, PartitionData};

use super::RequestContext;
use crate::state::Partition;

/// The first version that allows fetching from followers.
const FOLLOWERS: i16 = 11;

/// The limits of one read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) bytes: usize,
    pub(super) at_least_one: bool,
    pub(super) committed: bool,
}

pub(super) fn read(
    context: &RequestContext<'_>,
    partition: &Partition,
    requested: &FetchPartition,
    rack: &str,
    limits: Limits,
) -> Result<PartitionData, ErrorCode> {
    let followers = context.version >= FOLLOWERS;
    partition.check_reader(context.broker, requested.current_leader_epoch, followers)?;
    let log = &partition.log;
    let end = partition.end_offset_at(context.broker);
    let mut data = PartitionData {
        partition_index: requested.partition,
        high_watermark: end,
        last_stable_offset: log.last_stable_offset().min(end),
        log_start_offset: log.start_offset(),
        records: Some(Bytes::new()),
        aborted_transactions: limits.committed.then(Vec::new),
        ..PartitionData::default()
    };
    if requested.last_fetched_epoch >= 0 {
        let (epoch, end_offset) =
            log.epoch_end(requested.last_fetched_epoch).ok_or(ErrorCode::OffsetOutOfRange)?;
        if epoch < requested.last_fetched_epoch || end_offset < requested.fetch_offset {
            data.diverging_epoch = EpochEndOffset { epoch, end_offset };
            return Ok(data);
        }
    }
    if !(log.start_offset()..=end).contains(&requested.fetch_offset) {
        return Err(ErrorCode::OffsetOutOfRange);
    }
    if followers && let Some(replica) = replica_in_rack(context, partition, rack, requested.fetch_offset) {
        data.preferred_read_replica = replica;
        return Ok(data);
    }
    let upto = if limits.committed { data.last_stable_offset } else { end };
    let most = limits.bytes.min(usize::try_from(requested.partition_max_bytes).unwrap_or(0));
    let records = log.read(requested.fetch_offset..upto, most, limits.at_least_one);
    if let Some(list) = &mut data.aborted_transactions {
        let aborted = log.aborted(requested.fetch_offset, upto).map(|aborted| AbortedTransaction {
            producer_id: aborted.producer_id,
            first_offset: aborted.first_offset,
        });
        list.extend(aborted);
    }
    data.records = Some(records);
    Ok(data)
}

/// The replica in the client's rack to read from; `None` if the leader is in that rack.
fn replica_in_rack(
    context: &RequestContext<'_>,
    partition: &Partition,
    rack: &str,
    offset: i64,
) -> Option<i32> {
    let state = &context.state;
    if !state.config.rack_aware_reads || rack.is_empty() || partition.leader != context.broker {
        return None;
    }
    let in_rack =
        |id: &i32| state.brokers.get(id).is_some_and(|node| node.alive && node.rack.as_deref() == Some(rack));
    if in_rack(&context.broker) {
        return None;
    }
    partition.isr.iter().copied().find(|id| in_rack(id) && partition.end_offset_at(*id) >= offset)
}

pub(super) fn error_response(partition: i32, code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: code.code(),
        high_watermark: -1,
        records: Some(Bytes::new()),
        ..PartitionData::default()
    }
}
