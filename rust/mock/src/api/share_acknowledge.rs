//! ShareAcknowledge (79), versions 1–2: acknowledges records, and closes share sessions (KIP-932).
//!
//! Renewals and the time of locks from version 2 (KIP-1222).

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_acknowledge::{
    AcknowledgePartition, LeaderIdAndEpoch, NodeEndpoint, PartitionData, ShareAcknowledgeRequest,
    ShareAcknowledgeResponse, ShareAcknowledgeTopicResponse,
};
use ottla_protocol::wire::Uuid;

use super::node_endpoints::NodeEndpoints;
use super::share_acknowledgements::{ShareError, acknowledge, plain, session_of};
use super::{HandlerResult, RequestContext, RequestHandler};
use crate::fault::FaultTarget;
use crate::state::{ClusterState, ShareSessionRequest};

/// The first version with renewals.
const RENEWALS: i16 = 2;

impl RequestHandler for ShareAcknowledgeRequest {
    fn targets(&self, _version: i16, state: &ClusterState) -> Vec<FaultTarget> {
        let of = |topic: &ottla_protocol::messages::share_acknowledge::AcknowledgeTopic| {
            let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
            state.fault_targets(("", topic.topic_id, true), partitions)
        };
        self.topics.iter().flat_map(of).collect()
    }

    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ShareAcknowledgeResponse> {
        let response = handle(self, context).unwrap_or_else(|(code, why)| ShareAcknowledgeResponse {
            error_code: code.code(),
            error_message: Some(why),
            ..ShareAcknowledgeResponse::default()
        });
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ShareAcknowledgeResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn handle(
    request: &ShareAcknowledgeRequest,
    context: &mut RequestContext<'_>,
) -> Result<ShareAcknowledgeResponse, ShareError> {
    let (group, member) = (request.group_id.as_ref(), request.member_id.as_ref());
    let session = session_of(context, group, member, request.share_session_epoch)?;
    if session.opens() {
        return Err(plain(ErrorCode::InvalidShareSessionEpoch));
    }
    context.state.share_sessions.enter(&session).map_err(plain)?;
    let mut endpoints = NodeEndpoints::default();
    let mut response = ShareAcknowledgeResponse::default();
    for topic in &request.topics {
        let partitions = topic.partitions.iter().map(|partition| {
            let renews = context.version >= RENEWALS && request.is_renew_ack;
            let batches = &partition.acknowledgement_batches;
            let of = (topic.topic_id, partition.partition_index);
            let outcome = acknowledge(context, &session, of, batches, renews);
            build_partition(context, &mut endpoints, (topic.topic_id, partition), outcome)
        });
        let partitions = partitions.collect();
        response.responses.push(ShareAcknowledgeTopicResponse { topic_id: topic.topic_id, partitions });
    }
    if session.closes() {
        close(context, &session);
    }
    let config = &context.state.groups.config_of(&session.group).share;
    response.acquisition_lock_timeout_ms =
        i32::try_from(config.record_lock_duration.as_millis()).unwrap_or(i32::MAX);
    response.node_endpoints =
        endpoints.into_response(|node_id, host, port, rack| NodeEndpoint { node_id, host, port, rack });
    Ok(response)
}

/// Closes a member's session and releases its records.
pub(super) fn close(context: &mut RequestContext<'_>, session: &ShareSessionRequest) {
    context.changed |= context.state.close_share_sessions(|open| {
        (open.broker, &open.group, &open.member_id) == (session.broker, &session.group, &session.member_id)
    });
}

fn build_partition(
    context: &RequestContext<'_>,
    endpoints: &mut NodeEndpoints,
    (topic_id, requested): (Uuid, &AcknowledgePartition),
    outcome: Result<(), ShareError>,
) -> PartitionData {
    let mut data = PartitionData { partition_index: requested.partition_index, ..PartitionData::default() };
    let Err((code, why)) = outcome else { return data };
    data.error_code = code.code();
    data.error_message = Some(why);
    if code == ErrorCode::NotLeaderOrFollower
        && let Ok(name) = context.state.topic_name("", topic_id, true)
        && let Some((leader_id, leader_epoch)) =
            endpoints.current_leader(context.state, &name, requested.partition_index)
    {
        data.current_leader = LeaderIdAndEpoch { leader_id, leader_epoch };
    }
    data
}
