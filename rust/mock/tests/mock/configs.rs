//! DescribeConfigs, IncrementalAlterConfigs and AlterConfigs of topics, and ListConfigResources. The expected results
//! are those of Kafka 4.4.

use crate::support::configs::*;
use crate::support::*;
use ottla_mock::{MockCluster, MockConfig};
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::alter_configs::{
    AlterConfigsRequest, AlterConfigsResource as ReplacedResource, AlterableConfig as ReplacedConfig,
};
use ottla_protocol::messages::describe_configs::{DescribeConfigsRequest, DescribeConfigsResource};
use ottla_protocol::messages::incremental_alter_configs::IncrementalAlterConfigsRequest;
use ottla_protocol::messages::list_config_resources::ListConfigResourcesRequest;

#[tokio::test]
async fn single_keys_of_a_topic_are_altered() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    for version in 0..=1 {
        let changes =
            [("retention.ms", SET, Some(" 77 ")), ("cleanup.policy", APPEND, Some("compact,delete"))];
        let mut request = IncrementalAlterConfigsRequest {
            resources: vec![resource(TOPIC, "t", &changes)],
            validate_only: true,
        };
        assert_eq!(raw.call(&request, version).await.responses[0].error_code, 0);
        let before = describe(&mut raw, TOPIC, "t", &["retention.ms"]).await;
        assert_eq!(places(&before.configs[0]), (Some("604800000"), 5, vec![]));
        request.validate_only = false;
        assert_eq!(raw.call(&request, version).await.responses[0].error_code, 0);
        let after = describe(&mut raw, TOPIC, "t", &["cleanup.policy", "retention.ms"]).await;
        let policy =
            vec![("cleanup.policy", Some("delete,compact"), 1), ("log.cleanup.policy", Some("delete"), 5)];
        assert_eq!(places(&after.configs[0]), (Some("delete,compact"), 1, policy));
        assert_eq!(places(&after.configs[1]), (Some("77"), 1, vec![("retention.ms", Some("77"), 1)]));
        assert_eq!((after.configs[0].config_type, after.configs[1].config_type), (7, 5));
        assert_eq!(after.configs[0].documentation, None);
        let back = [("retention.ms", DELETE, None), ("cleanup.policy", SUBTRACT, Some("compact,x"))];
        assert_eq!(alter_one(&mut raw, TOPIC, "t", &back).await.0, ErrorCode::None);
        let reset = describe(&mut raw, TOPIC, "t", &["cleanup.policy", "retention.ms"]).await;
        assert_eq!(reset.configs[0].value.as_deref(), Some("delete"));
        assert_eq!(reset.configs[1].config_source, 5);
    }
}

#[tokio::test]
async fn invalid_alterations_of_topics_are_rejected_as_by_kafka() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let (config, request) = (ErrorCode::InvalidConfig, ErrorCode::InvalidRequest);
    let unknown = ErrorCode::UnknownTopicOrPartition;
    let cases: [(&str, Change<'_>, ErrorCode, &str); 12] = [
        ("nope", ("retention.ms", SET, Some("1")), unknown, "The topic 'nope' does not exist."),
        ("", ("retention.ms", SET, Some("1")), request, "Default topic resources are not allowed."),
        ("t", ("foo", SET, Some("1")), config, "Unknown topic config name: foo"),
        ("nope", ("foo", SET, Some("1")), config, "Unknown topic config name: foo"),
        (
            "t",
            ("retention.ms", APPEND, Some("1")),
            config,
            "Can't APPEND to key retention.ms because its type is not LIST.",
        ),
        (
            "t",
            ("retention.ms", SET, Some("soon")),
            config,
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (
            "t",
            ("retention.ms", SET, Some("-5")),
            config,
            "Invalid value -5 for configuration retention.ms: Value must be at least -1",
        ),
        (
            "t",
            ("cleanup.policy", SET, Some("foo")),
            config,
            "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        ("t", ("min.compaction.lag.ms", SET, Some("-1")), config, "Invalid value -1"),
        (
            "t",
            ("remote.storage.enable", SET, Some("true")),
            config,
            "Tiered Storage functionality is disabled in the broker.",
        ),
        ("t", ("retention.ms", SET, None), request, "Null value not supported for : retention.ms"),
        ("t", ("retention.ms", 7, Some("1")), ErrorCode::UnknownServerError, ""),
    ];
    for (topic, change, code, message) in cases {
        let (actual, text) = alter_one(&mut raw, TOPIC, topic, &[change]).await;
        assert_eq!(actual, code, "{topic} {change:?}: {text}");
        assert!(text.starts_with(message), "{text}");
    }
    let (code, text) = alter_one(&mut raw, TOPIC, "a b", &[("retention.ms", SET, Some("1"))]).await;
    assert_eq!(code, ErrorCode::InvalidTopicException);
    assert!(text.starts_with("Topic name is invalid: 'a b' contains one or more characters"), "{text}");
    // Deleting a key that is not set, known or not, is no error.
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &[("foo", DELETE, None)]).await.0, ErrorCode::None);
    let lags = [("max.compaction.lag.ms", SET, Some("1")), ("min.compaction.lag.ms", SET, Some("5"))];
    assert_eq!(
        alter_one(&mut raw, TOPIC, "t", &lags).await.1,
        "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (1)"
    );
}

