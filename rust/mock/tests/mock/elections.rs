//! ElectLeaders. The expected results are those of Kafka 4.4.

use crate::support::*;
use ottla_mock::{MockCluster, MockConfig, TopicSpec};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::elect_leaders::{ElectLeadersRequest, TopicPartitions};

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

fn request(election_type: i8, topics: Option<&[(&str, &[i32])]>) -> ElectLeadersRequest {
    let topic = |(topic, partitions): &(&str, &[i32])| TopicPartitions {
        topic: (*topic).to_owned(),
        partitions: partitions.to_vec(),
    };
    ElectLeadersRequest {
        election_type,
        topic_partitions: topics.map(|topics| topics.iter().map(topic).collect()),
        ..ElectLeadersRequest::default()
    }
}

async fn elect(
    raw: &mut RawClient,
    election_type: i8,
    topics: Option<&[(&str, &[i32])]>,
) -> Vec<(String, i32, ErrorCode, Option<String>)> {
    let response = raw.call(&request(election_type, topics), 2).await;
    assert_eq!(response.error_code, 0);
    let topics = response.replica_election_results.into_iter();
    topics
        .flat_map(|t| {
            let name = t.topic;
            let results = t.partition_result.into_iter();
            results.map(move |p| (name.clone(), p.partition_id, p.error_code.into(), p.error_message))
        })
        .collect()
}

fn codes(results: &[(String, i32, ErrorCode, Option<String>)]) -> Vec<(i32, ErrorCode)> {
    results.iter().map(|(_, index, code, _)| (*index, *code)).collect()
}

#[tokio::test]
async fn preferred_leaders_are_elected() {
    let cluster = cluster_with_topic(3).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let replicas: Vec<Vec<i32>> =
        cluster.topic("t").unwrap().partitions.into_iter().map(|p| p.replicas).collect();
    for version in 0..=2 {
        cluster.move_leader("t", 0, replicas[0][1]).unwrap();
        let response = raw.call(&request(PREFERRED, Some(&[("t", &[0])])), version).await;
        assert_eq!(response.replica_election_results[0].partition_result[0].error_code, 0);
        assert_eq!(cluster.leader("t", 0), Some(replicas[0][0]));
    }
    cluster.move_leader("t", 1, replicas[1][2]).unwrap();
    let all = elect(&mut raw, PREFERRED, Some(&[("t", &[0, 1, 9]), ("nope", &[0])])).await;
    let not_needed = Some("Leader election not needed for topic partition.".to_owned());
    assert_eq!(all[0], ("t".to_owned(), 0, ErrorCode::ElectionNotNeeded, not_needed));
    assert_eq!(all[1], ("t".to_owned(), 1, ErrorCode::None, None));
    let unknown = ErrorCode::UnknownTopicOrPartition;
    assert_eq!(all[2], ("t".to_owned(), 9, unknown, Some("No such partition as t-9".to_owned())));
    assert_eq!(all[3], ("nope".to_owned(), 0, unknown, Some("No such topic as nope".to_owned())));
    // Without names, only the partitions that needed an election are results.
    cluster.move_leader("t", 2, replicas[2][1]).unwrap();
    let results = elect(&mut raw, PREFERRED, None).await;
    assert_eq!(codes(&results), [(2, ErrorCode::None)]);
    assert_eq!(elect(&mut raw, PREFERRED, None).await, vec![]);
}

#[tokio::test]
async fn a_preferred_leader_must_be_in_sync() {
    let cluster = cluster_with_topic(1).await;
    let replicas = cluster.topic("t").unwrap().partitions.remove(0).replicas;
    cluster.stop_broker(replicas[0]).await.unwrap();
    let mut raw = RawClient::connect(&cluster, replicas[1]).await;
    let results = elect(&mut raw, PREFERRED, Some(&[("t", &[0])])).await;
    assert_eq!(codes(&results), [(0, ErrorCode::PreferredLeaderNotAvailable)]);
    assert_eq!(results[0].3.as_deref(), Some("The preferred leader was not available."));
    cluster.start_broker(replicas[0]).await.unwrap();
    assert_eq!(cluster.leader("t", 0), Some(replicas[1]));
    let results = elect(&mut raw, PREFERRED, Some(&[("t", &[0])])).await;
    assert_eq!(codes(&results), [(0, ErrorCode::None)]);
    assert_eq!(cluster.leader("t", 0), Some(replicas[0]));
}

#[tokio::test]
async fn an_unclean_election_loses_what_was_not_copied() {
    let cluster = cluster().await;
    cluster.create_topic(TopicSpec::new("t").replication(2)).unwrap();
    let replicas = cluster.topic("t").unwrap().partitions.remove(0).replicas;
    let [first, second] = replicas[..] else { panic!("{replicas:?}") };
    let other = 6 - first - second;
    let mut raw = RawClient::connect(&cluster, other).await;
    let results = elect(&mut raw, UNCLEAN, Some(&[("t", &[0])])).await;
    assert_eq!(codes(&results), [(0, ErrorCode::ElectionNotNeeded)]);
    cluster.append("t", 0, &[b"copied"]).unwrap();
    cluster.append("t", 0, &[b"lost"]).unwrap();
    cluster.lag_replica("t", 0, second, Some(1)).unwrap();
    cluster.stop_broker(second).await.unwrap();
    cluster.stop_broker(first).await.unwrap();
    let results = elect(&mut raw, UNCLEAN, Some(&[("t", &[0])])).await;
    assert_eq!(codes(&results), [(0, ErrorCode::EligibleLeadersNotAvailable)]);
    assert_eq!(results[0].3.as_deref(), Some("Eligible topic partition leaders are not available."));
    cluster.start_broker(second).await.unwrap();
    assert_eq!(cluster.leader("t", 0), None);
    assert_eq!(codes(&elect(&mut raw, UNCLEAN, None).await), [(0, ErrorCode::None)]);
    let partition = cluster.topic("t").unwrap().partitions.remove(0);
    assert_eq!((partition.leader, partition.isr), (Some(second), vec![second]));
    assert_eq!(cluster.partition_log("t", 0).unwrap().high_watermark, 1);
}

#[tokio::test]
async fn an_unknown_type_rejects_the_request() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 1..=2 {
        let response = raw.call(&request(5, Some(&[("t", &[0])])), version).await;
        assert_eq!(ErrorCode::from(response.error_code), ErrorCode::InvalidRequest);
        let result = &response.replica_election_results[0].partition_result[0];
        assert_eq!(ErrorCode::from(result.error_code), ErrorCode::InvalidRequest);
        assert_eq!(result.error_message.as_deref(), Some("Unknown election type 5"));
    }
    let config = MockConfig { controller_only: true, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    let mut second = RawClient::connect(&cluster, 2).await;
    let response = second.call(&request(PREFERRED, None), 2).await;
    assert_eq!(ErrorCode::from(response.error_code), ErrorCode::NotController);
}
