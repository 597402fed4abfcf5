//! Refusals of what concerns consumer groups of both protocols, and groups of Kafka Streams.

use super::{Codes, Named, each, refusals};

/// The topics of committed offsets, each partition with a code.
macro_rules! committed {
    ($codes:ident, $group:expr, $topics:expr, $topic_type:ident, $partition_type:ident) => {{
        // Also if no partition follows.
        _ = $codes.group($group);
        each($topics, |topic| $topic_type {
            partitions: each(topic.partitions, |partition| $partition_type {
                partition_index: partition.partition_index,
                error_code: $codes.first([
                    Named::Group($group),
                    super::groups::topic_named(&topic.name, topic.topic_id, partition.partition_index),
                ]),
                ..Default::default()
            }),
            name: topic.name,
            topic_id: topic.topic_id,
            ..Default::default()
        })
    }};
}
pub(super) use committed;

/// A partition of a topic with a name or an id.
pub(super) fn topic_named(name: &str, id: ottla_protocol::wire::Uuid, partition: i32) -> Named<'_> {
    match name {
        "" => Named::TopicId(id, Some(partition)),
        name => Named::Topic(name, Some(partition)),
    }
}

/// The kind of key of FindCoordinator for transactions.
const KEY_TRANSACTION: i8 = 1;

fn coordinated(kind: i8, key: &str) -> Named<'_> {
    match kind {
        KEY_TRANSACTION => Named::TransactionalId(key),
        // The key of the coordinator of a share partition begins with its group.
        _ => Named::Group(key.split(':').next().filter(|_| kind > KEY_TRANSACTION).unwrap_or(key)),
    }
}

/// The code of a group with its offsets: none if nothing speaks against it, and its partitions have codes.
fn of_group(codes: &Codes<'_>, group: &str, is_empty: bool) -> i16 {
    let refused = codes.refused(Named::Group(group));
    refused.unwrap_or_else(|| if is_empty { codes.group(group) } else { 0 })
}

/// The first version of FindCoordinator with several keys.
const FIRST_WITH_KEYS: i16 = 4;
/// The first version of OffsetFetch with several groups.
const FIRST_WITH_GROUPS: i16 = 8;
/// The first version of DescribeGroups with messages.
const FIRST_WITH_MESSAGE: i16 = 6;

