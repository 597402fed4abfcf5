//! Fetch (1), versions 4–18: read batches, wait for enough of them.
//!
//! Topics by id from 13 on; leader epochs from 9, the last fetched epoch from 12 (KIP-320), hints
//! about new leaders from 16 (KIP-951). There are no sessions yet: each answer has session id 0, which
//! tells the client that none was made. Sizes follow KIP-74: the first batch of the answer comes even
//! if it is larger than every limit.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{
    EpochEndOffset, FetchPartition, FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch,
    NodeEndpoint, PartitionData,
};

use super::hints::Hints;
use super::{Call, Serve, Served};
use crate::fault::Target;
use crate::state::{ClusterState, Partition};

const BY_ID: i16 = 13;
const HINTS: i16 = 16;
const READ_COMMITTED: i8 = 1;

impl Serve for FetchRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let mut targets = Vec::new();
        for topic in &self.topics {
            let Ok(name) = state.topic_name(&topic.topic, topic.topic_id, version >= BY_ID) else { continue };
            let partitions = topic.partitions.iter().map(|p| Some(p.partition));
            targets.extend(partitions.map(|partition| Target { topic: name.clone(), partition }));
        }
        targets
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<FetchResponse> {
        if let Err(code) = self.check_session(call) {
            return Served::Answer(FetchResponse { error_code: code.code(), ..FetchResponse::default() });
        }
        let mut response = FetchResponse::default();
        let mut hints = Hints::default();
        let mut left = usize::try_from(self.max_bytes).unwrap_or(0);
        let (mut size, mut urgent, mut empty) = (0, false, true);
        call.corrupted = false;
        for topic in &self.topics {
            let name = call.state.topic_name(&topic.topic, topic.topic_id, call.version >= BY_ID);
            let mut answers = Vec::with_capacity(topic.partitions.len());
            for wanted in &topic.partitions {
                empty = false;
                let outcome = name.as_deref().map_err(|code| *code).and_then(|name| {
                    call.check_fault(name, Some(wanted.partition))?;
                    let partition = call.state.partition(name, wanted.partition)?;
                    read(partition, call.broker, wanted, left, size == 0)
                });
                urgent |= outcome.as_ref().map_or(true, |data| data.diverging_epoch.epoch >= 0);
                let mut data = outcome.unwrap_or_else(|code| refuse(wanted.partition, code));
                if let Ok(name) = &name {
                    damage(call, name, &mut data);
                    self.hint(call, &mut hints, name, &mut data);
                }
                let bytes = data.records.as_ref().map_or(0, Bytes::len);
                size += bytes;
                left = left.saturating_sub(bytes);
                if self.isolation_level == READ_COMMITTED {
                    data.aborted_transactions = Some(Vec::new());
                }
                answers.push(data);
            }
            response.responses.push(FetchableTopicResponse {
                topic: topic.topic.clone(),
                topic_id: topic.topic_id,
                partitions: answers,
            });
        }
        response.node_endpoints =
            hints.into_endpoints(|node_id, host, port, rack| NodeEndpoint { node_id, host, port, rack });
        let wait = Duration::from_millis(u64::try_from(self.max_wait_ms).unwrap_or(0));
        let enough = size >= usize::try_from(self.min_bytes).unwrap_or(0);
        if urgent || enough || empty || wait.is_zero() {
            Served::Answer(response)
        } else {
            Served::Wait(response, wait)
        }
    }

    fn throttle_time(response: &mut FetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

trait Parts {
    fn check_session(&self, call: &Call<'_>) -> Result<(), ErrorCode>;
    fn hint(&self, call: &Call<'_>, hints: &mut Hints, topic: &str, data: &mut PartitionData);
}

impl Parts for FetchRequest {
    fn check_session(&self, call: &Call<'_>) -> Result<(), ErrorCode> {
        use ErrorCode::{FetchSessionIdNotFound, FetchSessionTopicIdError, InvalidFetchSessionEpoch};
        let about_sessions = |code: &ErrorCode| {
            matches!(code, FetchSessionIdNotFound | FetchSessionTopicIdError | InvalidFetchSessionEpoch)
        };
        match call.errors.iter().map(|(_, code)| *code).find(about_sessions) {
            Some(code) => Err(code),
            None if call.version >= 7 && self.session_id != 0 && self.session_epoch != -1 => {
                Err(FetchSessionIdNotFound)
            }
            None => Ok(()),
        }
    }

    fn hint(&self, call: &Call<'_>, hints: &mut Hints, topic: &str, data: &mut PartitionData) {
        let moved = matches!(
            ErrorCode::from(data.error_code),
            ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch
        );
        if call.version >= HINTS
            && moved
            && let Some((leader_id, leader_epoch)) = hints.leader(call.state, topic, data.partition_index)
        {
            data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
        }
    }
}

fn read(
    partition: &Partition,
    broker: i32,
    wanted: &FetchPartition,
    left: usize,
    at_least_one: bool,
) -> Result<PartitionData, ErrorCode> {
    // Reading from a follower in the client's rack (KIP-392) will be decided here.
    partition.check_leader(broker, wanted.current_leader_epoch)?;
    let log = &partition.log;
    let mut data = PartitionData {
        partition_index: wanted.partition,
        high_watermark: log.high_watermark(),
        last_stable_offset: log.last_stable_offset(),
        log_start_offset: log.start_offset(),
        records: Some(Bytes::new()),
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
    if !log.contains(wanted.fetch_offset) {
        return Err(ErrorCode::OffsetOutOfRange);
    }
    let limit = left.min(usize::try_from(wanted.partition_max_bytes).unwrap_or(0));
    data.records = Some(log.read(wanted.fetch_offset, limit, at_least_one));
    Ok(data)
}

fn refuse(partition: i32, code: ErrorCode) -> PartitionData {
    PartitionData {
        partition_index: partition,
        error_code: code.code(),
        high_watermark: -1,
        records: Some(Bytes::new()),
        ..PartitionData::default()
    }
}

/// Flips the last bit of the first batch, once an answer, if a fault wants it.
fn damage(call: &mut Call<'_>, topic: &str, data: &mut PartitionData) {
    let wanted = call.corrupt.is_some_and(|on| on.covers(topic, Some(data.partition_index)));
    let Some(records) =
        data.records.as_ref().filter(|records| wanted && !call.corrupted && !records.is_empty())
    else {
        return;
    };
    let length =
        records.get(8..12).and_then(|field| field.first_chunk()).map_or(0, |l| u32::from_be_bytes(*l));
    let last = usize::try_from(length).unwrap_or(0) + 11;
    let mut damaged = BytesMut::from(&records[..]);
    if let Some(byte) = damaged.get_mut(last) {
        *byte ^= 1;
        call.corrupted = true;
    }
    data.records = Some(damaged.freeze());
}
