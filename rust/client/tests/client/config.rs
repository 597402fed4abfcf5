//! Proves: configuration uses Kafka's names, is checked, and is never ignored silently; no secret is
//! shown.

use std::time::Duration;

use ottla_client::config::{
    Acks, AssignmentStrategy, AutoOffsetReset, Mapping, OTHER_CLIENT_KEYS, Value, rows,
};
use ottla_client::{Config, Error, Kind};

fn set(pairs: &[(&str, &str)]) -> Result<Config, Error> {
    Config::from_pairs(pairs.iter().map(|(key, value)| (*key, Value::from(*value))))
}

fn error_of(key: &str, value: &str) -> String {
    let error = set(&[(key, value)]).expect_err(key);
    assert_eq!(error.kind(), Kind::Config);
    error.to_string()
}

#[test]
fn an_unknown_key_names_the_nearest() {
    for (wrong, right) in [
        ("linger.mss", "linger.ms"),
        ("bootstrap.server", "bootstrap.servers"),
        ("ack", "acks"),
        ("compresion.type", "compression.type"),
        ("metrics.reporters", "metric.reporters"),
        ("request_timeout", "request.timeout.ms"),
    ] {
        let message = error_of(wrong, "1");
        assert!(message.contains(wrong) && message.contains(&format!("did you mean {right}?")), "{message}");
    }
    assert!(!error_of("zzzzzzzzzzzz", "1").contains("did you mean"));
    assert!(error_of(&"x".repeat(5000), "1").len() < 6000);
}

#[test]
fn every_number_has_bounds_and_every_value_its_type() {
    for row in rows().into_iter().filter(|row| matches!(row.ty, "int" | "milliseconds")) {
        for outside in [row.bounds.0.checked_sub(1), row.bounds.1.checked_add(1)].into_iter().flatten() {
            let message = error_of(row.name, &outside.to_string());
            assert!(message.contains(row.name) && message.contains("must be between"), "{message}");
        }
        for nonsense in ["", "x", "1.5", "1s", "99999999999999999999"] {
            assert!(error_of(row.name, nonsense).contains("expected a whole number"), "{}", row.name);
        }
    }
    assert!(error_of("acks", "2").contains("all | 1 | 0"));
    assert!(error_of("compression.type", "rar").contains("zstd"));
    assert!(error_of("check.crcs", "maybe").contains("true or false"));
}

#[test]
fn names_may_have_underscores_and_values_any_matching_type() {
    let pairs = [
        ("linger_ms", Value::Int(7)),
        ("batch.size", Value::Float(100.0)),
        ("acks", Value::Int(1)),
        ("check_crcs", Value::Bool(false)),
        ("bootstrap.servers", Value::List(vec!["a:1".to_owned(), " b:2 ".to_owned()])),
        ("metric.reporters", Value::from("inert.but.known")),
    ];
    let config = Config::from_pairs(pairs).unwrap();
    assert_eq!((config.linger, config.batch_size), (Duration::from_millis(7), 100));
    assert_eq!((config.acks, config.check_crcs), (Acks::Leader, false));
    assert_eq!(config.bootstrap_servers, ["a:1", "b:2"]);
}

/// Regression: raising only request.timeout.ms was an error about a key that was never set.
#[test]
fn delivery_timeout_adapts_unless_it_was_set() {
    let config = set(&[("request.timeout.ms", "180000")]).expect("the default adapts, as in Java");
    assert_eq!(config.delivery_timeout, Duration::from_millis(180_005));
    let error =
        set(&[("request.timeout.ms", "5000"), ("delivery.timeout.ms", "4000")]).expect_err("too small");
    assert!(error.message().contains("at least linger.ms + request.timeout.ms (5005)"), "{error}");
}

