//! ApiVersions, Metadata, and the requests that create and change topics.

use crate::support::*;
use ottla_mock::{ApiLimit, MockCluster, MockConfig, TopicSpec};
use ottla_protocol::messages::api_versions::ApiVersionsRequest;
use ottla_protocol::messages::create_partitions::{CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use ottla_protocol::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest};
use ottla_protocol::messages::describe_cluster::DescribeClusterRequest;
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::init_producer_id::InitProducerIdRequest;
use ottla_protocol::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use ottla_protocol::wire::Uuid;
use ottla_protocol::{ApiKey, ErrorCode};

fn is(code: i16, expected: ErrorCode) {
    assert_eq!(ErrorCode::from(code), expected);
}

fn api_versions() -> ApiVersionsRequest {
    ApiVersionsRequest {
        client_software_name: "raw".to_owned(),
        client_software_version: "1.0".to_owned(),
        ..ApiVersionsRequest::default()
    }
}

#[tokio::test]
async fn api_versions_in_every_version() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 0..=5 {
        let response = raw.call(&api_versions(), version).await;
        is(response.error_code, ErrorCode::None);
        let range = |api: ApiKey| {
            let keys = &response.api_keys;
            keys.iter().find(|k| k.api_key == api as i16).map(|k| (k.min_version, k.max_version))
        };
        assert_eq!(range(ApiKey::Fetch), Some((4, 18)));
        assert_eq!(range(ApiKey::Produce), Some((0, 13)));
        // Unstable versions are not advertised.
        assert_eq!(range(ApiKey::InitProducerId), Some((0, 5)));
        assert_eq!(range(ApiKey::ShareFetch), Some((1, 2)));
        assert_eq!(range(ApiKey::StreamsGroupHeartbeat), None);
    }
    is(raw.call(&ApiVersionsRequest::default(), 3).await.error_code, ErrorCode::InvalidRequest);
    let elsewhere = ApiVersionsRequest { node_id: 2, ..api_versions() };
    is(raw.call(&elsewhere, 5).await.error_code, ErrorCode::RebootstrapRequired);
    let here = ApiVersionsRequest { node_id: 1, cluster_id: Some(cluster.cluster_id()), ..api_versions() };
    is(raw.call(&here, 5).await.error_code, ErrorCode::None);
}

#[tokio::test]
async fn an_older_broker_rejects_new_api_versions_in_version_0() {
    let api_limits = [(ApiKey::ApiVersions, ApiLimit::Max(2)), (ApiKey::Fetch, ApiLimit::Max(11))];
    let mut config = MockConfig { api_limits: api_limits.into(), ..MockConfig::default() };
    config.api_limits.insert(ApiKey::DescribeCluster, ApiLimit::Absent);
    let cluster = MockCluster::start(config).await.unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    raw.send(&api_versions(), 4).await;
    let response = raw.receive::<ApiVersionsRequest>(0).await.unwrap();
    is(response.error_code, ErrorCode::UnsupportedVersion);
    assert_eq!(response.api_keys.len(), 1);
    assert_eq!((response.api_keys[0].api_key, response.api_keys[0].max_version), (18, 2));
    let response = raw.call(&api_versions(), 2).await;
    let fetch = response.api_keys.iter().find(|k| k.api_key == 1).unwrap();
    assert_eq!((fetch.min_version, fetch.max_version), (4, 11));
    assert!(response.api_keys.iter().all(|k| k.api_key != 60));
    // A request that was not advertised closes the connection.
    assert!(raw.try_call(&fetch_request("t", 0, 0), 12).await.is_none());
    let mut raw = RawClient::connect(&cluster, 1).await;
    assert!(raw.try_call(&DescribeClusterRequest::default(), 0).await.is_none());
}

fn by_name(name: &str) -> MetadataRequest {
    let topic = MetadataRequestTopic { topic_id: Uuid::ZERO, name: Some(name.to_owned()) };
    MetadataRequest { topics: Some(vec![topic]), ..MetadataRequest::default() }
}

