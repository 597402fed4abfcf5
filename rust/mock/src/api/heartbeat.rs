//! Heartbeat (12), versions 0–4: keeps a member of a classic group alive. Static members from version 3.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::MemberIdentity;

impl RequestHandler for HeartbeatRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<HeartbeatResponse> {
        let code = heartbeat(self, context).err().unwrap_or(ErrorCode::None);
        HandlerResult::Response(HeartbeatResponse { error_code: code.code(), ..Default::default() })
    }

    fn throttle_time(response: &mut HeartbeatResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn heartbeat(request: &HeartbeatRequest, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_any_fault()?;
    context.enter_group(&request.group_id)?;
    let group = context.state.groups.get_mut(&request.group_id).ok_or(ErrorCode::UnknownMemberId)?;
    let member = MemberIdentity {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        epoch: request.generation_id,
    };
    group.classic_mut().ok_or(ErrorCode::UnknownMemberId)?.heartbeat(member, context.clock)?;
    context.check_any_fault_after_handling()
}
