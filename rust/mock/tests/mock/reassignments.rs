//! AlterPartitionReassignments and ListPartitionReassignments. The expected results are those of Kafka 4.4.

use crate::support::*;
use ottla_mock::{MockCluster, MockConfig, ReassignmentInfo, TopicSpec};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest,
};
use ottla_protocol::messages::list_partition_reassignments::{
    ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics,
};
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::wire::Uuid;

/// Creates the topic `t` with given replicas.
async fn create(raw: &mut RawClient, replicas: &[&[i32]]) {
    let assignments = (0..).zip(replicas).map(|(partition_index, replicas)| CreatableReplicaAssignment {
        partition_index,
        broker_ids: replicas.to_vec(),
    });
    let topic = CreatableTopic {
        name: "t".to_owned(),
        num_partitions: -1,
        replication_factor: -1,
        assignments: assignments.collect(),
        ..CreatableTopic::default()
    };
    let request = CreateTopicsRequest { topics: vec![topic], ..CreateTopicsRequest::default() };
    assert_eq!(raw.call(&request, 7).await.topics[0].error_code, 0);
}

fn request(topic: &str, index: i32, replicas: Option<&[i32]>) -> AlterPartitionReassignmentsRequest {
    let partition = ReassignablePartition { partition_index: index, replicas: replicas.map(<[i32]>::to_vec) };
    AlterPartitionReassignmentsRequest {
        topics: vec![ReassignableTopic { name: topic.to_owned(), partitions: vec![partition] }],
        ..AlterPartitionReassignmentsRequest::default()
    }
}

async fn reassign(
    raw: &mut RawClient,
    topic: &str,
    index: i32,
    replicas: Option<&[i32]>,
) -> (ErrorCode, Option<String>) {
    let mut response = raw.call(&request(topic, index, replicas), 1).await;
    assert_eq!(response.error_code, 0);
    let partition = response.responses.remove(0).partitions.remove(0);
    (partition.error_code.into(), partition.error_message)
}

/// The leader, its epoch, the replicas and those in sync, from metadata.
async fn metadata(raw: &mut RawClient, index: i32) -> (i32, i32, Vec<i32>, Vec<i32>) {
    let topic = MetadataRequestTopic { topic_id: Uuid::ZERO, name: Some("t".to_owned()) };
    let request = MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() };
    let mut topic = raw.call(&request, 12).await.topics.remove(0);
    let partition = topic.partitions.remove(usize::try_from(index).unwrap());
    (partition.leader_id, partition.leader_epoch, partition.replica_nodes, partition.isr_nodes)
}

/// The partition, its replicas, and those to add and to remove, of all reassignments.
async fn listed(raw: &mut RawClient) -> Vec<(i32, Vec<i32>, Vec<i32>, Vec<i32>)> {
    let request = ListPartitionReassignmentsRequest::default();
    let request = ListPartitionReassignmentsRequest { topics: None, ..request };
    let topics = raw.call(&request, 0).await.topics;
    let partitions = topics.into_iter().flat_map(|topic| topic.partitions);
    partitions.map(|p| (p.partition_index, p.replicas, p.adding_replicas, p.removing_replicas)).collect()
}

const DONE: (ErrorCode, Option<String>) = (ErrorCode::None, None);

#[tokio::test]
async fn a_reassignment_completes_at_once() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    create(&mut raw, &[&[1, 2], &[2, 3]]).await;
    cluster.append("t", 0, &[b"kept"]).unwrap();
    // Another order alone changes neither leader nor epoch.
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[2, 1])).await, DONE);
    assert_eq!(metadata(&mut raw, 0).await, (1, 0, vec![2, 1], vec![1, 2]));
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[3, 2])).await, DONE);
    assert_eq!(metadata(&mut raw, 0).await, (3, 1, vec![3, 2], vec![2, 3]));
    assert_eq!(listed(&mut raw).await, vec![]);
    // The epoch rises if replicas are removed, even if the leader stays.
    assert_eq!(reassign(&mut raw, "t", 1, Some(&[2])).await, DONE);
    assert_eq!(metadata(&mut raw, 1).await, (2, 1, vec![2], vec![2]));
    let mut leader = RawClient::to_leader(&cluster, "t", 0).await;
    assert_eq!(offsets(&leader.fetch("t", 0, 0).await.records.unwrap()).len(), 1);
}

