//! SyncGroup (14), versions 0–5: distributes the leader's assignments; a response waits for the leader.
//!
//! Static members from version 3. From version 5, the request must name the group's protocol type and name.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::sync_group::{SyncGroupRequest, SyncGroupResponse};
use tokio::sync::oneshot::error::TryRecvError;

use super::{HandlerResult, Pending, RequestContext, RequestHandler};
use crate::group::MemberIdentity;
use crate::group::classic::{Deferred, SyncGroup, SyncGroupResult};

/// The first version with the protocol type and name.
const NAMES_PROTOCOL: i16 = 5;

impl RequestHandler for SyncGroupRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<SyncGroupResponse> {
        let synced = match sync(self, context) {
            Ok(Some(synced)) => {
                context.check_any_fault_after_handling().map_or_else(SyncGroupResult::error, |()| synced)
            }
            Ok(None) => return HandlerResult::WaitUntil(context.group_deadline(&self.group_id)),
            Err(code) => SyncGroupResult::error(code),
        };
        HandlerResult::Response(SyncGroupResponse {
            error_code: synced.error.unwrap_or(ErrorCode::None).code(),
            protocol_type: synced.protocol_type,
            protocol_name: synced.protocol,
            assignment: synced.assignment,
            ..SyncGroupResponse::default()
        })
    }

    fn throttle_time(response: &mut SyncGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn sync(
    request: &SyncGroupRequest,
    context: &mut RequestContext<'_>,
) -> Result<Option<SyncGroupResult>, ErrorCode> {
    context.check_any_fault()?;
    context.enter_group(&request.group_id)?;
    let mut receiver = match std::mem::take(context.pending) {
        Pending::Sync(receiver) => receiver,
        _ => match send_sync(request, context)? {
            Deferred::Ready(synced) => return Ok(Some(synced)),
            Deferred::Pending(receiver) => receiver,
        },
    };
    match receiver.try_recv() {
        Ok(synced) => Ok(Some(synced)),
        Err(TryRecvError::Empty) => {
            *context.pending = Pending::Sync(receiver);
            Ok(None)
        }
        Err(TryRecvError::Closed) => Err(ErrorCode::UnknownMemberId),
    }
}

fn send_sync(
    request: &SyncGroupRequest,
    context: &mut RequestContext<'_>,
) -> Result<Deferred<SyncGroupResult>, ErrorCode> {
    let unnamed = request.protocol_type.is_none() || request.protocol_name.is_none();
    if context.version >= NAMES_PROTOCOL && unnamed {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    let group = context.state.groups.get_mut(&request.group_id).ok_or(ErrorCode::UnknownMemberId)?;
    let group = group.classic_mut().ok_or(ErrorCode::UnknownMemberId)?;
    let sync = SyncGroup {
        member: MemberIdentity {
            member_id: &request.member_id,
            instance_id: request.group_instance_id.as_deref(),
            epoch: request.generation_id,
        },
        protocol_type: request.protocol_type.as_deref(),
        protocol: request.protocol_name.as_deref(),
        assignments: request.assignments.iter().map(|a| (a.member_id.as_str(), &a.assignment)).collect(),
    };
    let reply = group.sync(&sync, context.clock);
    context.changed = true;
    Ok(reply)
}