#[tokio::test]
async fn metadata_in_every_version() {
    let cluster = cluster().await;
    cluster.create_topic(TopicSpec::new("a").partitions(6)).unwrap();
    cluster.create_topic(TopicSpec::new("b")).unwrap();
    let mut raw = RawClient::connect(&cluster, 2).await;
    for version in 0..=13 {
        // All topics: an empty list in version 0, then null.
        let all = MetadataRequest {
            topics: if version == 0 { Some(Vec::new()) } else { None },
            ..MetadataRequest::default()
        };
        let response = raw.call(&all, version).await;
        assert_eq!(response.topics.len(), 2);
        let brokers: Vec<_> = response.brokers.iter().map(|b| (b.node_id, b.rack.as_deref())).collect();
        let rack = |name| if version >= 1 { Some(name) } else { None };
        assert_eq!(brokers, [(1, rack("rack-a")), (2, rack("rack-b")), (3, rack("rack-c"))]);
        if version >= 1 {
            assert_eq!(response.controller_id, 1);
            let none = MetadataRequest { topics: Some(Vec::new()), ..MetadataRequest::default() };
            assert!(raw.call(&none, version).await.topics.is_empty());
        }
        let response = raw.call(&by_name("a"), version).await;
        let topic = &response.topics[0];
        assert_eq!(topic.partitions.len(), 6);
        assert_eq!(topic.topic_id.is_zero(), version < 10);
        // Two partitions for each of three brokers.
        for id in 1..=3 {
            assert_eq!(topic.partitions.iter().filter(|p| p.leader_id == id).count(), 2);
        }
    }
}

#[tokio::test]
async fn metadata_by_id_and_of_unknown_topics() {
    let cluster = cluster().await;
    let id = cluster.create_topic(TopicSpec::new("a")).unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let by_id = |topic_id| MetadataRequest {
        topics: Some(vec![MetadataRequestTopic { topic_id, name: None }]),
        ..MetadataRequest::default()
    };
    assert_eq!(raw.call(&by_id(id), 12).await.topics[0].name.as_deref(), Some("a"));
    let unknown = raw.call(&by_id(Uuid([7; 16])), 12).await;
    is(unknown.topics[0].error_code, ErrorCode::UnknownTopicId);
    assert_eq!(unknown.topics[0].name, None);

    let mut request = by_name("new");
    request.allow_auto_topic_creation = false;
    is(raw.call(&request, 9).await.topics[0].error_code, ErrorCode::UnknownTopicOrPartition);
    assert!(cluster.topic("new").is_none());
    // The first response still says unknown, but the topic exists afterwards.
    is(raw.call(&by_name("new"), 9).await.topics[0].error_code, ErrorCode::UnknownTopicOrPartition);
    is(raw.call(&by_name("new"), 9).await.topics[0].error_code, ErrorCode::None);
    is(raw.call(&by_name("not/legal"), 9).await.topics[0].error_code, ErrorCode::InvalidTopicException);
}

fn creatable(name: &str, partitions: i32, replication: i16) -> CreatableTopic {
    CreatableTopic {
        name: name.to_owned(),
        num_partitions: partitions,
        replication_factor: replication,
        ..CreatableTopic::default()
    }
}

async fn create(raw: &mut RawClient, topics: Vec<CreatableTopic>, version: i16) -> Vec<(String, ErrorCode)> {
    let request = CreateTopicsRequest { topics, ..CreateTopicsRequest::default() };
    let topics = raw.call(&request, version).await.topics;
    topics.into_iter().map(|topic| (topic.name, topic.error_code.into())).collect()
}

#[tokio::test]
async fn create_topics_validates_requests() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 2).await;
    for version in 2..=7 {
        let name = format!("v{version}");
        let response = create(&mut raw, vec![creatable(&name, 2, 2)], version).await;
        assert_eq!(response, [(name.clone(), ErrorCode::None)]);
        assert_eq!(cluster.topic(&name).unwrap().partitions.len(), 2);
    }
    let mut odd = creatable("odd", -1, -1);
    odd.configs = vec![CreatableTopicConfig { name: "no.such.key".to_owned(), value: Some("1".to_owned()) }];
    let rejected = [
        (creatable("v2", 1, 1), ErrorCode::TopicAlreadyExists),
        (creatable("none", 0, 1), ErrorCode::InvalidPartitions),
        (creatable("absurd", i32::MAX, 1), ErrorCode::InvalidPartitions),
        (creatable("four", 1, 4), ErrorCode::InvalidReplicationFactor),
        (creatable("a b", 1, 1), ErrorCode::InvalidTopicException),
        (odd, ErrorCode::InvalidConfig),
    ];
    for (topic, expected) in rejected {
        assert_eq!(create(&mut raw, vec![topic], 7).await[0].1, expected);
    }
    let twice = vec![creatable("twice", 1, 1), creatable("twice", 1, 1)];
    assert_eq!(create(&mut raw, twice, 7).await, [("twice".to_owned(), ErrorCode::InvalidRequest)]);

    let mut placed = creatable("placed", -1, -1);
    placed.assignments = vec![CreatableReplicaAssignment { partition_index: 0, broker_ids: vec![3, 1] }];
    assert_eq!(create(&mut raw, vec![placed.clone()], 7).await[0].1, ErrorCode::None);
    assert_eq!(cluster.topic("placed").unwrap().partitions[0].replicas, [3, 1]);
    placed.name = "wrong".to_owned();
    placed.assignments[0].broker_ids = vec![9];
    assert_eq!(create(&mut raw, vec![placed], 7).await[0].1, ErrorCode::InvalidReplicaAssignment);

    let request = CreateTopicsRequest {
        topics: vec![creatable("dry", -1, -1)],
        validate_only: true,
        ..CreateTopicsRequest::default()
    };
    let response = raw.call(&request, 7).await.topics.remove(0);
    assert_eq!((response.num_partitions, response.replication_factor), (1, 3));
    assert!(cluster.topic("dry").is_none());
}

