//! DeleteGroups (42), versions 0–3: delete groups that are empty, with their offsets. Messages from 3 on.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_groups::{
    DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse,
};

use super::{Call, Serve, Served};

impl Serve for DeleteGroupsRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<DeleteGroupsResponse> {
        let results = self.groups_names.iter().map(|group| {
            let refused = delete(group, call).err();
            DeletableGroupResult {
                group_id: group.clone(),
                error_code: refused.unwrap_or(ErrorCode::None).code(),
                error_message: refused.map(|code| code.meaning().to_owned()),
            }
        });
        Served::Answer(DeleteGroupsResponse { results: results.collect(), ..Default::default() })
    }

    fn throttle_time(response: &mut DeleteGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn delete(group: &str, call: &mut Call<'_>) -> Result<(), ErrorCode> {
    call.whole_fault()?;
    call.enter_group(group)?;
    call.state.groups.delete(group)?;
    call.late_fault()
}
