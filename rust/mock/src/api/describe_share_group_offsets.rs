//! DescribeShareGroupOffsets (90), versions 0–1: the start offsets of share groups (KIP-932); the lag from version 1
//! (KIP-1226).

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;
use ottla_protocol::messages::describe_share_group_offsets::{
    DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse, DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition, DescribeShareGroupOffsetsResponseTopic,
};
use ottla_protocol::wire::Uuid;

use super::{HandlerResult, RequestContext, RequestHandler};
use crate::state::ClusterState;

/// The first version with the lag.
const LAG: i16 = 1;

impl RequestHandler for DescribeShareGroupOffsetsRequest {
    fn handle(&self, context: &mut RequestContext<'_>) -> HandlerResult<DescribeShareGroupOffsetsResponse> {
        let groups = self.groups.iter().map(|group| describe(context, group)).collect();
        HandlerResult::Response(DescribeShareGroupOffsetsResponse { groups, ..Default::default() })
    }

    fn throttle_time(response: &mut DescribeShareGroupOffsetsResponse) -> Option<&mut i32> {
        Some(&mut response.throttle_time_ms)
    }
}

fn describe(
    context: &mut RequestContext<'_>,
    requested: &DescribeShareGroupOffsetsRequestGroup,
) -> DescribeShareGroupOffsetsResponseGroup {
    let group_id = requested.group_id.clone();
    let checked = context.check_any_fault().and_then(|()| context.check_share_groups());
    if let Err(code) = checked.and_then(|()| context.enter_group(&group_id)) {
        return DescribeShareGroupOffsetsResponseGroup {
            group_id,
            error_code: code.code(),
            error_message: Some(code.meaning().to_owned()),
            ..Default::default()
        };
    }
    let topics = match &requested.topics {
        Some(topics) => topics
            .iter()
            .map(|topic| {
                let id = context.state.topic(&topic.topic_name).map(|known| known.id);
                build_topic(context, &group_id, &topic.topic_name, id, &topic.partitions)
            })
            .collect(),
        None => known_topics(context.state, &group_id)
            .iter()
            .map(|(name, (id, partitions))| build_topic(context, &group_id, name, Some(*id), partitions))
            .collect(),
    };
    DescribeShareGroupOffsetsResponseGroup { group_id, topics, ..Default::default() }
}

/// The partitions that the group knows, by topic.
fn known_topics(state: &ClusterState, group: &str) -> BTreeMap<String, (Uuid, Vec<i32>)> {
    let mut topics: BTreeMap<String, (Uuid, Vec<i32>)> = BTreeMap::new();
    for ((id, index), _) in state.share_partitions.of_group(group) {
        if let Ok(name) = state.topic_name("", *id, true) {
            topics.entry(name).or_insert_with(|| (*id, Vec::new())).1.push(*index);
        }
    }
    topics
}

fn build_topic(
    context: &RequestContext<'_>,
    group: &str,
    name: &str,
    id: Option<Uuid>,
    partitions: &[i32],
) -> DescribeShareGroupOffsetsResponseTopic {
    let partitions = partitions.iter().map(|index| build_partition(context, group, (name, id), *index));
    DescribeShareGroupOffsetsResponseTopic {
        topic_name: name.to_owned(),
        topic_id: id.unwrap_or(Uuid::ZERO),
        partitions: partitions.collect(),
    }
}

fn build_partition(
    context: &RequestContext<'_>,
    group: &str,
    (name, id): (&str, Option<Uuid>),
    index: i32,
) -> DescribeShareGroupOffsetsResponsePartition {
    let mut described = DescribeShareGroupOffsetsResponsePartition {
        partition_index: index,
        start_offset: -1,
        ..Default::default()
    };
    let (Some(id), Ok(partition)) = (id, context.state.partition(name, index)) else {
        described.error_code = ErrorCode::UnknownTopicOrPartition.code();
        described.error_message = Some(ErrorCode::UnknownTopicOrPartition.meaning().to_owned());
        return described;
    };
    let share = context.state.share_partitions.get(group, (id, index));
    if let Some((share, persisted)) = share.and_then(|share| Some((share, share.persisted()?))) {
        described.start_offset = persisted.offset;
        described.leader_epoch = persisted.leader_epoch;
        described.lag = if context.version >= LAG { share.lag(partition.log.high_watermark()) } else { -1 };
    }
    described
}
