//! Refusals of what concerns share groups.

use super::{Named, each, refusals};

/// The group of a request, if it names one.
fn group(group: Option<&String>) -> Option<Named<'_>> {
    group.map(|group| Named::Group(group))
}

refusals! {
    ShareGroupHeartbeat: share_group_heartbeat::ShareGroupHeartbeatRequest, r, codes =>
        ShareGroupHeartbeatResponse {
            error_code: codes.first(
                [Named::Group(&r.group_id)]
                    .into_iter()
                    .chain(r.subscribed_topic_names.iter().flatten().map(|topic| Named::Topic(topic, None))),
            ),
            error_message: codes.message(),
            ..Default::default()
        };
    ShareGroupDescribe: share_group_describe::ShareGroupDescribeRequest, r, codes => ShareGroupDescribeResponse {
        groups: each(r.group_ids, |group_id| DescribedGroup {
            error_code: codes.group(&group_id),
            error_message: codes.message(),
            group_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    ShareFetch: share_fetch::ShareFetchRequest, r, codes => ShareFetchResponse {
        error_code: codes.first(group(r.group_id.as_ref()).into_iter().chain(
            r.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|at| Named::TopicId(topic.topic_id, Some(at.partition_index)))
            }),
        )),
        error_message: codes.message(),
        ..Default::default()
    };
    ShareAcknowledge: share_acknowledge::ShareAcknowledgeRequest, r, codes => ShareAcknowledgeResponse {
        error_code: codes.first(group(r.group_id.as_ref()).into_iter().chain(
            r.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|at| Named::TopicId(topic.topic_id, Some(at.partition_index)))
            }),
        )),
        error_message: codes.message(),
        ..Default::default()
    };
    DescribeShareGroupOffsets: describe_share_group_offsets::DescribeShareGroupOffsetsRequest, r, codes =>
        DescribeShareGroupOffsetsResponse {
            groups: each(r.groups, |group| DescribeShareGroupOffsetsResponseGroup {
                error_code: codes.first([Named::Group(&group.group_id)].into_iter().chain(
                    group.topics.iter().flatten().map(|topic| Named::Topic(&topic.topic_name, None)),
                )),
                error_message: codes.message(),
                group_id: group.group_id,
                ..Default::default()
            }),
            ..Default::default()
        };
    AlterShareGroupOffsets: alter_share_group_offsets::AlterShareGroupOffsetsRequest, r, codes =>
        AlterShareGroupOffsetsResponse {
            error_code: codes.first([Named::Group(&r.group_id)].into_iter().chain(
                r.topics.iter().map(|topic| Named::Topic(&topic.topic_name, None)),
            )),
            error_message: codes.message(),
            ..Default::default()
        };
    DeleteShareGroupOffsets: delete_share_group_offsets::DeleteShareGroupOffsetsRequest, r, codes =>
        DeleteShareGroupOffsetsResponse {
            error_code: codes.first([Named::Group(&r.group_id)].into_iter().chain(
                r.topics.iter().map(|topic| Named::Topic(&topic.topic_name, None)),
            )),
            error_message: codes.message(),
            ..Default::default()
        };
}
