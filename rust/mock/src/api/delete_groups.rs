//! DeleteGroups (42), versions 0–3: delete empty groups and their offsets; error messages from version 3.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::delete_groups::{
    DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse,
};

use super::{HandlerResult, RequestContext, RequestHandler};

impl RequestHandler for DeleteGroupsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DeleteGroupsResponse> {
        let results = self.groups_names.iter().map(|group| {
            let rejected = delete(group, context).err();
            DeletableGroupResult {
                group_id: group.clone(),
                error_code: rejected.unwrap_or(ErrorCode::None).code(),
                error_message: rejected.map(|code| code.meaning().to_owned()),
            }
        });
        HandlerResult::Response(DeleteGroupsResponse { results: results.collect(), ..Default::default() })
    }

    fn throttle_time(response: &mut DeleteGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn delete(group: &str, context: &mut RequestContext<'_>) -> Result<(), ErrorCode> {
    context.check_any_fault()?;
    context.enter_group(group)?;
    context.state.groups.delete(group)?;
    context.state.share_partitions.delete_group(group);
    context.check_any_fault_after_handling()
}