#[tokio::test]
async fn delete_topics_by_name_and_id() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 1..=6 {
        cluster.create_topic(TopicSpec::new("t")).unwrap();
        let mut request = DeleteTopicsRequest::default();
        let named = DeleteTopicState { name: Some("t".to_owned()), topic_id: Uuid::ZERO };
        if version >= 6 {
            request.topics = vec![named];
        } else {
            request.topic_names = vec!["t".to_owned()];
        }
        is(raw.call(&request, version).await.responses[0].error_code, ErrorCode::None);
        let again = raw.call(&request, version).await;
        is(again.responses[0].error_code, ErrorCode::UnknownTopicOrPartition);
    }
    let old = cluster.create_topic(TopicSpec::new("t")).unwrap();
    let by_id = |topic_id| DeleteTopicsRequest {
        topics: vec![DeleteTopicState { name: None, topic_id }],
        ..DeleteTopicsRequest::default()
    };
    let response = raw.call(&by_id(old), 6).await;
    assert_eq!(response.responses[0].name.as_deref(), Some("t"));
    // A new topic of the same name has another id.
    assert_ne!(cluster.create_topic(TopicSpec::new("t")).unwrap(), old);
    is(raw.call(&by_id(old), 6).await.responses[0].error_code, ErrorCode::UnknownTopicId);
}

#[tokio::test]
async fn create_partitions_only_adds() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let mut grow = async |count: i32, version: i16| {
        let topic = CreatePartitionsTopic { name: "t".to_owned(), count, assignments: None };
        let request = CreatePartitionsRequest { topics: vec![topic], ..CreatePartitionsRequest::default() };
        ErrorCode::from(raw.call(&request, version).await.results[0].error_code)
    };
    for version in 0..=3 {
        assert_eq!(grow(i32::from(version) + 2, version).await, ErrorCode::None);
    }
    assert_eq!(grow(5, 3).await, ErrorCode::InvalidPartitions);
    assert_eq!(grow(i32::MAX, 3).await, ErrorCode::InvalidPartitions);
    assert_eq!(cluster.topic("t").unwrap().partitions.len(), 5);
}

#[tokio::test]
async fn only_the_controller_changes_topics_if_so_configured() {
    let config = MockConfig { controller_only: true, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    let mut second = RawClient::connect(&cluster, 2).await;
    assert_eq!(create(&mut second, vec![creatable("t", 1, 1)], 7).await[0].1, ErrorCode::NotController);
    cluster.elect_controller(2).unwrap();
    assert_eq!(create(&mut second, vec![creatable("t", 1, 1)], 7).await[0].1, ErrorCode::None);
    assert!(cluster.elect_controller(9).is_err());
}

#[tokio::test]
async fn describe_cluster_and_configs_and_producer_ids() {
    let cluster = cluster().await;
    cluster.create_topic(TopicSpec::new("t").config("retention.ms", "5")).unwrap();
    cluster.stop_broker(3).await.unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 0..=2 {
        let response = raw.call(&DescribeClusterRequest::default(), version).await;
        assert_eq!(response.cluster_id, cluster.cluster_id());
        assert_eq!(response.brokers.len(), 2);
    }
    let fenced = DescribeClusterRequest { include_fenced_brokers: true, ..DescribeClusterRequest::default() };
    assert!(raw.call(&fenced, 2).await.brokers[2].is_fenced);

    let resource = |name: &str| DescribeConfigsResource {
        resource_type: 2,
        resource_name: name.to_owned(),
        configuration_keys: Some(vec!["retention.ms".to_owned(), "retention.bytes".to_owned()]),
    };
    let request = DescribeConfigsRequest {
        resources: vec![resource("t"), resource("unknown")],
        ..DescribeConfigsRequest::default()
    };
    for version in 1..=4 {
        let results = raw.call(&request, version).await.results;
        let values: Vec<_> =
            results[0].configs.iter().map(|c| (c.value.as_deref(), c.config_source)).collect();
        assert_eq!(values, [(Some("-1"), 5), (Some("5"), 1)]);
        is(results[1].error_code, ErrorCode::UnknownTopicOrPartition);
    }
    let mut last = -1;
    for version in 0..=5 {
        let response = raw.call(&InitProducerIdRequest::default(), version).await;
        assert!(response.producer_id > last);
        last = response.producer_id;
    }
}
