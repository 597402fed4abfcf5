//! LeaveGroup (13), versions 0–5: members leave a classic group: one, or many from 3 on, where
//! administrators may name static members by their instance ids alone.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::leave_group::{
    LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse,
};

use super::{Call, Serve, Served};

/// The first version that takes many members.
const MANY: i16 = 3;

impl Serve for LeaveGroupRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<LeaveGroupResponse> {
        let one = [MemberIdentity { member_id: self.member_id.clone(), ..MemberIdentity::default() }];
        let leaving = if call.version >= MANY { &self.members[..] } else { &one };
        let mut response = LeaveGroupResponse::default();
        match leave(&self.group_id, leaving, call) {
            Err(code) => response.error_code = code.code(),
            Ok(results) if call.version < MANY => {
                let refused = results.into_iter().find_map(Result::err);
                response.error_code = refused.unwrap_or(ErrorCode::None).code();
            }
            Ok(results) => {
                let answer = |(member, result): (&MemberIdentity, Result<(), ErrorCode>)| MemberResponse {
                    member_id: member.member_id.clone(),
                    group_instance_id: member.group_instance_id.clone(),
                    error_code: result.err().unwrap_or(ErrorCode::None).code(),
                };
                response.members = leaving.iter().zip(results).map(answer).collect();
            }
        }
        Served::Answer(response)
    }

    fn throttle_time(response: &mut LeaveGroupResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn leave(
    group: &str,
    leaving: &[MemberIdentity],
    call: &mut Call<'_>,
) -> Result<Vec<Result<(), ErrorCode>>, ErrorCode> {
    call.whole_fault()?;
    call.enter_group(group)?;
    if group.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    let members: Vec<_> =
        leaving.iter().map(|m| (m.member_id.as_str(), m.group_instance_id.as_deref())).collect();
    let Some(group) = call.state.groups.get_mut(group).and_then(|group| group.classic_mut()) else {
        return Ok(vec![Err(ErrorCode::UnknownMemberId); leaving.len()]);
    };
    call.changed = true;
    let left = group.leave(&members, call.clock);
    call.late_fault().map(|()| left)
}