#[tokio::test]
async fn resources_fail_one_by_one() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let set: &[Change<'_>] = &[("retention.ms", SET, Some("1000"))];
    let mixed = alter(&mut raw, vec![resource(TOPIC, "t", set), resource(TOPIC, "nope", set)]).await;
    assert_eq!(
        mixed.iter().map(|(code, _)| *code).collect::<Vec<_>>(),
        [ErrorCode::None, ErrorCode::UnknownTopicOrPartition]
    );
    for (code, text) in alter(&mut raw, vec![resource(TOPIC, "t", set), resource(TOPIC, "t", set)]).await {
        assert_eq!(
            (code, text.as_str()),
            (ErrorCode::InvalidRequest, "Each resource must appear at most once.")
        );
    }
    let twice = [("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)];
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &twice).await.1, "Error due to duplicate config keys");
    assert_eq!(alter_one(&mut raw, 3, "t", set).await.1, "Unknown resource type 3");
    // One invalid key leaves the whole resource as it was.
    let partly = [("retention.ms", SET, Some("5")), ("retention.bytes", SET, Some("x"))];
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &partly).await.0, ErrorCode::InvalidConfig);
    let value = describe(&mut raw, TOPIC, "t", &["retention.ms"]).await.configs.remove(0).value;
    assert_eq!(value.as_deref(), Some("1000"));
}

#[tokio::test]
async fn a_replacement_resets_the_keys_that_it_does_not_name() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let replaced = |kind: i8, name: &str, configs: &[(&str, Option<&str>)]| AlterConfigsRequest {
        resources: vec![ReplacedResource {
            resource_type: kind,
            resource_name: name.to_owned(),
            configs: configs
                .iter()
                .map(|(name, value)| ReplacedConfig {
                    name: (*name).to_owned(),
                    value: value.map(str::to_owned),
                })
                .collect(),
        }],
        validate_only: false,
    };
    for version in 0..=2 {
        let set = [("retention.bytes", SET, Some("5"))];
        assert_eq!(alter_one(&mut raw, TOPIC, "t", &set).await.0, ErrorCode::None);
        let mut request = replaced(TOPIC, "t", &[("retention.ms", Some("7"))]);
        request.validate_only = true;
        assert_eq!(raw.call(&request, version).await.responses[0].error_code, 0);
        let sources = async |raw: &mut RawClient| {
            let keys = ["retention.bytes", "retention.ms"];
            let configs = describe(raw, TOPIC, "t", &keys).await.configs;
            configs.iter().map(|entry| entry.config_source).collect::<Vec<_>>()
        };
        assert_eq!(sources(&mut raw).await[0], 1);
        request.validate_only = false;
        assert_eq!(raw.call(&request, version).await.responses[0].error_code, 0);
        assert_eq!(sources(&mut raw).await, [5, 1]);
        let rejected = [
            (replaced(TOPIC, "t", &[("retention.ms", None)]), ErrorCode::InvalidRequest),
            (replaced(TOPIC, "t", &[("foo", Some("1"))]), ErrorCode::InvalidConfig),
            (replaced(TOPIC, "nope", &[]), ErrorCode::UnknownTopicOrPartition),
            (replaced(LOGGERS, "1", &[("root", Some("INFO"))]), ErrorCode::InvalidRequest),
            (replaced(BROKER, "2", &[]), ErrorCode::InvalidRequest),
        ];
        for (request, expected) in rejected {
            let response = raw.call(&request, version).await.responses.remove(0);
            assert_eq!(ErrorCode::from(response.error_code), expected);
        }
    }
}

