//! ConsumerGroupDescribe (69), versions 0–1: the state and members of KIP-848 groups; the kind of each
//! member from 1 on.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::consumer_group_describe::{
    Assignment, ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse, DescribedGroup, Member,
    TopicPartitions,
};
use ottla_protocol::wire::Uuid;

use super::{Call, Serve, Served};
use crate::group::consumer::{self, ConsumerGroup, Partitions};
use crate::state::ClusterState;

/// The first version that tells classic members from others.
const MEMBER_TYPES: i16 = 1;
/// A member that speaks KIP-848.
const CONSUMER: i8 = 1;

impl Serve for ConsumerGroupDescribeRequest {
    fn serve(&self, call: &mut Call<'_>) -> Served<ConsumerGroupDescribeResponse> {
        let groups = self.group_ids.iter().map(|group| describe(call, group)).collect();
        Served::Answer(ConsumerGroupDescribeResponse { groups, ..Default::default() })
    }

    fn throttle_time(response: &mut ConsumerGroupDescribeResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(call: &mut Call<'_>, group: &str) -> DescribedGroup {
    let checked = call.whole_fault().and_then(|()| call.enter_group(group));
    let known = call.state.groups.get(group).and_then(|group| group.consumer());
    let group_id = group.to_owned();
    match (checked, known) {
        (Ok(()), Some(group)) => DescribedGroup { group_id, ..show(group, call.state, call.version) },
        (Ok(()), None) => DescribedGroup {
            error_code: ErrorCode::GroupIdNotFound.code(),
            error_message: Some(format!("Group {group_id} not found.")),
            group_id,
            ..DescribedGroup::default()
        },
        (Err(code), _) => DescribedGroup { error_code: code.code(), group_id, ..DescribedGroup::default() },
    }
}

fn show(group: &ConsumerGroup, state: &ClusterState, version: i16) -> DescribedGroup {
    let member = |(id, member): (&String, &consumer::Member)| Member {
        member_id: id.clone(),
        instance_id: member.instance_id.clone(),
        rack_id: member.rack_id.clone(),
        member_epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        subscribed_topic_names: member.names.iter().cloned().collect(),
        subscribed_topic_regex: member.regex_text.clone(),
        assignment: build_assignment(&member.assigned, state),
        target_assignment: build_assignment(&group.target(id), state),
        member_type: if version >= MEMBER_TYPES { CONSUMER } else { -1 },
    };
    DescribedGroup {
        group_state: group.state().to_owned(),
        group_epoch: group.epoch(),
        assignment_epoch: group.assignment_epoch(),
        assignor_name: group.assignor().name().to_owned(),
        members: group.members().iter().map(member).collect(),
        ..DescribedGroup::default()
    }
}

fn build_assignment(partitions: &Partitions, state: &ClusterState) -> Assignment {
    let mut topics: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for (topic, partition) in partitions {
        topics.entry(*topic).or_default().push(*partition);
    }
    // What is gone has no name to show.
    let named = topics.into_iter().filter_map(|(topic_id, partitions)| {
        let topic_name = state.topic_name("", topic_id, true).ok()?;
        Some(TopicPartitions { topic_id, topic_name, partitions })
    });
    Assignment { topic_partitions: named.collect() }
}
