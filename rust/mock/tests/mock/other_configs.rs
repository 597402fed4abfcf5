//! The configurations of brokers, groups and client metrics subscriptions, and log levels. The expected results are
//! those of Kafka 4.4.

use crate::support::configs::*;
use crate::support::consumer_member::Member;
use crate::support::*;
use ottla_protocol::ErrorCode;
use ottla_protocol::messages::incremental_alter_configs::IncrementalAlterConfigsRequest;

#[tokio::test]
async fn brokers_have_their_own_values_and_defaults() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let own = [("log.cleaner.threads", SET, Some("3")), ("log.retention.ms", SET, Some("6000"))];
    assert_eq!(alter_one(&mut raw, BROKER, "1", &own).await.0, ErrorCode::None);
    let all = [("log.cleaner.threads", SET, Some("2")), ("my.key", SET, Some("secret"))];
    assert_eq!(alter_one(&mut raw, BROKER, "", &all).await.0, ErrorCode::None);
    let described = describe(&mut raw, BROKER, "1", &["log.cleaner.threads", "broker.id", "my.key"]).await;
    let [id, threads, unknown] = described.configs.as_slice() else { panic!("{described:?}") };
    assert_eq!((id.value.as_deref(), id.read_only, id.config_source), (Some("1"), true, 4));
    let expected = vec![
        ("log.cleaner.threads", Some("3"), 2),
        ("log.cleaner.threads", Some("2"), 3),
        ("log.cleaner.threads", Some("1"), 5),
    ];
    assert_eq!(places(threads), (Some("3"), 2, expected));
    assert!(!threads.read_only);
    // An unknown key may be secret.
    assert_eq!(places(unknown), (None, 3, vec![("my.key", None, 3)]));
    assert!(unknown.is_sensitive);
    let defaults = describe(&mut raw, BROKER, "", &[]).await.configs;
    let names: Vec<&str> = defaults.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["log.cleaner.threads", "my.key"]);
    let topic = describe(&mut raw, TOPIC, "t", &["retention.ms"]).await.configs.remove(0);
    let expected = vec![("log.retention.ms", Some("6000"), 2), ("log.retention.hours", Some("168"), 5)];
    assert_eq!(places(&topic), (Some("6000"), 2, expected));
    let everything = describe(&mut raw, BROKER, "1", &[]).await.configs;
    assert!(everything.len() > 300, "{}", everything.len());

    let rejected: [(&str, Change<'_>, ErrorCode, &str); 8] = [
        (
            "1",
            ("num.partitions", SET, Some("3")),
            ErrorCode::InvalidRequest,
            "Cannot update these configs dynamically: [num.partitions]",
        ),
        (
            "1",
            ("ssl.keystore.location", SET, Some("x")),
            ErrorCode::InvalidRequest,
            "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]",
        ),
        (
            "1",
            ("log.cleaner.threads", SET, Some("x")),
            ErrorCode::InvalidRequest,
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (
            "",
            ("listeners", SET, Some("x")),
            ErrorCode::InvalidRequest,
            "Cannot update these configs at default cluster level, broker id must be specified: [listeners]",
        ),
        (
            "2",
            ("log.cleaner.threads", SET, Some("1")),
            ErrorCode::InvalidRequest,
            "Unexpected broker id, expected 1, but received 2",
        ),
        (
            "x",
            ("log.cleaner.threads", SET, Some("1")),
            ErrorCode::InvalidRequest,
            "Node id must be an integer, but it is: x",
        ),
        (
            "",
            ("log.cleaner.threads", APPEND, Some("1")),
            ErrorCode::InvalidConfig,
            "Config value append is not allowed for config key: log.cleaner.threads",
        ),
        ("", ("log.cleaner.threads", 9, Some("1")), ErrorCode::InvalidRequest, "Unknown operations type 9"),
    ];
    for (name, change, code, message) in rejected {
        let result = alter_one(&mut raw, BROKER, name, &[change]).await;
        assert_eq!(result, (code, message.to_owned()));
    }
}

#[tokio::test]
async fn log_levels_are_set_and_removed() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let level = async |raw: &mut RawClient, logger: &str| {
        let entry = describe(raw, LOGGERS, "1", &[logger]).await.configs.remove(0);
        (entry.value.unwrap(), entry.config_source)
    };
    let set = [("kafka.server.KafkaApis", SET, Some("DEBUG")), ("root", SET, Some("WARN"))];
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource(LOGGERS, "1", &set)], validate_only: true };
    assert_eq!(raw.call(&request, 1).await.responses[0].error_code, 0);
    assert_eq!(level(&mut raw, "root").await, ("INFO".to_owned(), 6));
    assert_eq!(alter_one(&mut raw, LOGGERS, "1", &set).await.0, ErrorCode::None);
    assert_eq!(level(&mut raw, "kafka.server.KafkaApis").await.0, "DEBUG");
    assert_eq!(level(&mut raw, "kafka.server.KafkaConfig").await.0, "WARN");
    let remove = [("kafka.server.KafkaApis", DELETE, None)];
    assert_eq!(alter_one(&mut raw, LOGGERS, "1", &remove).await.0, ErrorCode::None);
    assert_eq!(level(&mut raw, "kafka.server.KafkaApis").await.0, "WARN");
    let rejected: [(&str, Change<'_>, &str); 7] = [
        ("2", ("root", SET, Some("INFO")), "Unexpected node id. Expected 1, but received 2"),
        ("x", ("root", SET, Some("INFO")), "Node id must be an integer, but it is: x"),
        ("1", ("root", SET, Some("LOUD")), "Cannot set the log level of root to LOUD"),
        ("1", ("nobody", SET, Some("INFO")), "Logger nobody does not exist!"),
        (
            "1",
            ("root", APPEND, Some("INFO")),
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        ("1", ("root", DELETE, None), "Removing the log level of the root logger is not allowed"),
        (
            "1",
            ("root", 9, Some("INFO")),
            "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource",
        ),
    ];
    for (name, change, message) in rejected {
        let (code, text) = alter_one(&mut raw, LOGGERS, name, &[change]).await;
        assert_ne!(code, ErrorCode::None);
        assert!(text.starts_with(message), "{text}");
    }
}

#[tokio::test]
async fn groups_and_client_metrics_have_configurations() {
    let cluster = cluster().await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let (config, request) = (ErrorCode::InvalidConfig, ErrorCode::InvalidRequest);
    let rejected: [(i8, &str, Change<'_>, ErrorCode, &str); 9] = [
        (GROUP, "g", ("foo", SET, Some("1")), config, "Unknown group config name: foo"),
        (
            GROUP,
            "",
            ("consumer.session.timeout.ms", SET, Some("1")),
            request,
            "Default group resources are not allowed.",
        ),
        (
            GROUP,
            "g",
            ("consumer.session.timeout.ms", SET, Some("3")),
            config,
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive",
        ),
        (
            GROUP,
            "g",
            ("streams.num.standby.replicas", SET, Some("9")),
            config,
            "streams.num.standby.replicas must be less than or equal to 2",
        ),
        (CLIENT_METRICS, "", ("interval.ms", SET, Some("100")), request, "Subscription name can't be empty"),
        (CLIENT_METRICS, "m", ("foo", SET, Some("1")), request, "Unknown client metrics configuration: foo"),
        (
            CLIENT_METRICS,
            "m",
            ("interval.ms", SET, Some("3")),
            request,
            "Invalid value 3 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            CLIENT_METRICS,
            "m",
            ("match", SET, Some("client_id=[")),
            config,
            "Illegal client matching pattern: client_id=[",
        ),
        (
            CLIENT_METRICS,
            "m",
            ("metrics", APPEND, Some("a")),
            config,
            "Can't APPEND to key metrics because its type is not LIST.",
        ),
    ];
    for (kind, name, change, code, message) in rejected {
        assert_eq!(alter_one(&mut raw, kind, name, &[change]).await, (code, message.to_owned()));
    }
    let group = [
        ("consumer.session.timeout.ms", SET, Some("50000")),
        ("consumer.heartbeat.interval.ms", SET, Some("6000")),
    ];
    assert_eq!(alter_one(&mut raw, GROUP, "g", &group).await.0, ErrorCode::None);
    let entry = describe(&mut raw, GROUP, "g", &["consumer.session.timeout.ms"]).await.configs.remove(0);
    let expected = vec![
        ("consumer.session.timeout.ms", Some("50000"), 8),
        ("group.consumer.session.timeout.ms", Some("45000"), 5),
    ];
    assert_eq!(places(&entry), (Some("50000"), 8, expected));
    let metrics = [("interval.ms", SET, Some("1000")), ("match", SET, Some("client_id=a.*"))];
    assert_eq!(alter_one(&mut raw, CLIENT_METRICS, "m", &metrics).await.0, ErrorCode::None);
    let entries = describe(&mut raw, CLIENT_METRICS, "m", &[]).await.configs;
    let sources: Vec<_> = entries.iter().map(|e| (e.value.as_deref(), e.config_source)).collect();
    assert_eq!(sources, [(Some("1000"), 7), (Some("client_id=a.*"), 7), (Some(""), 5)]);
}

#[tokio::test]
async fn a_group_heartbeats_by_its_own_configuration() {
    let cluster = cluster_with_topic(1).await;
    let mut raw = RawClient::connect(&cluster, 1).await;
    let mut member = Member::new(&cluster, "m").await;
    assert_eq!(member.heartbeat().await.heartbeat_interval_ms, 200);
    let slower = [("consumer.heartbeat.interval.ms", SET, Some("6000"))];
    assert_eq!(alter_one(&mut raw, GROUP, "g", &slower).await.0, ErrorCode::None);
    assert_eq!(member.heartbeat().await.heartbeat_interval_ms, 6000);
    let reset = [("consumer.heartbeat.interval.ms", DELETE, None)];
    assert_eq!(alter_one(&mut raw, GROUP, "g", &reset).await.0, ErrorCode::None);
    assert_eq!(member.heartbeat().await.heartbeat_interval_ms, 200);
}
