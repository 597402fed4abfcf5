//! Fetch (1), versions 4–18: read batches, and wait for `min_bytes` of them.
//!
//! Fetch sessions from version 7 (KIP-227), leader epochs from 9, fetching from followers from 11 (KIP-392),
//! `last_fetched_epoch` from 12 (KIP-320), topics by id from 13, new leaders' addresses from 16 (KIP-951).
//! Sizes follow KIP-74: the first batch of a response is returned even if it exceeds every limit.
//!
//! `read` reads one partition; `session` resolves the partitions of a request and of its session.

mod read;
mod session;

use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::fetch::{
    FetchRequest, FetchResponse, FetchableTopicResponse, LeaderIdAndEpoch, NodeEndpoint, PartitionData,
};

use super::corrupt::corrupted;
use super::node_endpoints::NodeEndpoints;
use super::{HandlerResult, Pending, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ClusterState, RequestedPartition};
pub(crate) use session::FetchContext;

const CURRENT_LEADER: i16 = 16;
const READ_COMMITTED: i8 = 1;

impl RequestHandler for FetchRequest {
    fn targets(&self, version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let own = session::in_request(self).into_iter();
        let all = own.chain(state.fetch_sessions.requested(self.session_id).cloned());
        let target = |requested: RequestedPartition| {
            let topic = state
                .topic_name(&requested.topic, requested.topic_id, version >= FetchRequest::FIRST_BY_ID)
                .ok()?;
            Some(FaultTarget { topic, partition: Some(requested.partition.partition) })
        };
        all.filter_map(target).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<FetchResponse> {
        let fetch = match std::mem::take(context.pending) {
            Pending::Fetch(fetch) => *fetch,
            _ => match session::new_context(self, context) {
                Ok(fetch) => fetch,
                Err(code) => {
                    return HandlerResult::Response(FetchResponse {
                        error_code: code.code(),
                        ..FetchResponse::default()
                    });
                }
            },
        };
        let wait = Duration::from_millis(u64::try_from(self.max_wait_ms).unwrap_or(0));
        let until = context.arrived + wait;
        let read = read_all(self, &fetch.partitions, context);
        let enough = read.size >= usize::try_from(self.min_bytes).unwrap_or(0);
        if read.respond_now || enough || fetch.partitions.is_empty() || context.clock >= until {
            HandlerResult::Response(build_response(fetch, read, context))
        } else {
            *context.pending = Pending::Fetch(Box::new(fetch));
            HandlerResult::WaitUntil(until)
        }
    }

    fn throttle_time(response: &mut FetchResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

/// The partitions of a response.
#[derive(Default)]
struct ReadResult {
    responses: Vec<(RequestedPartition, PartitionData)>,
    node_endpoints: NodeEndpoints,
    size: usize,
    /// An error, a diverging epoch or a preferred replica: respond without waiting.
    respond_now: bool,
}

fn read_all(
    request: &FetchRequest,
    all: &[RequestedPartition],
    context: &mut RequestContext<'_>,
) -> ReadResult {
    let mut read = ReadResult::default();
    let mut left = usize::try_from(request.max_bytes).unwrap_or(0);
    context.corrupted = false;
    for requested in all {
        let name = context.state.topic_name(
            &requested.topic,
            requested.topic_id,
            context.version >= FetchRequest::FIRST_BY_ID,
        );
        let outcome = name.as_deref().map_err(|code| *code).and_then(|name| {
            context.check_fault(name, Some(requested.partition.partition))?;
            let partition = context.state.partition(name, requested.partition.partition)?;
            let limits = read::Limits {
                bytes: left,
                at_least_one: read.size == 0,
                committed: request.isolation_level == READ_COMMITTED,
            };
            read::read(context, partition, &requested.partition, &request.rack_id, limits)
        });
        let mut data =
            outcome.unwrap_or_else(|code| read::error_response(requested.partition.partition, code));
        read.respond_now |=
            data.error_code != 0 || data.diverging_epoch.epoch >= 0 || data.preferred_read_replica >= 0;
        if let Ok(name) = &name {
            data.records =
                data.records.map(|records| corrupted(context, name, data.partition_index, records));
            set_current_leader(context, &mut read.node_endpoints, name, &mut data);
        }
        let bytes = data.records.as_ref().map_or(0, Bytes::len);
        read.size += bytes;
        left = left.saturating_sub(bytes);
        read.responses.push((requested.clone(), data));
    }
    read
}

/// Names the new leader in an error response to a stale client.
fn set_current_leader(
    context: &RequestContext<'_>,
    node_endpoints: &mut NodeEndpoints,
    topic: &str,
    data: &mut PartitionData,
) {
    let moved = matches!(
        ErrorCode::from(data.error_code),
        ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch
    );
    if context.version >= CURRENT_LEADER
        && moved
        && let Some((leader_id, leader_epoch)) =
            node_endpoints.current_leader(context.state, topic, data.partition_index)
    {
        data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
    }
}

fn build_response(fetch: FetchContext, read: ReadResult, context: &mut RequestContext<'_>) -> FetchResponse {
    let mut responses = read.responses;
    let mut response = FetchResponse {
        session_id: session::finish(&fetch, &mut responses, context),
        node_endpoints: read.node_endpoints.into_response(|node_id, host, port, rack| NodeEndpoint {
            node_id,
            host,
            port,
            rack,
        }),
        ..FetchResponse::default()
    };
    for (requested, data) in responses {
        let same =
            |t: &&mut FetchableTopicResponse| t.topic == requested.topic && t.topic_id == requested.topic_id;
        match response.responses.last_mut().filter(same) {
            Some(topic) => topic.partitions.push(data),
            None => response.responses.push(FetchableTopicResponse {
                topic: requested.topic,
                topic_id: requested.topic_id,
                partitions: vec![data],
            }),
        }
    }
    response
}