#[tokio::test]
async fn wrong_reassignments_are_rejected() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    create(&mut raw, &[&[1, 2]]).await;
    let unknown = ErrorCode::UnknownTopicOrPartition;
    let invalid = ErrorCode::InvalidReplicaAssignment;
    type Case<'a> = (&'a str, i32, Option<&'a [i32]>, ErrorCode, Option<&'a str>);
    let cases: [Case<'_>; 6] = [
        ("nope", 0, Some(&[1]), unknown, Some("Unable to find a topic named nope.")),
        ("t", 9, Some(&[1]), unknown, Some("Unable to find partition t:9.")),
        ("t", 0, Some(&[]), invalid, Some("The manual partition assignment includes an empty replica list.")),
        (
            "t",
            0,
            Some(&[9]),
            invalid,
            Some("The manual partition assignment includes broker 9, but no such broker is registered."),
        ),
        (
            "t",
            0,
            Some(&[1, 1]),
            invalid,
            Some("The manual partition assignment includes the broker 1 more than once."),
        ),
        ("t", 0, None, ErrorCode::NoReassignmentInProgress, None),
    ];
    for (topic, index, replicas, code, message) in cases {
        let result = reassign(&mut raw, topic, index, replicas).await;
        assert_eq!(result, (code, message.map(str::to_owned)));
    }
    let mut fixed = request("t", 0, Some(&[1, 2, 3]));
    fixed.allow_replication_factor_change = false;
    let response = raw.call(&fixed, 1).await;
    let partition = &response.responses[0].partitions[0];
    assert_eq!(ErrorCode::from(partition.error_code), ErrorCode::InvalidReplicationFactor);
    assert_eq!(partition.error_message.as_deref(), Some("The replication factor is changed from 2 to 3"));
    // Version 0 has no such field.
    let response = raw.call(&request("t", 0, Some(&[1, 2, 3])), 0).await;
    assert_eq!(response.responses[0].partitions[0].error_code, 0);
    assert_eq!(metadata(&mut raw, 0).await.2, [1, 2, 3]);
}

#[tokio::test]
async fn held_reassignments_are_listed_and_completed() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    create(&mut raw, &[&[1, 2], &[2, 3], &[3, 1]]).await;
    cluster.hold_reassignments(true);
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[3, 2])).await, DONE);
    assert_eq!(reassign(&mut raw, "t", 2, Some(&[3, 2, 1])).await, DONE);
    // A reassignment that adds no replica has nothing to wait for.
    assert_eq!(reassign(&mut raw, "t", 1, Some(&[3])).await, DONE);
    let open = [(0, vec![3, 2, 1], vec![3], vec![1]), (2, vec![3, 2, 1], vec![2], vec![])];
    assert_eq!(listed(&mut raw).await, open);
    assert_eq!(metadata(&mut raw, 0).await, (1, 0, vec![3, 2, 1], vec![1, 2]));
    let adds = ReassignmentInfo { adding: vec![3], removing: vec![1] };
    assert_eq!(cluster.reassignment("t", 0), Some(adds));
    let topics =
        vec![ListPartitionReassignmentsTopics { name: "t".to_owned(), partition_indexes: vec![1, 2, 9] }];
    let some = ListPartitionReassignmentsRequest { topics: Some(topics), ..Default::default() };
    assert_eq!(raw.call(&some, 0).await.topics[0].partitions[0].partition_index, 2);

    cluster.complete_reassignment("t", 0).unwrap();
    assert_eq!(metadata(&mut raw, 0).await, (3, 1, vec![3, 2], vec![2, 3]));
    assert!(cluster.complete_reassignment("t", 0).is_err());
    assert!(cluster.complete_reassignment("t", 9).is_err());
    cluster.hold_reassignments(false);
    assert_eq!(listed(&mut raw).await, vec![]);
    assert_eq!(metadata(&mut raw, 2).await, (3, 0, vec![3, 2, 1], vec![3, 1, 2]));
}

#[tokio::test]
async fn a_reassignment_is_cancelled() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    create(&mut raw, &[&[1, 2]]).await;
    cluster.hold_reassignments(true);
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[3])).await, DONE);
    assert_eq!(metadata(&mut raw, 0).await.2, [3, 1, 2]);
    assert_eq!(reassign(&mut raw, "t", 0, None).await, DONE);
    assert_eq!(metadata(&mut raw, 0).await, (1, 1, vec![1, 2], vec![1, 2]));
    assert_eq!(reassign(&mut raw, "t", 0, None).await.0, ErrorCode::NoReassignmentInProgress);
    // A factor that may not change counts without the replicas that are removed.
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[3])).await, DONE);
    let mut fixed = request("t", 0, Some(&[2, 1]));
    fixed.allow_replication_factor_change = false;
    let response = raw.call(&fixed, 1).await;
    assert_eq!(
        response.responses[0].partitions[0].error_message.as_deref(),
        Some("The replication factor is changed from 1 to 2")
    );
}

#[tokio::test]
async fn a_reassignment_waits_for_a_stopped_broker() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    create(&mut raw, &[&[1, 2]]).await;
    cluster.stop_broker(3).await.unwrap();
    assert_eq!(reassign(&mut raw, "t", 0, Some(&[3, 1])).await, DONE);
    assert_eq!(listed(&mut raw).await, [(0, vec![3, 1, 2], vec![3], vec![2])]);
    cluster.start_broker(3).await.unwrap();
    assert_eq!(metadata(&mut raw, 0).await, (1, 1, vec![3, 1], vec![1, 3]));
}

#[tokio::test]
async fn only_the_controller_reassigns_if_so_configured() {
    let config = MockConfig { controller_only: true, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(TopicSpec::new("t")).unwrap();
    let mut second = RawClient::connect(&cluster, 2).await;
    let response = second.call(&request("t", 0, Some(&[1])), 1).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::NotController);
    let list = ListPartitionReassignmentsRequest::default();
    assert_eq!(ErrorCode::from(second.call(&list, 0).await.error_code), ErrorCode::NotController);
}
