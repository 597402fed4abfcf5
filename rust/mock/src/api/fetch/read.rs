//! Reading one partition, at its leader or at a follower.
//!
//! Invariant: nothing comes from beyond what this broker has of the log, or, where only what is
//! committed is wanted, from beyond the last stable offset.

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{AbortedTransaction, EpochEndOffset, FetchPartition, PartitionData};

use super::Call;
use crate::state::Partition;

/// The first version in which a consumer may be sent to a follower, and read there.
const FOLLOWERS: i16 = 11;

/// How much may be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) bytes: usize,
    pub(super) at_least_one: bool,
    pub(super) committed: bool,
}

pub(super) fn read(
    call: &Call<'_>,
    partition: &Partition,
    wanted: &FetchPartition,
    rack: &str,
    limits: Limits,
) -> Result<PartitionData, ErrorCode> {
    let followers = call.version >= FOLLOWERS;
    partition.check_reader(call.broker, wanted.current_leader_epoch, followers)?;
    let log = &partition.log;
    let end = partition.end_at(call.broker);
    let mut data = PartitionData {
        partition_index: wanted.partition,
        high_watermark: end,
        last_stable_offset: log.last_stable_offset().min(end),
        log_start_offset: log.start_offset(),
        records: Some(Bytes::new()),
        aborted_transactions: limits.committed.then(Vec::new),
        ..PartitionData::default()
    };
    if wanted.last_fetched_epoch >= 0 {
        let (epoch, end_offset) =
            log.epoch_end(wanted.last_fetched_epoch).ok_or(ErrorCode::OffsetOutOfRange)?;
        if epoch < wanted.last_fetched_epoch || end_offset < wanted.fetch_offset {
            data.diverging_epoch = EpochEndOffset { epoch, end_offset };
            return Ok(data);
        }
    }
    if !(log.start_offset()..=end).contains(&wanted.fetch_offset) {
        return Err(ErrorCode::OffsetOutOfRange);
    }
    if followers && let Some(closer) = closer_replica(call, partition, rack, wanted.fetch_offset) {
        data.preferred_read_replica = closer;
        return Ok(data);
    }
    let upto = if limits.committed { data.last_stable_offset } else { end };
    let most = limits.bytes.min(usize::try_from(wanted.partition_max_bytes).unwrap_or(0));
    let records = log.read(wanted.fetch_offset..upto, most, limits.at_least_one);
    if let Some(list) = &mut data.aborted_transactions {
        let aborted = log.aborted(wanted.fetch_offset, upto).map(|aborted| AbortedTransaction {
            producer_id: aborted.producer_id,
            first_offset: aborted.first_offset,
        });
        list.extend(aborted);
    }
    data.records = Some(records);
    Ok(data)
}

/// The replica in the client's rack that the leader sends it to; none if the leader is there itself.
fn closer_replica(call: &Call<'_>, partition: &Partition, rack: &str, offset: i64) -> Option<i32> {
    let state = &call.state;
    if !state.config.rack_aware_reads || rack.is_empty() || partition.leader != call.broker {
        return None;
    }
    let in_rack =
        |id: &i32| state.brokers.get(id).is_some_and(|node| node.alive && node.rack.as_deref() == Some(rack));
    if in_rack(&call.broker) {
        return None;
    }
    partition.isr.iter().copied().find(|id| in_rack(id) && partition.end_at(*id) >= offset)
}

pub(super) fn refuse(partition: i32, code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: code.code(),
        high_watermark: -1,
        records: Some(Bytes::new()),
        ..PartitionData::default()
    }
}