#[test]
fn nothing_secret_is_shown() {
    for (mistyped, right) in [
        ("sasl.pasword", "sasl.password"),
        ("ssl.key.pasword", "ssl.key.password"),
        ("sasl.jaas.conf", "sasl.jaas.config"),
    ] {
        let error = set(&[(mistyped, "hunter2")]).expect_err("no such key");
        assert!(error.message().contains(&format!("did you mean {right}")), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    for (key, value) in [("sasl.oauthbearer.config", "hunter2"), ("sasl_plain_password", "hunter2")] {
        assert!(!error_of(key, value).contains("hunter2"), "{key}");
    }
    let secret = Config::from_pairs([("ssl.key.pem", Value::List(vec!["hunter2".to_owned()]))]);
    let message = secret.expect_err("a list").to_string();
    assert!(message.contains("ssl.key.pem=<hidden> (here ssl.keystore.key)"), "{message}");
    let both = set(&[("ssl.key.pem", "hunter2"), ("ssl.keystore.key", "hunter3")]).expect_err("two");
    assert!(!both.to_string().contains("hunter"), "{both}");
    let secrets: Vec<_> = rows().into_iter().filter(|row| row.secret).collect();
    assert!(secrets.len() >= 6 && secrets.iter().all(|row| row.default.is_empty()));
    let error = error_of("security.protocol", "TLS");
    assert!(error.contains("SASL_SSL"), "{error}");
}

#[test]
fn assignors_have_short_names_and_names_of_java_classes() {
    let config = set(&[(
        "partition.assignment.strategy",
        "org.apache.kafka.clients.consumer.StickyAssignor, cooperative-sticky,roundrobin",
    )])
    .unwrap();
    let strategies =
        [AssignmentStrategy::Sticky, AssignmentStrategy::CooperativeSticky, AssignmentStrategy::RoundRobin];
    assert_eq!(config.partition_assignment_strategy, strategies);
    assert!(error_of("partition.assignment.strategy", "rnage").contains("did you mean range?"));
    assert!(error_of("partition.assignment.strategy", "range,range").contains("named twice"));
    assert!(error_of("group.protocol", "share").contains("classic | consumer"));
}

/// As in Java: with KIP-848, the brokers decide them.
#[test]
fn keys_of_classic_groups_are_errors_with_the_consumer_protocol() {
    for (key, value) in [
        ("session.timeout.ms", "10000"),
        ("heartbeat_interval_ms", "1000"),
        ("partition.assignment.strategy", "range"),
    ] {
        let error = set(&[(key, value), ("group.protocol", "consumer")]).expect_err(key);
        assert_eq!(error.kind(), Kind::Config);
        assert!(error.message().contains(&key.replace('_', ".")), "{error}");
        assert!(error.message().contains("group.protocol=classic"), "{error}");
        set(&[("group.protocol", "CLASSIC"), (key, value)]).expect(key);
    }
    set(&[("group.protocol", "consumer"), ("max.poll.interval.ms", "1000")])
        .expect("a key of both protocols");
}

#[test]
fn batches_grow_beyond_batch_size_unless_that_was_set() {
    let sizes = |pairs: &[(&str, &str)]| set(pairs).map(|config| (config.batch_size, config.batch_max_size));
    assert_eq!(sizes(&[]).unwrap(), (16_384, 524_288));
    assert_eq!(sizes(&[("batch.size", "1000")]).unwrap(), (1000, 1000));
    assert_eq!(sizes(&[("batch.max.size", "1000")]).unwrap(), (1000, 1000));
    assert_eq!(sizes(&[("batch.max.size", "90000"), ("batch.size", "1000")]).unwrap(), (1000, 90_000));
    let error = sizes(&[("batch.max.size", "999"), ("batch.size", "1000")]).expect_err("too small");
    assert!(error.to_string().contains("batch.max.size (999) must be at least batch.size (1000)"), "{error}");
}

#[test]
fn a_key_of_another_client_has_the_effect_of_its_row() {
    for (theirs, ours) in [
        (("metadata.broker.list", "a:1,b:2"), ("bootstrap.servers", "a:1,b:2")),
        (("queue.buffering.max.ms", "70"), ("linger.ms", "70")),
        (("queue.buffering.max.kbytes", "64"), ("buffer.memory", "65536")),
        (("queued.max.messages.kbytes", "2"), ("prefetch.max.bytes", "2048")),
        (("message.max.bytes", "5000"), ("max.request.size", "5000")),
        (("message.timeout.ms", "600000"), ("delivery.timeout.ms", "600000")),
        (("message.timeout.ms", "0"), ("delivery.timeout.ms", "2147483647")),
        (("socket.timeout.ms", "7000"), ("request.timeout.ms", "7000")),
        (("socket.send.buffer.bytes", "0"), ("send.buffer.bytes", "-1")),
        (("request.required.acks", "1"), ("acks", "1")),
        (("compression.codec", "lz4"), ("compression.type", "lz4")),
        (("fetch.wait.max.ms", "3"), ("fetch.max.wait.ms", "3")),
        (("fetch.message.max.bytes", "9"), ("max.partition.fetch.bytes", "9")),
        (("max.in.flight", "1"), ("max.in.flight.requests.per.connection", "1")),
        (("message.send.max.retries", "3"), ("retries", "3")),
        (("sasl.mechanisms", "PLAIN"), ("sasl.mechanism", "PLAIN")),
        (("ssl.ca.location", "ca.pem"), ("ssl.truststore.location", "ca.pem")),
        (("ssl.key.pem", "a key"), ("ssl.keystore.key", "a key")),
        (("partitioner", "murmur2"), ("partitioner.class", "murmur2")),
        (("ssl.endpoint.identification.algorithm", "none"), ("ssl.endpoint.identification.algorithm", "")),
    ] {
        assert_eq!(set(&[theirs]).unwrap(), set(&[ours]).unwrap(), "{theirs:?}");
        // Defaults that depend on a key being set also see its alias.
        assert_eq!(set(&[theirs, ours]).unwrap(), set(&[ours]).unwrap(), "{theirs:?}");
    }
    for (theirs, ours) in [
        ("smallest", AutoOffsetReset::Earliest),
        ("beginning", AutoOffsetReset::Earliest),
        ("largest", AutoOffsetReset::Latest),
        ("end", AutoOffsetReset::Latest),
        ("error", AutoOffsetReset::None),
    ] {
        assert_eq!(set(&[("auto.offset.reset", theirs)]).unwrap().auto_offset_reset, ours);
    }
    let always = [("enable.auto.offset.store", "true"), ("api_version_request", "true"), ("debug", "all")];
    assert_eq!(set(&always[..2]).unwrap(), Config::default());
    assert!(error_of("enable.auto.offset.store", "false").contains("commit(record)"));
    assert!(
        error_of("queue.buffering.max.kbytes", "many").contains("(here buffer.memory): expected a whole")
    );
    assert!(error_of("queue.buffering.max.kbytes", "9223372036854775807").contains("too large"));
}

#[test]
fn a_key_of_another_client_without_a_row_says_what_to_use() {
    for (theirs, hint) in [
        ("batch.num.messages", "librdkafka's: use batch.size"),
        ("statistics.interval.ms", "metrics()"),
        ("ssl_cafile", "kafka-python's: use ssl.truststore.location"),
        ("sasl_plain_username", "use sasl.username"),
        ("consumer_timeout_ms", "poll(timeout)"),
        ("value_serializer", "as a keyword argument"),
        ("api_version", "leave it out"),
        ("oauth_cb", "sasl_oauth_token"),
    ] {
        let message = error_of(theirs, "5");
        assert!(message.contains(theirs) && message.contains(hint), "{message}");
    }
    for key in OTHER_CLIENT_KEYS.iter().filter(|key| matches!(key.mapping, Mapping::Unsupported(_))) {
        assert!(error_of(key.name, "5").contains(key.client), "{}", key.name);
    }
}

#[test]
fn two_names_of_one_row_must_have_the_same_value() {
    let error = set(&[("linger.ms", "5"), ("acks", "1"), ("queue.buffering.max.ms", "6")]).expect_err("two");
    assert_eq!(error.kind(), Kind::Config);
    assert!(error.message().starts_with("linger.ms and queue.buffering.max.ms"), "{error}");
    let same = [("queue.buffering.max.kbytes", Value::Int(1)), ("buffer_memory", Value::from("1024"))];
    assert_eq!(Config::from_pairs(same).unwrap().buffer_memory, 1024);
    let last = [("linger.ms", "5"), ("queue.buffering.max.ms", "7"), ("linger_ms", "7")];
    assert_eq!(set(&last).expect("the last value of a name wins").linger, Duration::from_millis(7));
}

#[test]
fn credentials_in_an_address_are_refused_and_not_shown() {
    let (servers, url) = ("bootstrap.servers", "sasl.oauthbearer.token.endpoint.url");
    for (key, value, instead) in [
        (servers, "me:hunter2@kafka:9092", "sasl.password"),
        (servers, "kafka:9092,SASL_SSL://me:hunter2@kafka:9092", "sasl.password"),
        // A comma in the password separates what look like two addresses.
        (servers, "me:hunter2,hunter2@kafka:9092", "sasl.password"),
        ("metadata.broker.list", "me:hunter2@kafka:9092", "sasl.password"),
        ("bootstrap_servers", "me:hunter2@kafka:9092", "sasl.password"),
        (url, "https://me:hunter2@login/token", "client.secret"),
    ] {
        for value in [Value::from(value), Value::List(value.split(',').map(str::to_owned).collect())] {
            let Err(error) = Config::from_pairs([(key, value)]) else { panic!("{key} was accepted") };
            assert_eq!(error.kind(), Kind::Config);
            assert!(error.message().contains(instead), "{error}");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
            if key == url {
                break;
            }
        }
    }
    let pairs = [(url, Value::from("https://login/token?audience=a@b"))];
    assert!(Config::from_pairs(pairs).is_ok(), "only the authority of a URL has credentials");
}
