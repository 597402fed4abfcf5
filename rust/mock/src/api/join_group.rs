//! JoinGroup (11), versions 0–9: enter a classic group; the response waits until all members have joined.
//!
//! From version 4, a new member gets its id with MEMBER_ID_REQUIRED and joins again with it. Static members
//! from version 5. From version 9, a static leader that returns gets `skip_assignment`.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use tokio::sync::oneshot::error::TryRecvError;

use super::{HandlerResult, Pending, RequestContext, RequestHandler};
use crate::group::classic::{Deferred, JoinGroup, JoinGroupResult, JoinRules, Profile};

/// The first version that returns MEMBER_ID_REQUIRED to a new member.
const ID_REQUIRED: i16 = 4;
/// The first version with `skip_assignment`.
const SKIP_ASSIGNMENT: i16 = 9;
/// The first version in which the protocol may be null.
const NULL_PROTOCOL: i16 = 7;

impl RequestHandler for JoinGroupRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<JoinGroupResponse> {
        let joined = match join(self, context) {
            Ok(Some(joined)) => match context.check_any_fault_after_handling() {
                Ok(()) => joined,
                Err(code) => JoinGroupResult::error(code, self.member_id.clone()),
            },
            Ok(None) => return HandlerResult::WaitUntil(context.group_deadline(&self.group_id)),
            Err(code) => JoinGroupResult::error(code, self.member_id.clone()),
        };
        HandlerResult::Response(build_response(joined, context.version))
    }

    fn throttle_time(response: &mut JoinGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn join(
    request: &JoinGroupRequest,
    context: &mut RequestContext<'_>,
) -> Result<Option<JoinGroupResult>, ErrorCode> {
    context.check_any_fault()?;
    context.enter_group(&request.group_id)?;
    let mut receiver = match std::mem::take(context.pending) {
        Pending::Join(receiver) => receiver,
        _ => match start_join(request, context)? {
            Deferred::Ready(joined) => return Ok(Some(joined)),
            Deferred::Pending(receiver) => receiver,
        },
    };
    match receiver.try_recv() {
        Ok(joined) => Ok(Some(joined)),
        Err(TryRecvError::Empty) => {
            *context.pending = Pending::Join(receiver);
            Ok(None)
        }
        Err(TryRecvError::Closed) => Err(ErrorCode::UnknownMemberId),
    }
}

fn start_join(
    request: &JoinGroupRequest,
    context: &mut RequestContext<'_>,
) -> Result<Deferred<JoinGroupResult>, ErrorCode> {
    let config = &context.state.groups.config;
    let rules = JoinRules { initial_delay: config.initial_rebalance_delay, max_size: config.max_size };
    if request.group_id.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    let session_timeout = milliseconds(request.session_timeout_ms);
    if !(config.min_session_timeout..=config.max_session_timeout).contains(&session_timeout) {
        return Err(ErrorCode::InvalidSessionTimeout);
    }
    let client_id = context.client_id.unwrap_or_default();
    let name = request.group_instance_id.as_deref().unwrap_or(client_id);
    let new_id = format!("{name}-{}", context.state.new_member_suffix());
    let join = JoinGroup {
        member_id: request.member_id.clone(),
        new_id,
        protocol_type: request.protocol_type.clone(),
        id_required: context.version >= ID_REQUIRED,
        may_skip_assignment: context.version >= SKIP_ASSIGNMENT,
        profile: Profile {
            instance_id: request.group_instance_id.clone(),
            client_id: client_id.to_owned(),
            client_host: context.client_host(),
            session_timeout,
            // Version 0 has only a session timeout.
            rebalance_timeout: match request.rebalance_timeout_ms {
                -1 => session_timeout,
                timeout => milliseconds(timeout),
            },
            protocols: request.protocols.iter().map(|p| (p.name.clone(), copy(&p.metadata))).collect(),
        },
    };
    let groups = &mut context.state.groups;
    let group = match groups.get_mut(&request.group_id) {
        Some(group) => group,
        None if request.member_id.is_empty() => groups.get_or_create(&request.group_id),
        None => return Err(ErrorCode::UnknownMemberId),
    };
    let group = group.become_classic().ok_or(ErrorCode::InconsistentGroupProtocol)?;
    let reply = group.join(join, rules, context.clock);
    context.changed = true;
    // Without an initial delay, the first generation completes at once.
    groups.advance(&request.group_id, context.clock);
    Ok(reply)
}

/// Copies the bytes: a slice would keep the whole request frame in memory.
fn copy(bytes: &bytes::Bytes) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(bytes)
}

fn milliseconds(count: i32) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}

fn build_response(joined: JoinGroupResult, version: i16) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|member| JoinGroupResponseMember {
        member_id: member.member_id,
        group_instance_id: member.instance_id,
        metadata: member.metadata,
    });
    JoinGroupResponse {
        error_code: joined.error.unwrap_or(ErrorCode::None).code(),
        generation_id: joined.generation,
        protocol_type: joined.protocol_type,
        protocol_name: if version < NULL_PROTOCOL {
            Some(joined.protocol.unwrap_or_default())
        } else {
            joined.protocol
        },
        leader: joined.leader,
        skip_assignment: joined.skip_assignment,
        member_id: joined.member_id,
        members: members.collect(),
        ..JoinGroupResponse::default()
    }
}
