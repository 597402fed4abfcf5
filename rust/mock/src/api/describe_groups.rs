//! DescribeGroups (15), versions 0–6: the state of classic groups. The mock has no groups: each one
//! is dead, as one that nobody has joined, and is an error from version 6 on.

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_groups::{
    DescribeGroupsRequest, DescribeGroupsResponse, DescribedGroup,
};

use super::{Call, Serve, Served};

/// The first version in which a group that does not exist is an error.
const UNKNOWN_IS_AN_ERROR: i16 = 6;

impl Serve for DescribeGroupsRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<DescribeGroupsResponse> {
        let groups = self.groups.iter().map(|group| describe(call, group)).collect();
        Served::Answer(DescribeGroupsResponse { groups, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeGroupsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(call: &Call<'_>, group: &str) -> DescribedGroup {
    let checked = call.whole_fault().and_then(|()| match call.state.coordinator(group) {
        Some(id) if id != call.broker => Err(ErrorCode::NotCoordinator),
        Some(_) if call.version < UNKNOWN_IS_AN_ERROR => Ok(()),
        Some(_) => Err(ErrorCode::GroupIdNotFound),
        None => Err(ErrorCode::CoordinatorNotAvailable),
    });
    DescribedGroup {
        error_code: checked.err().map_or(0, ErrorCode::code),
        group_id: group.to_owned(),
        group_state: if checked.is_ok() { "Dead".to_owned() } else { String::new() },
        ..DescribedGroup::default()
    }
}
