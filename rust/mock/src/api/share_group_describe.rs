//! ShareGroupDescribe (77), version 1: the state and members of share groups (KIP-932).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::share_group_describe::{
    Assignment, DescribedGroup, Member, ShareGroupDescribeRequest, ShareGroupDescribeResponse,
    TopicPartitions,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::group::consumer::Partitions;
use crate::group::share::{ASSIGNOR, ShareGroup, ShareMember};
use crate::state::ClusterState;

impl RequestHandler for ShareGroupDescribeRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<ShareGroupDescribeResponse> {
        let groups = self.group_ids.iter().map(|group| describe(context, group)).collect();
        HandlerResult::Response(ShareGroupDescribeResponse { groups, ..Default::default() })
    }

    fn throttle_time(response: &mut ShareGroupDescribeResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(context: &mut RequestContext<'_>, group: &str) -> DescribedGroup {
    let checked = context.check_any_fault().and_then(|()| context.check_share_groups());
    let checked = checked.and_then(|()| context.enter_group(group));
    let known = context.state.groups.get(group).and_then(|group| group.share());
    let group_id = group.to_owned();
    match (checked, known) {
        (Ok(()), Some(group)) => DescribedGroup { group_id, ..show(group, context.state) },
        (Ok(()), None) => DescribedGroup {
            error_code: ErrorCode::GroupIdNotFound.code(),
            error_message: Some(format!("Group {group_id} not found.")),
            group_id,
            ..DescribedGroup::default()
        },
        (Err(code), _) => DescribedGroup { error_code: code.code(), group_id, ..DescribedGroup::default() },
    }
}

fn show(group: &ShareGroup, state: &ClusterState) -> DescribedGroup {
    let member = |(id, member): (&String, &ShareMember)| Member {
        member_id: id.clone(),
        rack_id: member.rack_id.clone(),
        member_epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscribed_topic_names: member.subscribed_topic_names.iter().cloned().collect(),
        assignment: build_assignment(&member.assigned, state),
    };
    DescribedGroup {
        group_state: group.state().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.assignment_epoch(),
        assignor_name: ASSIGNOR.to_owned(),
        members: group.members().iter().map(member).collect(),
        ..DescribedGroup::default()
    }
}

fn build_assignment(partitions: &Partitions, state: &ClusterState) -> Assignment {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    // A deleted topic has no name to show.
    let named = topics.into_iter().filter_map(|(topic_id, partitions)| {
        let topic_name = state.topic_name("", topic_id, true).ok()?;
        Some(TopicPartitions { topic_id, topic_name, partitions })
    });
    Assignment { topic_partitions: named.collect() }
}
