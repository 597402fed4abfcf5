//! DescribeCluster, DescribeQuorum, UnregisterBroker, DescribeLogDirs and AlterReplicaLogDirs. The expected results are
//! those of Kafka 4.4.

use crate::support::*;
use ottla_mock::{MockCluster, TopicSpec};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_partition_reassignments::{
    AlterPartitionReassignmentsRequest, ReassignablePartition, ReassignableTopic,
};
use ottla_protocol::messages::alter_replica_log_dirs::{
    AlterReplicaLogDir, AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest,
};
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_protocol::messages::describe_log_dirs::{DescribableLogDirTopic, DescribeLogDirsRequest};
use ottla_protocol::messages::describe_quorum::{DescribeQuorumRequest, PartitionData, TopicData};
use ottla_protocol::messages::unregister_broker::UnregisterBrokerRequest;

const DIRECTORIES: [&str; 2] = ["/var/lib/kafka", "/var/lib/kafka-2"];

fn quorum(topics: &[(&str, &[i32])]) -> DescribeQuorumRequest {
    let topic = |(name, partitions): &(&str, &[i32])| TopicData {
        topic_name: (*name).to_owned(),
        partitions: partitions.iter().map(|index| PartitionData { partition_index: *index }).collect(),
    };
    DescribeQuorumRequest { topics: topics.iter().map(topic).collect() }
}

#[tokio::test]
async fn the_quorum_has_a_leader_and_voters() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    cluster.elect_controller(2).unwrap();
    cluster.stop_broker(3).await.unwrap();
    for version in 0..=2 {
        let response = raw.call(&quorum(&[("__cluster_metadata", &[0])]), version).await;
        let partition = &response.topics[0].partitions[0];
        assert_eq!((partition.error_code, partition.leader_id, partition.leader_epoch), (0, 2, 2));
        let voters: Vec<_> =
            partition.current_voters.iter().map(|v| (v.replica_id, v.last_fetch_timestamp > 0)).collect();
        let timed = version >= 1;
        assert_eq!(voters, [(1, timed), (2, timed), (3, false)]);
        assert_eq!(response.nodes.len(), if version >= 2 { 3 } else { 0 });
    }
    for topics in [quorum(&[("other", &[0])]), quorum(&[("__cluster_metadata", &[0, 1])])] {
        let response = raw.call(&topics, 2).await;
        let partition = &response.topics[0].partitions[0];
        assert_eq!(ErrorCode::from(partition.error_code), ErrorCode::UnknownTopicOrPartition);
        assert_eq!(
            partition.error_message.as_deref(),
            Some("This server does not host this topic-partition.")
        );
        assert!(response.nodes.is_empty());
    }
}

#[tokio::test]
async fn the_cluster_says_what_is_authorized() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let mut request = DescribeClusterRequest::default();
    assert_eq!(raw.call(&request, 2).await.cluster_authorized_operations, i32::MIN);
    request.include_cluster_authorized_operations = true;
    assert_eq!(raw.call(&request, 2).await.cluster_authorized_operations, 8096);
    request.endpoint_type = 2;
    let response = raw.call(&request, 2).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::MismatchedEndpointType);
}

/// The ids of the registered brokers, and whether they are fenced.
async fn registered(raw: &mut RawClient) -> Vec<(i32, bool)> {
    let request = DescribeClusterRequest { include_fenced_brokers: true, ..Default::default() };
    raw.call(&request, 2).await.brokers.iter().map(|b| (b.broker_id, b.is_fenced)).collect()
}

#[tokio::test]
async fn an_unregistered_broker_is_gone_until_it_starts() {
    let cluster = cluster_with_topic(3).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let unregister = async |raw: &mut RawClient, broker_id: i32| {
        let response = raw.call(&UnregisterBrokerRequest { broker_id }, 0).await;
        (ErrorCode::from(response.error_code), response.error_message.unwrap())
    };
    let unknown =
        |id: i32| (ErrorCode::BrokerIdNotRegistered, format!("Broker ID {id} is not currently registered"));
    assert_eq!(unregister(&mut raw, 9).await, unknown(9));
    assert_eq!(unregister(&mut raw, 3).await, (ErrorCode::None, String::new()));
    assert_eq!(registered(&mut raw).await, [(1, false), (2, false)]);
    let topic = cluster.topic("t").unwrap();
    assert!(topic.partitions.iter().all(|p| p.leader != Some(3) && p.replicas.contains(&3)));
    assert_eq!(unregister(&mut raw, 3).await, unknown(3));
    let partition = ReassignablePartition { partition_index: 0, replicas: Some(vec![3]) };
    let reassignment = AlterPartitionReassignmentsRequest {
        topics: vec![ReassignableTopic { name: "t".to_owned(), partitions: vec![partition] }],
        ..Default::default()
    };
    let code = raw.call(&reassignment, 1).await.responses[0].partitions[0].error_code;
    assert_eq!(ErrorCode::from(code), ErrorCode::InvalidReplicaAssignment);
    cluster.stop_broker(3).await.unwrap();
    assert_eq!(registered(&mut raw).await, [(1, false), (2, false)]);
    cluster.start_broker(3).await.unwrap();
    assert_eq!(registered(&mut raw).await, [(1, false), (2, false), (3, false)]);
    // A stopped broker stays registered.
    cluster.stop_broker(3).await.unwrap();
    assert_eq!(registered(&mut raw).await, [(1, false), (2, false), (3, true)]);
    assert_eq!(unregister(&mut raw, 3).await.0, ErrorCode::None);
}