refusals! {
    FindCoordinator: find_coordinator::FindCoordinatorRequest, r, codes, version => FindCoordinatorResponse {
        error_code: if version < FIRST_WITH_KEYS { codes.first([coordinated(r.key_type, &r.key)]) } else { 0 },
        error_message: codes.message(),
        node_id: if version < FIRST_WITH_KEYS { -1 } else { 0 },
        port: if version < FIRST_WITH_KEYS { -1 } else { 0 },
        coordinators: each(r.coordinator_keys, |key| Coordinator {
            error_code: codes.first([coordinated(r.key_type, &key)]),
            error_message: codes.message(),
            node_id: -1,
            port: -1,
            key,
            ..Default::default()
        }),
        ..Default::default()
    };
    JoinGroup: join_group::JoinGroupRequest, r, codes => JoinGroupResponse {
        error_code: codes.group(&r.group_id),
        protocol_name: Some(String::new()),
        member_id: r.member_id,
        ..Default::default()
    };
    SyncGroup: sync_group::SyncGroupRequest, r, codes => SyncGroupResponse {
        error_code: codes.group(&r.group_id),
        ..Default::default()
    };
    Heartbeat: heartbeat::HeartbeatRequest, r, codes => HeartbeatResponse {
        error_code: codes.group(&r.group_id),
        ..Default::default()
    };
    LeaveGroup: leave_group::LeaveGroupRequest, r, codes => LeaveGroupResponse {
        error_code: codes.group(&r.group_id),
        ..Default::default()
    };
    ConsumerGroupHeartbeat: consumer_group_heartbeat::ConsumerGroupHeartbeatRequest, r, codes =>
        ConsumerGroupHeartbeatResponse {
            error_code: codes.first(
                [Named::Group(&r.group_id)]
                    .into_iter()
                    .chain(r.subscribed_topic_names.iter().flatten().map(|topic| Named::Topic(topic, None))),
            ),
            error_message: codes.message(),
            ..Default::default()
        };
    StreamsGroupHeartbeat: streams_group_heartbeat::StreamsGroupHeartbeatRequest, r, codes =>
        StreamsGroupHeartbeatResponse {
            error_code: codes.first([Named::Group(&r.group_id)].into_iter().chain(
                r.topology.iter().flat_map(|topology| &topology.subtopologies).flat_map(|part| {
                    let sources = part.source_topics.iter().chain(&part.repartition_sink_topics);
                    let created = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
                    let sources = sources.map(|topic| Named::Topic(topic, None));
                    sources.chain(created.map(|info| Named::CreatedTopic(&info.name)))
                }),
            )),
            error_message: codes.message(),
            member_id: r.member_id,
            ..Default::default()
        };
    StreamsGroupTopologyDescriptionUpdate:
        streams_group_topology_description_update::StreamsGroupTopologyDescriptionUpdateRequest, r, codes =>
        StreamsGroupTopologyDescriptionUpdateResponse {
            error_code: codes.group(&r.group_id),
            error_message: codes.message(),
            ..Default::default()
        };
    DescribeGroups: describe_groups::DescribeGroupsRequest, r, codes, version => DescribeGroupsResponse {
        groups: each(r.groups, |group_id| DescribedGroup {
            error_code: codes.group(&group_id),
            error_message: codes.message().filter(|_| version >= FIRST_WITH_MESSAGE),
            group_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    ConsumerGroupDescribe: consumer_group_describe::ConsumerGroupDescribeRequest, r, codes =>
        ConsumerGroupDescribeResponse {
            groups: each(r.group_ids, |group_id| DescribedGroup {
                error_code: codes.group(&group_id),
                error_message: codes.message(),
                group_id,
                ..Default::default()
            }),
            ..Default::default()
        };
    StreamsGroupDescribe: streams_group_describe::StreamsGroupDescribeRequest, r, codes =>
        StreamsGroupDescribeResponse {
            groups: each(r.group_ids, |group_id| DescribedGroup {
                error_code: codes.group(&group_id),
                error_message: codes.message(),
                group_id,
                ..Default::default()
            }),
            ..Default::default()
        };
    DeleteGroups: delete_groups::DeleteGroupsRequest, r, codes => DeleteGroupsResponse {
        results: each(r.groups_names, |group_id| DeletableGroupResult {
            error_code: codes.group(&group_id),
            group_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    OffsetCommit: offset_commit::OffsetCommitRequest, r, codes => OffsetCommitResponse {
        topics: committed!(codes, &r.group_id, r.topics, OffsetCommitResponseTopic, OffsetCommitResponsePartition),
        ..Default::default()
    };
    OffsetFetch: offset_fetch::OffsetFetchRequest, r, codes, version => OffsetFetchResponse {
        error_code: match version < FIRST_WITH_GROUPS {
            true => of_group(codes, &r.group_id, r.topics.as_ref().is_none_or(Vec::is_empty)),
            false => 0,
        },
        topics: each(r.topics.into_iter().flatten(), |topic| OffsetFetchResponseTopic {
            partitions: each(topic.partition_indexes, |partition_index| OffsetFetchResponsePartition {
                partition_index,
                committed_offset: -1,
                metadata: Some(String::new()),
                error_code: codes
                    .first([Named::Group(&r.group_id), Named::Topic(&topic.name, Some(partition_index))]),
                ..Default::default()
            }),
            name: topic.name,
            ..Default::default()
        }),
        groups: each(r.groups, |group| OffsetFetchResponseGroup {
            error_code: of_group(codes, &group.group_id, group.topics.as_ref().is_none_or(Vec::is_empty)),
            topics: each(group.topics.into_iter().flatten(), |topic| OffsetFetchResponseTopics {
                partitions: each(topic.partition_indexes, |partition_index| OffsetFetchResponsePartitions {
                    partition_index,
                    committed_offset: -1,
                    metadata: Some(String::new()),
                    error_code: codes.first([
                        Named::Group(&group.group_id),
                        topic_named(&topic.name, topic.topic_id, partition_index),
                    ]),
                    ..Default::default()
                }),
                name: topic.name,
                topic_id: topic.topic_id,
                ..Default::default()
            }),
            group_id: group.group_id,
            ..Default::default()
        }),
        ..Default::default()
    };
    OffsetDelete: offset_delete::OffsetDeleteRequest, r, codes => OffsetDeleteResponse {
        error_code: codes.first([Named::Group(&r.group_id)].into_iter().chain(
            r.topics.iter().map(|topic| Named::Topic(&topic.name, None)),
        )),
        ..Default::default()
    };
}
