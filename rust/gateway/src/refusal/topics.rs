//! Refusals of what administers topics and their partitions.

use super::{Named, each, refusals};

/// The first version of ElectLeaders with a code of its own.
const FIRST_WITH_CODE: i16 = 1;

refusals! {
    CreateTopics: create_topics::CreateTopicsRequest, r, codes => CreateTopicsResponse {
        topics: each(r.topics, |topic| CreatableTopicResult {
            error_code: codes.topic(&topic.name),
            error_message: codes.message(),
            name: topic.name,
            ..Default::default()
        }),
        ..Default::default()
    };
    DeleteTopics: delete_topics::DeleteTopicsRequest, r, codes => DeleteTopicsResponse {
        responses: each(r.topic_names, |name| (Some(name), Default::default()))
            .into_iter()
            .chain(each(r.topics, |topic| (topic.name, topic.topic_id)))
            .map(|(name, topic_id)| DeletableTopicResult {
                error_code: codes.first([match &name {
                    Some(name) => Named::Topic(name, None),
                    None => Named::TopicId(topic_id, None),
                }]),
                error_message: codes.message(),
                name,
                topic_id,
                ..Default::default()
            })
            .collect(),
        ..Default::default()
    };
    CreatePartitions: create_partitions::CreatePartitionsRequest, r, codes => CreatePartitionsResponse {
        results: each(r.topics, |topic| CreatePartitionsTopicResult {
            error_code: codes.topic(&topic.name),
            error_message: codes.message(),
            name: topic.name,
            ..Default::default()
        }),
        ..Default::default()
    };
    DescribeTopicPartitions: describe_topic_partitions::DescribeTopicPartitionsRequest, r, codes =>
        DescribeTopicPartitionsResponse {
            topics: each(r.topics, |topic| DescribeTopicPartitionsResponseTopic {
                error_code: codes.topic(&topic.name),
                name: Some(topic.name),
                ..Default::default()
            }),
            ..Default::default()
        };
    ElectLeaders: elect_leaders::ElectLeadersRequest, r, codes, version => ElectLeadersResponse {
        error_code: match &r.topic_partitions {
            _ if version < FIRST_WITH_CODE => 0,
            Some(topics) => codes.first(
                topics.iter().map(|topic| Named::Topic(&topic.topic, None)).chain([Named::Cluster]),
            ),
            None => codes.first([Named::AllTopics, Named::Cluster]),
        },
        replica_election_results: each(r.topic_partitions.unwrap_or_default(), |topic| ReplicaElectionResult {
            partition_result: each(topic.partitions, |partition_id| PartitionResult {
                partition_id,
                error_code: codes.first([Named::Topic(&topic.topic, Some(partition_id)), Named::Cluster]),
                error_message: codes.message(),
                ..Default::default()
            }),
            topic: topic.topic,
            ..Default::default()
        }),
        ..Default::default()
    };
    AlterPartitionReassignments: alter_partition_reassignments::AlterPartitionReassignmentsRequest, r, codes =>
        AlterPartitionReassignmentsResponse {
            error_code: codes.first(
                r.topics.iter().map(|topic| Named::Topic(&topic.name, None)).chain([Named::Cluster]),
            ),
            error_message: codes.message(),
            responses: each(r.topics, |topic| ReassignableTopicResponse {
                partitions: each(topic.partitions, |partition| ReassignablePartitionResponse {
                    partition_index: partition.partition_index,
                    error_code: codes
                        .first([Named::Topic(&topic.name, Some(partition.partition_index)), Named::Cluster]),
                    error_message: codes.message(),
                    ..Default::default()
                }),
                name: topic.name,
                ..Default::default()
            }),
            ..Default::default()
        };
    ListPartitionReassignments: list_partition_reassignments::ListPartitionReassignmentsRequest, r, codes =>
        ListPartitionReassignmentsResponse {
            error_code: codes.first(
                r.topics
                    .iter()
                    .flatten()
                    .map(|topic| Named::Topic(&topic.name, None))
                    .chain(r.topics.is_none().then_some(Named::AllTopics))
                    .chain([Named::Cluster]),
            ),
            error_message: codes.message(),
            ..Default::default()
        };
    AlterReplicaLogDirs: alter_replica_log_dirs::AlterReplicaLogDirsRequest, r, codes =>
        AlterReplicaLogDirsResponse {
            results: each(r.dirs.into_iter().flat_map(|dir| dir.topics), |topic| AlterReplicaLogDirTopicResult {
                partitions: each(topic.partitions, |partition_index| AlterReplicaLogDirPartitionResult {
                    partition_index,
                    error_code: codes.first([Named::Topic(&topic.name, Some(partition_index)), Named::Cluster]),
                    ..Default::default()
                }),
                topic_name: topic.name,
                ..Default::default()
            }),
            ..Default::default()
        };
}
