//! LeaveGroup (13), versions 0–5: remove members from a classic group, several at once from version 3.
//! Administrators may name static members by their instance ids alone.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{
    LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};

/// The first version that accepts several members.
const BATCHED: i16 = 3;

impl RequestHandler for LeaveGroupRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<LeaveGroupResponse> {
        let one = [MemberIdentity { member_id: self.member_id.clone(), ..MemberIdentity::default() }];
        let leaving = if context.version >= BATCHED { &self.members[..] } else { &one };
        let mut response = LeaveGroupResponse::default();
        match leave(&self.group_id, leaving, context) {
            Err(code) => response.error_code = code.code(),
            Ok(results) if context.version < BATCHED => {
                let rejected = results.into_iter().find_map(Result::err);
                response.error_code = rejected.unwrap_or(ErrorCode::None).code();
            }
            Ok(results) => {
                let response_for =
                    |(member, result): (&MemberIdentity, Result<(), ErrorCode>)| MemberResponse {
                        member_id: member.member_id.clone(),
                        group_instance_id: member.group_instance_id.clone(),
                        error_code: result.err().unwrap_or(ErrorCode::None).code(),
                    };
                response.members = leaving.iter().zip(results).map(response_for).collect();
            }
        }
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut LeaveGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn leave(
    group: &str,
    leaving: &[MemberIdentity],
    context: &mut RequestContext<'_>,
) -> Result<Vec<Result<(), ErrorCode>>, ErrorCode> {
    context.check_any_fault()?;
    context.enter_group(group)?;
    if group.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    let members: Vec<_> =
        leaving.iter().map(|m| (m.member_id.as_str(), m.group_instance_id.as_deref())).collect();
    let Some(group) = context.state.groups.get_mut(group).and_then(|group| group.classic_mut()) else {
        return Ok(vec![Err(ErrorCode::UnknownMemberId); leaving.len()]);
    };
    context.changed = true;
    let left = group.leave(&members, context.clock);
    context.check_any_fault_after_handling().map(|()| left)
}