/// The partitions of `t` in each directory of a broker.
async fn directories(raw: &mut RawClient, version: i16) -> Vec<(String, Vec<i32>)> {
    let request = DescribeLogDirsRequest { topics: None };
    let results = raw.call(&request, version).await.results.into_iter();
    results
        .map(|directory| {
            let partitions = directory.topics.into_iter().flat_map(|topic| topic.partitions);
            (directory.log_dir, partitions.map(|partition| partition.partition_index).collect())
        })
        .collect()
}

async fn move_replicas(
    raw: &mut RawClient,
    moves: &[(&str, &str, &[i32])],
    version: i16,
) -> Vec<(String, i32, ErrorCode)> {
    let directory = |(path, topic, partitions): &(&str, &str, &[i32])| AlterReplicaLogDir {
        path: (*path).to_owned(),
        topics: vec![AlterReplicaLogDirTopic { name: (*topic).to_owned(), partitions: partitions.to_vec() }],
    };
    let request = AlterReplicaLogDirsRequest { dirs: moves.iter().map(directory).collect() };
    let topics = raw.call(&request, version).await.results.into_iter();
    topics
        .flat_map(|topic| {
            let name = topic.topic_name;
            let partitions = topic.partitions.into_iter();
            partitions.map(move |p| (name.clone(), p.partition_index, p.error_code.into()))
        })
        .collect()
}

#[tokio::test]
async fn replicas_move_between_log_directories() {
    let cluster = cluster_with_topic(2).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let [first, second] = DIRECTORIES;
    let both =
        |one: &[i32], two: &[i32]| vec![(first.to_owned(), one.to_vec()), (second.to_owned(), two.to_vec())];
    for version in 1..=5 {
        assert_eq!(directories(&mut raw, version).await, both(&[0, 1], &[]));
    }
    for version in 1..=2 {
        let moved = move_replicas(&mut raw, &[(second, "t", &[1])], version).await;
        assert_eq!(moved, [("t".to_owned(), 1, ErrorCode::None)]);
        assert_eq!(directories(&mut raw, 5).await, both(&[0], &[1]));
        // The last of two directories counts.
        let moved = move_replicas(&mut raw, &[(second, "t", &[1]), (first, "t", &[1])], version).await;
        assert_eq!(moved, [("t".to_owned(), 1, ErrorCode::None)]);
        assert_eq!(directories(&mut raw, 5).await, both(&[0, 1], &[]));
    }
    let mut other = RawClient::connect(&cluster, 2).await;
    assert_eq!(directories(&mut other, 5).await, both(&[0, 1], &[]));
    let some = DescribableLogDirTopic { topic: "t".to_owned(), partitions: vec![1] };
    let request = DescribeLogDirsRequest { topics: Some(vec![some]) };
    let results = raw.call(&request, 5).await.results;
    assert_eq!(results[0].topics[0].partitions.len(), 1);
    assert!(results[0].total_bytes >= results[0].usable_bytes);
}

#[tokio::test]
async fn wrong_moves_between_log_directories_are_rejected() {
    let cluster = MockCluster::start(Default::default()).await.unwrap();
    cluster.create_topic(TopicSpec::new("t").replication(1)).unwrap();
    let leader = cluster.leader("t", 0).unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    let [first, _] = DIRECTORIES;
    let code = async |raw: &mut RawClient, path: &str, topic: &str, index: i32| {
        move_replicas(raw, &[(path, topic, &[index])], 2).await.remove(0).2
    };
    assert_eq!(code(&mut raw, "/nowhere", "t", 0).await, ErrorCode::LogDirNotFound);
    assert_eq!(code(&mut raw, "/var/lib/kafka/", "t", 0).await, ErrorCode::LogDirNotFound);
    assert_eq!(code(&mut raw, first, "t", 9).await, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(code(&mut raw, first, "nope", 0).await, ErrorCode::UnknownTopicOrPartition);
    let mut other = RawClient::connect(&cluster, leader % 3 + 1).await;
    assert_eq!(code(&mut other, first, "t", 0).await, ErrorCode::ReplicaNotAvailable);
}
