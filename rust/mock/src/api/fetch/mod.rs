//! Fetch (1), versions 4–18: read batches, wait for enough of them.
//!
//! Topics by id from 13 on; sessions from 7 (KIP-227), leader epochs from 9, reading from followers from
//! 11 (KIP-392), the last fetched epoch from 12 (KIP-320), hints about new leaders from 16 (KIP-951).
//! Sizes follow KIP-74: the first batch of the answer comes even if it is larger than every limit.
//!
//! `read` is one partition; `session` is what is fetched, and what of the answer is news.

mod read;
mod session;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};

use super::hints::Hints;
use super::{Call, Pending, Serve, Served};
use crate::fault::Target;
use crate::state::{ClusterState, Wanted};
pub(crate) use session::Fetching;

const BY_ID: i16 = 13;
const HINTS: i16 = 16;
const READ_COMMITTED: i8 = 1;

impl Serve for FetchRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<Target> {
        let own = session::in_request(self).into_iter();
        let all = own.chain(state.fetch_sessions.wanted(self.session_id).cloned());
        let target = |wanted: Wanted| {
            let topic = state.topic_name(&wanted.topic, wanted.topic_id, version >= BY_ID).ok()?;
            Some(Target { topic, partition: Some(wanted.partition.partition) })
        };
        all.filter_map(target).collect()
    }

    fn serve(&self, call: &mut Call<'_>) -> Served<FetchResponse> {
        let fetching = match std::mem::take(call.pending) {
            Pending::Fetch(fetching) => *fetching,
            _ => match session::begin(self, call) {
                Ok(fetching) => fetching,
                Err(code) => {
                    return Served::Answer(FetchResponse {
                        error_code: code.code(),
                        ..FetchResponse::default()
                    });
                }
            },
        };
        let wait = Duration::from_millis(u64::try_from(self.max_wait_ms).unwrap_or(0));
        let until = call.arrived + wait;
        let read = self.read_all(&fetching.wanted, call);
        let enough = read.size >= usize::try_from(self.min_bytes).unwrap_or(0);
        if read.urgent || enough || fetching.wanted.is_empty() || call.clock >= until {
            Served::Answer(self.build_response(fetching, read, call))
        } else {
            *call.pending = Pending::Fetch(Box::new(fetching));
            Served::Until(until)
        }
    }

    fn throttle_time(response: &mut FetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// What was read of all partitions.
#[derive(Default)]
struct Read {
    answered: Vec<(Wanted, PartitionData)>,
    hints: Hints,
    size: usize,
    /// There is something to say at once.
    urgent: bool,
}

trait Parts {
    fn read_all(&self, wanted: &[Wanted], call: &mut Call<'_>) -> Read;
    fn hint(&self, call: &Call<'_>, hints: &mut Hints, topic: &str, data: &mut PartitionData);
    fn build_response(&self, fetching: Fetching, read: Read, call: &mut Call<'_>) -> FetchResponse;
}

impl Parts for FetchRequest {
    fn read_all(&self, all: &[Wanted], call: &mut Call<'_>) -> Read {
        let mut read = Read::default();
        let mut left = usize::try_from(self.max_bytes).unwrap_or(0);
        call.corrupted = false;
        for wanted in all {
            let name = call.state.topic_name(&wanted.topic, wanted.topic_id, call.version >= BY_ID);
            let outcome = name.as_deref().map_err(|code| *code).and_then(|name| {
                call.check_fault(name, Some(wanted.partition.partition))?;
                let partition = call.state.partition(name, wanted.partition.partition)?;
                let limits = read::Limits {
                    bytes: left,
                    at_least_one: read.size == 0,
                    committed: self.isolation_level == READ_COMMITTED,
                };
                read::read(call, partition, &wanted.partition, &self.rack_id, limits)
            });
            let mut data = outcome.unwrap_or_else(|code| read::refuse(wanted.partition.partition, code));
            read.urgent |=
                data.error_code != 0 || data.diverging_epoch.epoch >= 0 || data.preferred_read_replica >= 0;
            if let Ok(name) = &name {
                damage(call, name, &mut data);
                self.hint(call, &mut read.hints, name, &mut data);
            }
            let bytes = data.records.as_ref().map_or(0, Bytes::len);
            read.size += bytes;
            left = left.saturating_sub(bytes);
            read.answered.push((wanted.clone(), data));
        }
        read
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

    fn build_response(&self, fetching: Fetching, read: Read, call: &mut Call<'_>) -> FetchResponse {
        let mut answered = read.answered;
        let mut response = FetchResponse {
            session_id: session::end(&fetching, &mut answered, call),
            node_endpoints: read.hints.into_endpoints(|node_id, host, port, rack| NodeEndpoint {
                node_id,
                host,
                port,
                rack,
            }),
            ..FetchResponse::default()
        };
        for (wanted, data) in answered {
            let same =
                |t: &&mut FetchableTopicResponse| t.topic == wanted.topic && t.topic_id == wanted.topic_id;
            match response.responses.last_mut().filter(same) {
                Some(topic) => topic.partitions.push(data),
                None => response.responses.push(FetchableTopicResponse {
                    topic: wanted.topic,
                    topic_id: wanted.topic_id,
                    partitions: vec![data],
                }),
            }
        }
        response
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
