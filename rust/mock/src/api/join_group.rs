//! JoinGroup (11), versions 0–9: enter a classic group; the answer comes when all have joined.
//!
//! From 4 on a new member is told its id and has to join once more with it; static members from 5 on;
//! from 9 on a static leader that comes back is told to skip the assignment.

use std::time::Duration;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::join_group::{JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember};
use tokio::sync::oneshot::error::TryRecvError;

use super::{Call, Pending, Serve, Served};
use crate::group::classic::{Join, JoinRules, Joined, Profile, Reply};

/// The first version in which a member has to know its id.
const ID_REQUIRED: i16 = 4;
/// The first version in which a leader may be told not to assign.
const MAY_SKIP: i16 = 9;
/// The first version in which there may be no protocol.
const NULL_PROTOCOL: i16 = 7;

impl Serve for JoinGroupRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<JoinGroupResponse> {
        let joined = match join(self, call) {
            Ok(Some(joined)) => match call.late_fault() {
                Ok(()) => joined,
                Err(code) => Joined::refused(code, self.member_id.clone()),
            },
            Ok(None) => return Served::Until(call.group_due(&self.group_id)),
            Err(code) => Joined::refused(code, self.member_id.clone()),
        };
        Served::Answer(build_response(joined, call.version))
    }

    fn throttle_time(response: &mut JoinGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn join(request: &JoinGroupRequest, call: &mut Call<'_>) -> Result<Option<Joined>, ErrorCode> {
    call.whole_fault()?;
    call.enter_group(&request.group_id)?;
    let mut receiver = match std::mem::take(call.pending) {
        Pending::Join(receiver) => receiver,
        _ => match enter(request, call)? {
            Reply::Now(joined) => return Ok(Some(joined)),
            Reply::Later(receiver) => receiver,
        },
    };
    match receiver.try_recv() {
        Ok(joined) => Ok(Some(joined)),
        Err(TryRecvError::Empty) => {
            *call.pending = Pending::Join(receiver);
            Ok(None)
        }
        Err(TryRecvError::Closed) => Err(ErrorCode::UnknownMemberId),
    }
}

fn enter(request: &JoinGroupRequest, call: &mut Call<'_>) -> Result<Reply<Joined>, ErrorCode> {
    let config = &call.state.groups.config;
    let rules = JoinRules { initial_delay: config.initial_rebalance_delay, max_size: config.max_size };
    if request.group_id.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    let session_timeout = milliseconds(request.session_timeout_ms);
    if !(config.min_session_timeout..=config.max_session_timeout).contains(&session_timeout) {
        return Err(ErrorCode::InvalidSessionTimeout);
    }
    let client_id = call.client_id.unwrap_or_default();
    let name = request.group_instance_id.as_deref().unwrap_or(client_id);
    let new_id = format!("{name}-{}", call.state.new_member_suffix());
    let join = Join {
        member_id: request.member_id.clone(),
        new_id,
        protocol_type: request.protocol_type.clone(),
        id_required: call.version >= ID_REQUIRED,
        may_skip: call.version >= MAY_SKIP,
        profile: Profile {
            instance_id: request.group_instance_id.clone(),
            client_id: client_id.to_owned(),
            client_host: call.client_host(),
            session_timeout,
            // The first version knows only sessions.
            rebalance_timeout: match request.rebalance_timeout_ms {
                -1 => session_timeout,
                timeout => milliseconds(timeout),
            },
            protocols: request.protocols.iter().map(|p| (p.name.clone(), own(&p.metadata))).collect(),
        },
    };
    let groups = &mut call.state.groups;
    let group = match groups.get_mut(&request.group_id) {
        Some(group) => group,
        None if request.member_id.is_empty() => groups.get_or_create(&request.group_id),
        None => return Err(ErrorCode::UnknownMemberId),
    };
    let group = group.become_classic().ok_or(ErrorCode::InconsistentGroupProtocol)?;
    let reply = group.join(join, rules, call.clock);
    call.changed = true;
    // Without a delay the first generation is made at once.
    groups.advance(&request.group_id, call.clock);
    Ok(reply)
}

/// The bytes without the request's frame, which they would keep in memory.
fn own(bytes: &bytes::Bytes) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(bytes)
}

fn milliseconds(count: i32) -> Duration {
    Duration::from_millis(u64::try_from(count).unwrap_or(0))
}

fn build_response(joined: Joined, version: i16) -> JoinGroupResponse {
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
