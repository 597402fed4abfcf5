//! ListGroups (16), versions 0–5: the groups that this broker coordinates, filtered by state from
//! version 4 and by type from version 5.

use ottla_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::Group;

impl RequestHandler for ListGroupsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ListGroupsResponse> {
        let mut response = ListGroupsResponse::default();
        if let Err(code) = context.check_any_fault() {
            response.error_code = code.code();
            return HandlerResult::Response(response);
        }
        context.changed |= context.state.groups.advance_all(context.clock);
        let listed = |(id, group): (&String, &Group)| ListedGroup {
            group_id: id.clone(),
            protocol_type: group.protocol_type().to_owned(),
            group_state: group.state().to_owned(),
            group_type: group.kind_name().to_owned(),
        };
        let requested = |listed: &ListedGroup| {
            admits(&self.states_filter, &listed.group_state) && admits(&self.types_filter, &listed.group_type)
        };
        let groups = context
            .state
            .groups
            .iter()
            .filter(|(id, _)| context.state.coordinator(id) == Some(context.broker));
        response.groups = groups.map(listed).filter(requested).collect();
        HandlerResult::Response(response)
    }

    fn throttle_time(response: &mut ListGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn admits(filter: &[String], name: &str) -> bool {
    filter.is_empty() || filter.iter().any(|requested| requested.eq_ignore_ascii_case(name))
}
