//! ListGroups (16), versions 0–5: the groups that this broker coordinates; by state from 4 on, by kind
//! from 5 on.

use ottla_protocol::messages::list_groups::{ListGroupsRequest, ListGroupsResponse, ListedGroup};

use super::{Call, Serve, Served};
use crate::group::Group;

impl Serve for ListGroupsRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<ListGroupsResponse> {
        let mut response = ListGroupsResponse::default();
        if let Err(code) = call.whole_fault() {
            response.error_code = code.code();
            return Served::Answer(response);
        }
        call.changed |= call.state.groups.advance_all(call.clock);
        let listed = |(id, group): (&String, &Group)| ListedGroup {
            group_id: id.clone(),
            protocol_type: group.protocol_type().to_owned(),
            group_state: group.state().to_owned(),
            group_type: group.kind_name().to_owned(),
        };
        let wanted = |listed: &ListedGroup| {
            admits(&self.states_filter, &listed.group_state) && admits(&self.types_filter, &listed.group_type)
        };
        let groups =
            call.state.groups.iter().filter(|(id, _)| call.state.coordinator(id) == Some(call.broker));
        response.groups = groups.map(listed).filter(wanted).collect();
        Served::Answer(response)
    }

    fn throttle_time(response: &mut ListGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn admits(filter: &[String], name: &str) -> bool {
    filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(name))
}
