//! Heartbeat (12), versions 0–4: a member of a classic group is alive. Static members from 3 on.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::heartbeat::{HeartbeatRequest, HeartbeatResponse};

use super::{Call, Serve, Served};
use crate::group::Committer;

impl Serve for HeartbeatRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<HeartbeatResponse> {
        let code = heartbeat(self, call).err().unwrap_or(ErrorCode::None);
        Served::Answer(HeartbeatResponse { error_code: code.code(), ..Default::default() })
    }

    fn throttle_time(response: &mut HeartbeatResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn heartbeat(request: &HeartbeatRequest, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    call.whole_fault()?;
    call.enter_group(&request.group_id)?;
    let group = call.state.groups.get_mut(&request.group_id).ok_or(ErrorCode::UnknownMemberId)?;
    let member = Committer {
        member_id: &request.member_id,
        instance_id: request.group_instance_id.as_deref(),
        epoch: request.generation_id,
    };
    group.classic_mut().ok_or(ErrorCode::UnknownMemberId)?.heartbeat(member, call.clock)?;
    call.late_fault()
}