#[tokio::test]
async fn altered_settings_take_effect() {
    let cluster = cluster_with_topic(1).await;
    let leader = cluster.leader("t", 0).unwrap();
    let mut raw = RawClient::connect(&cluster, leader).await;
    let produce = async |raw: &mut RawClient| {
        let records = batch(&[0], &[b'x'; 1000]);
        ErrorCode::from(raw.produce("t", 0, records).await.error_code)
    };
    assert_eq!(produce(&mut raw).await, ErrorCode::None);
    let small = [("max.message.bytes", SET, Some("100"))];
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &small).await.0, ErrorCode::None);
    assert_eq!(produce(&mut raw).await, ErrorCode::MessageTooLarge);
    assert_eq!(
        alter_one(&mut raw, TOPIC, "t", &[("max.message.bytes", DELETE, None)]).await.0,
        ErrorCode::None
    );
    assert_eq!(produce(&mut raw).await, ErrorCode::None);
    // The broker's value holds for the topics that it leads, then the cluster's.
    let small = [("message.max.bytes", SET, Some("100"))];
    assert_eq!(alter_one(&mut raw, BROKER, &leader.to_string(), &small).await.0, ErrorCode::None);
    assert_eq!(produce(&mut raw).await, ErrorCode::MessageTooLarge);
    let reset = [("message.max.bytes", DELETE, None)];
    assert_eq!(alter_one(&mut raw, BROKER, &leader.to_string(), &reset).await.0, ErrorCode::None);
    assert_eq!(alter_one(&mut raw, BROKER, "", &small).await.0, ErrorCode::None);
    assert_eq!(produce(&mut raw).await, ErrorCode::MessageTooLarge);
    assert_eq!(alter_one(&mut raw, BROKER, "", &reset).await.0, ErrorCode::None);
    let insync = [("min.insync.replicas", SET, Some("3"))];
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &insync).await.0, ErrorCode::None);
    cluster.stop_broker(leader % 3 + 1).await.unwrap();
    assert_eq!(produce(&mut raw).await, ErrorCode::NotEnoughReplicas);
    let compacted = [("min.insync.replicas", SET, Some("1")), ("cleanup.policy", SET, Some("compact"))];
    assert_eq!(alter_one(&mut raw, TOPIC, "t", &compacted).await.0, ErrorCode::None);
    assert_eq!(produce(&mut raw).await, ErrorCode::InvalidRecord);
}

#[tokio::test]
async fn wrong_resources_cannot_be_described() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let request = ErrorCode::InvalidRequest;
    let cases = [
        (BROKER, "2", request, "Unexpected broker id, expected 1 or empty string, but received 2"),
        (BROKER, "x", request, "Broker id must be an integer, but it is: x"),
        (LOGGERS, "", request, "Broker id must not be empty"),
        (LOGGERS, "2", request, "Unexpected broker id, expected 1 but received 2"),
        (GROUP, "", request, "Group name must not be empty"),
        (CLIENT_METRICS, "", request, "Client metrics subscription name must not be empty"),
        (
            TOPIC,
            "",
            ErrorCode::InvalidTopicException,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (TOPIC, "nope", ErrorCode::UnknownTopicOrPartition, ""),
        (3, "x", request, "This most likely occurs because of a request being malformed"),
    ];
    for (kind, name, code, message) in cases {
        let result = describe(&mut raw, kind, name, &[]).await;
        assert_eq!(ErrorCode::from(result.error_code), code, "{kind} {name}");
        assert!(result.error_message.unwrap().starts_with(message));
        assert!(result.configs.is_empty());
    }
}

#[tokio::test]
async fn synonyms_are_shown_only_if_requested() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let resource = DescribeConfigsResource {
        resource_type: TOPIC,
        resource_name: "t".to_owned(),
        configuration_keys: None,
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..DescribeConfigsRequest::default() };
    for version in 1..=4 {
        let configs = raw.call(&request, version).await.results.remove(0).configs;
        assert_eq!(configs.len(), 37);
        assert!(configs.iter().all(|entry| entry.synonyms.is_empty()));
        assert_eq!(configs[0].config_type, if version >= 3 { 7 } else { 0 });
    }
}

#[tokio::test]
async fn resources_with_configurations_are_listed() {
    let config = MockConfig { brokers: 2, ..MockConfig::default() };
    let cluster = MockCluster::start(config).await.unwrap();
    cluster.create_topic(ottla_mock::TopicSpec::new("t")).unwrap();
    let mut raw = RawClient::connect(&cluster, 1).await;
    let interval = [("interval.ms", SET, Some("1000"))];
    assert_eq!(alter_one(&mut raw, CLIENT_METRICS, "m", &interval).await.0, ErrorCode::None);
    let timeout = [("consumer.session.timeout.ms", SET, Some("50000"))];
    assert_eq!(alter_one(&mut raw, GROUP, "g", &timeout).await.0, ErrorCode::None);
    let list = async |raw: &mut RawClient, types: Vec<i8>, version: i16| {
        let response = raw.call(&ListConfigResourcesRequest { resource_types: types }, version).await;
        let names = response.config_resources.into_iter().map(|r| (r.resource_type, r.resource_name));
        (ErrorCode::from(response.error_code), names.collect::<Vec<_>>())
    };
    let named = |pairs: &[(i8, &str)]| pairs.iter().map(|(kind, name)| (*kind, (*name).to_owned())).collect();
    let metrics: Vec<(i8, String)> = named(&[(16, "m")]);
    assert_eq!(list(&mut raw, vec![], 0).await, (ErrorCode::None, metrics));
    let all = named(&[(16, "m"), (32, "g"), (8, "1"), (8, "2"), (4, "1"), (4, "2"), (2, "t")]);
    assert_eq!(list(&mut raw, vec![], 1).await, (ErrorCode::None, all));
    assert_eq!(list(&mut raw, vec![2], 1).await, (ErrorCode::None, named(&[(2, "t")])));
    assert_eq!(list(&mut raw, vec![3], 1).await, (ErrorCode::UnsupportedVersion, vec![]));
}
