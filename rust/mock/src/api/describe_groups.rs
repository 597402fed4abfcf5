//! DescribeGroups (15), versions 0–6: the state and members of classic groups.
//!
//! An unknown group is reported as `Dead`, from version 6 as GROUP_ID_NOT_FOUND; so is a KIP-848 group.
//! Only a stable group shows metadata and assignments. Static members from version 4.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup, DescribedGroupMember,
};

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::classic::{ClassicGroup, Member, State};

/// The first version in which an unknown group is an error.
const UNKNOWN_IS_AN_ERROR: i16 = 6;

impl RequestHandler for DescribeGroupsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeGroupsResponse> {
        let groups = self.groups.iter().map(|group| describe(context, group)).collect();
        HandlerResult::Response(DescribeGroupsResponse { groups, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(context: &mut RequestContext<'_>, group: &str) -> DescribedGroup {
    let checked = context.check_any_fault().and_then(|()| context.enter_group(group));
    let known = context.state.groups.get(group).and_then(|group| group.classic());
    let group_id = group.to_owned();
    match (checked, known) {
        (Ok(()), Some(group)) => DescribedGroup { group_id, ..show(group) },
        (Ok(()), None) if context.version < UNKNOWN_IS_AN_ERROR => {
            DescribedGroup { group_id, group_state: "Dead".to_owned(), ..DescribedGroup::default() }
        }
        (Ok(()), None) => DescribedGroup {
            error_code: ErrorCode::GroupIdNotFound.code(),
            error_message: Some(format!("Group {group_id} not found.")),
            group_state: "Dead".to_owned(),
            group_id,
            ..DescribedGroup::default()
        },
        (Err(code), _) => DescribedGroup { error_code: code.code(), group_id, ..DescribedGroup::default() },
    }
}

fn show(group: &ClassicGroup) -> DescribedGroup {
    let protocol = group.protocol().filter(|_| group.state() == State::Stable);
    let member = |member: &Member| DescribedGroupMember {
        member_id: member.id.clone(),
        group_instance_id: member.profile.instance_id.clone(),
        client_id: member.profile.client_id.clone(),
        client_host: member.profile.client_host.clone(),
        member_metadata: protocol.and_then(|name| member.metadata(name)).cloned().unwrap_or_default(),
        member_assignment: protocol.map(|_| member.assignment.clone()).unwrap_or_default(),
    };
    DescribedGroup {
        group_state: group.state().name().to_owned(),
        protocol_type: group.protocol_type().unwrap_or_default().to_owned(),
        protocol_data: protocol.unwrap_or_default().to_owned(),
        members: group.members().iter().map(member).collect(),
        ..DescribedGroup::default()
    }
}
