//! The keys of other clients that have no row: librdkafka's, confluent-kafka's, kafka-python's, and
//! those of Kafka's own that are not for this client. Each has a row that means the same, or says what
//! to write instead.
//!
//! Every caller of `Config` shares this table, and docs/reference/configuration.md prints it. Invariants: a
//! mapped key has exactly the effect of its row; no name here is a row's; no message has a value
//! that may be a secret.

use super::value::Value;

/// What a key of another client means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The row means the same.
    Row(&'static str),
    /// The same, in a unit of so many of the row's.
    Scaled(&'static str, i64),
    /// The same, but for some values: theirs and the row's.
    Translated(&'static str, &'static [(&'static str, &'static str)]),
    /// This client always behaves as with one of these values, which are accepted without effect;
    /// what to write instead of others.
    Always(&'static [&'static str], &'static str),
    /// No row: what to write instead.
    Instead(&'static str),
}

use Meaning::{Always, Instead, Row, Scaled, Translated};

/// A key of another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignKey {
    /// The name, as that client has it.
    pub name: &'static str,
    /// The client.
    pub client: &'static str,
    /// What it means here.
    pub meaning: Meaning,
}

impl ForeignKey {
    /// The row that it sets, if there is one.
    #[must_use]
    pub fn row(&self) -> Option<&'static str> {
        match self.meaning {
            Row(row) | Scaled(row, _) | Translated(row, _) => Some(row),
            Always(..) | Instead(_) => None,
        }
    }

    /// What it means, in words.
    #[must_use]
    pub fn shown(&self) -> String {
        let quoted = |values: &[&str]| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>();
        match self.meaning {
            Row(row) => format!("`{row}`"),
            Scaled(row, factor) => format!("`{row}`, multiplied by {factor}"),
            Translated(row, values) => {
                let values = values.iter().map(|(theirs, ours)| format!("`{theirs}` is `{ours}`"));
                format!("`{row}`; {}", values.collect::<Vec<_>>().join(", "))
            }
            Always(values, instead) => {
                format!("{} without effect; otherwise: {instead}", quoted(values).join(" or "))
            }
            Instead(instead) => format!("an error: {instead}"),
        }
    }

    /// The value for the row; `Err` says what is wrong with it.
    pub(super) fn value(&self, value: &Value) -> Result<Value, String> {
        match self.meaning {
            Scaled(_, factor) => {
                let scaled = value.int()?.checked_mul(factor);
                scaled.map(Value::Int).ok_or_else(|| "the number is too large".to_owned())
            }
            Translated(_, values) => Ok(translated(value, values)),
            Row(_) | Always(..) | Instead(_) => Ok(value.clone()),
        }
    }
}

/// The key of another client that has this name, with dots or underscores.
pub(super) fn find(dotted: &str) -> Option<&'static ForeignKey> {
    let is_it = |key: &&ForeignKey| {
        key.name.len() == dotted.len()
            && key.name.bytes().map(|byte| if byte == b'_' { b'.' } else { byte }).eq(dotted.bytes())
    };
    FOREIGN_KEYS.iter().find(is_it)
}

/// The value of a row, where another client has other words for it.
pub(super) fn translate(row: &str, value: &Value) -> Value {
    let values = VALUES.iter().find(|(name, _)| *name == row).map_or(&[][..], |(_, values)| *values);
    translated(value, values)
}

/// Whether a value is one of these texts, as a configuration file would have it.
pub(super) fn is_one_of(value: &Value, texts: &[&str]) -> bool {
    text(value).is_some_and(|given| texts.iter().any(|text| given.eq_ignore_ascii_case(text)))
}

fn translated(value: &Value, values: &[(&str, &str)]) -> Value {
    let Some(given) = text(value) else { return value.clone() };
    let found = values.iter().find(|(theirs, _)| given.eq_ignore_ascii_case(theirs));
    found.map_or_else(|| value.clone(), |(_, ours)| Value::from(*ours))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Str(text) => Some(text.trim().to_owned()),
        Value::Int(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::List(_) => None,
    }
}

/// Values that librdkafka has for rows of the same name, and the row's own.
pub(super) const VALUES: &[(&str, &[(&str, &str)])] = &[
    (
        "auto.offset.reset",
        &[
            ("smallest", "earliest"),
            ("beginning", "earliest"),
            ("largest", "latest"),
            ("end", "latest"),
            ("error", "none"),
        ],
    ),
    ("ssl.endpoint.identification.algorithm", &[("none", "")]),
];

const FOREVER: &str = "2147483647";
const LOGGING: &str = "use Python's logging: logging.getLogger(\"ottla\")";
const METRICS: &str = "leave it out, and call metrics()";
const PARTS_OF_CLIENT: &str = "leave it out: it tunes what this client does not have";
const VERSIONS: &str = "leave it out: each connection asks the broker for its versions";
const TRANSACTIONS: &str = "leave it out: transactions are not implemented yet";
const ON_DELIVERY: &str = "pass on_delivery to send(), or call add_done_callback() on what send() returns";
const TOKENS: &str =
    "pass the keyword argument sasl_oauth_token, a callable that returns a token or (token, expiry)";
const CIPHERS: &str = "leave it out: TLS 1.2 and 1.3 use their safe cipher suites and curves";
const REVOKED: &str = "leave it out: revocation lists are not supported";
const SERIALIZER: &str = "pass key_serializer or value_serializer to the producer as a keyword argument";
const DESERIALIZER: &str =
    "pass key_deserializer or value_deserializer to the consumer as a keyword argument";
const ASSERTIONS: &str = "leave it out: a token endpoint is asked with a client's id and secret; for other ways, pass the keyword argument sasl_oauth_token";

macro_rules! foreign_keys {
    ($($client:literal: { $($name:literal => $meaning:expr;)* })*) => {
        /// Every key of another client that this one knows.
        pub const FOREIGN_KEYS: &[ForeignKey] =
            &[$($(ForeignKey { name: $name, client: $client, meaning: $meaning },)*)*];
    };
}

foreign_keys! {
    "librdkafka": {
        "metadata.broker.list" => Row("bootstrap.servers");
        "message.max.bytes" => Row("max.request.size");
        "message.copy.max.bytes" => Instead(PARTS_OF_CLIENT);
        "max.in.flight" => Row("max.in.flight.requests.per.connection");
        "topic.metadata.refresh.interval.ms" => Translated("metadata.max.age.ms", &[("-1", FOREVER)]);
        "topic.metadata.refresh.fast.interval.ms" => Instead("use retry.backoff.ms");
        "topic.metadata.refresh.fast.cnt" => Instead(PARTS_OF_CLIENT);
        "topic.metadata.refresh.sparse" => Always(&["true"], "leave it out: only the topics that are used are refreshed");
        "topic.metadata.propagation.max.ms" => Instead("use max.block.ms: how long send() waits for a topic");
        "topic.blacklist" => Instead("leave it out: subscribe to a pattern that does not match the topic");
        "builtin.features" => Instead("leave it out: it names parts of librdkafka");
        "debug" => Instead(LOGGING);
        "log_level" => Instead(LOGGING);
        "log_cb" => Instead(LOGGING);
        "log.queue" => Instead(LOGGING);
        "log.thread.name" => Instead(LOGGING);
        "log.connection.close" => Instead(LOGGING);
        "socket.timeout.ms" => Row("request.timeout.ms");
        "socket.blocking.max.ms" => Instead(PARTS_OF_CLIENT);
        "socket.send.buffer.bytes" => Translated("send.buffer.bytes", &[("0", "-1")]);
        "socket.receive.buffer.bytes" => Translated("receive.buffer.bytes", &[("0", "-1")]);
        "socket.keepalive.enable" => Always(&["true"], "leave it out: TCP keep-alives are always on");
        "socket.nagle.disable" => Always(&["true"], "leave it out: TCP_NODELAY is always on");
        "socket.max.fails" => Instead(PARTS_OF_CLIENT);
        "broker.address.ttl" => Instead("leave it out: names are resolved for each connection");
        "broker.address.family" => Always(&["any"], "leave it out: all addresses of a name are tried");
        "reconnect.backoff.jitter.ms" => Instead("use reconnect.backoff.ms");
        "statistics.interval.ms" => Always(&["0"], METRICS);
        "stats_cb" => Instead(METRICS);
        "throttle_cb" => Instead("leave it out, and call connections(), which shows throttled_for");
        "error_cb" => Instead("leave it out: calls raise their errors, and events() reports connections");
        "enabled_events" => Instead("leave it out, and call events()");
        "background_event_cb" => Instead("leave it out, and call events()");
        "socket_cb" => Instead(PARTS_OF_CLIENT);
        "connect_cb" => Instead(PARTS_OF_CLIENT);
        "closesocket_cb" => Instead(PARTS_OF_CLIENT);
        "open_cb" => Instead(PARTS_OF_CLIENT);
        "resolve_cb" => Instead(PARTS_OF_CLIENT);
        "opaque" => Instead(PARTS_OF_CLIENT);
        "enable.random.seed" => Instead(PARTS_OF_CLIENT);
        "internal.termination.signal" => Instead(PARTS_OF_CLIENT);
        "plugin.library.paths" => Instead("leave it out, and pass interceptors to the producer");
        "default_topic_conf" => Instead("write its keys into the configuration itself");
        "api.version.request" => Always(&["true"], VERSIONS);
        "api.version.request.timeout.ms" => Instead("use socket.connection.setup.timeout.ms");
        "api.version.fallback.ms" => Instead(VERSIONS);
        "broker.version.fallback" => Instead(VERSIONS);
        "ssl.cipher.suites" => Instead(CIPHERS);
        "ssl.curves.list" => Instead(CIPHERS);
        "ssl.sigalgs.list" => Instead(CIPHERS);
        "ssl.key.pem" => Row("ssl.keystore.key");
        "ssl.certificate.pem" => Row("ssl.keystore.certificate.chain");
        "ssl.ca.location" => Row("ssl.truststore.location");
        "ssl.ca.pem" => Row("ssl.truststore.certificates");
        "ssl.ca.certificate.stores" => Instead("leave it out: the system's own authorities are the default");
        "https.ca.location" => Instead("use ssl.truststore.location, which the token endpoint is checked with too");
        "https.ca.pem" => Instead("use ssl.truststore.certificates, which the token endpoint is checked with too");
        "ssl.crl.location" => Instead(REVOKED);
        "ssl.providers" => Instead(PARTS_OF_CLIENT);
        "ssl.engine.location" => Instead(PARTS_OF_CLIENT);
        "ssl.engine.id" => Instead(PARTS_OF_CLIENT);
        "enable.ssl.certificate.verification" => Always(&["true"], "use ssl.truststore.location with the authority to trust: certificates are always checked");
        "ssl.certificate.verify_cb" => Instead("use ssl.truststore.location with the authority to trust");
        "sasl.mechanisms" => Row("sasl.mechanism");
        "sasl.oauthbearer.config" => Instead(TOKENS);
        "enable.sasl.oauthbearer.unsecure.jwt" => Always(&["false"], TOKENS);
        "oauthbearer_token_refresh_cb" => Instead(TOKENS);
        "sasl.oauthbearer.method" => Always(&["oidc"], TOKENS);
        "sasl.oauthbearer.client.id" => Row("sasl.oauthbearer.client.credentials.client.id");
        "sasl.oauthbearer.client.secret" => Row("sasl.oauthbearer.client.credentials.client.secret");
        "sasl.oauthbearer.extensions" => Instead("pass the keyword argument sasl_oauth_token, a callable that returns (token, expiry, extensions)");
        "sasl.oauthbearer.grant.type" => Always(&["client_credentials"], ASSERTIONS);
        "sasl.oauthbearer.assertion.algorithm" => Instead(ASSERTIONS);
        "sasl.oauthbearer.assertion.private.key.file" => Instead(ASSERTIONS);
        "sasl.oauthbearer.assertion.private.key.passphrase" => Instead(ASSERTIONS);
        "sasl.oauthbearer.assertion.private.key.pem" => Instead(ASSERTIONS);
        "sasl.oauthbearer.assertion.file" => Instead(ASSERTIONS);
        "sasl.oauthbearer.metadata.authentication.type" => Always(&["none"], ASSERTIONS);
        "group.protocol.type" => Always(&["consumer"], "leave it out: members of other kinds are not consumers");
        "coordinator.query.interval.ms" => Instead("leave it out: a coordinator that has moved is looked up at once");
        "enable.auto.offset.store" => Always(&["true"], "use enable.auto.commit=false, and commit(record) once a record is processed");
        "auto.commit.enable" => Instead("use enable.auto.commit");
        "queued.min.messages" => Instead("use prefetch.max.bytes, which counts bytes");
        "queued.max.messages.kbytes" => Scaled("prefetch.max.bytes", 1024);
        "fetch.wait.max.ms" => Row("fetch.max.wait.ms");
        "fetch.queue.backoff.ms" => Instead("leave it out: fetching goes on as soon as there is room");
        "fetch.message.max.bytes" => Row("max.partition.fetch.bytes");
        "fetch.error.backoff.ms" => Instead("use retry.backoff.ms");
        "offset.store.method" => Always(&["broker"], "leave it out: offsets are kept by the brokers");
        "offset.store.path" => Instead("leave it out: offsets are kept by the brokers");
        "offset.store.sync.interval.ms" => Instead("use auto.commit.interval.ms");
        "consume_cb" => Instead("leave it out: iterate over the consumer, or call poll()");
        "consume.callback.max.messages" => Instead("use max.poll.records");
        "rebalance_cb" => Instead("pass on_assigned, on_revoked and on_lost to subscribe()");
        "offset_commit_cb" => Instead("pass on_commit to commit_async()");
        "enable.partition.eof" => Always(&["false"], "leave it out: compare position() with end_offsets(), or read with ottla.scan(), which ends");
        "enable.gapless.guarantee" => Always(&["false"], "leave it out: each record's delivery says whether it was written");
        "queue.buffering.max.messages" => Instead("use buffer.memory, which counts bytes");
        "queue.buffering.max.kbytes" => Scaled("buffer.memory", 1024);
        "queue.buffering.max.ms" => Row("linger.ms");
        "message.send.max.retries" => Row("retries");
        "queue.buffering.backpressure.threshold" => Instead("use max.in.flight.requests.per.connection");
        "compression.codec" => Row("compression.type");
        "compression.level" => Always(&["-1"], "use compression.gzip.level, compression.lz4.level or compression.zstd.level");
        "batch.num.messages" => Instead("use batch.size, which counts bytes");
        "delivery.report.only.error" => Always(&["false"], ON_DELIVERY);
        "dr_cb" => Instead(ON_DELIVERY);
        "dr_msg_cb" => Instead(ON_DELIVERY);
        "sticky.partitioning.linger.ms" => Instead("leave it out: records without a key stay with a partition for a batch");
        "request.required.acks" => Row("acks");
        "message.timeout.ms" => Translated("delivery.timeout.ms", &[("0", FOREVER)]);
        "queuing.strategy" => Always(&["fifo"], "leave it out: records are sent in order");
        "produce.offset.report" => Always(&["true"], "leave it out: a delivery has its offset");
        "partitioner" => Row("partitioner.class");
        "partitioner_cb" => Instead("pass a callable as the keyword argument partitioner to the producer");
        "msg_order_cmp" => Instead("leave it out: records are sent in order");
    }
    "confluent-kafka": {
        "logger" => Instead(LOGGING);
        "default.topic.config" => Instead("write its keys into the configuration itself");
        "oauth_cb" => Instead(TOKENS);
        "on_commit" => Instead("pass on_commit to commit_async()");
        "on_delivery" => Instead(ON_DELIVERY);
    }
    "Kafka": {
        "transactional.id" => Instead(TRANSACTIONS);
        "transaction.timeout.ms" => Instead(TRANSACTIONS);
        "key.serializer" => Instead(SERIALIZER);
        "value.serializer" => Instead(SERIALIZER);
        "key.deserializer" => Instead(DESERIALIZER);
        "value.deserializer" => Instead(DESERIALIZER);
    }
    "Java": {
        "sasl.client.callback.handler.class" => Instead("leave it out, and name a token callback in sasl.oauthbearer.token.provider, with sasl.mechanism=OAUTHBEARER");
    }
    "kafka-python": {
        "api_version" => Instead(VERSIONS);
        "api_version_auto_timeout_ms" => Instead("use socket.connection.setup.timeout.ms");
        "consumer_timeout_ms" => Instead("leave it out: poll(timeout) returns an empty list when nothing comes");
        "default_offset_commit_callback" => Instead("pass on_commit to commit_async()");
        "leave_group_on_close" => Always(&["true"], "use group.instance.id: a static member does not leave its group on close()");
        "legacy_iterator" => Always(&["false"], PARTS_OF_CLIENT);
        "sasl_plain_username" => Instead("use sasl.username");
        "sasl_plain_password" => Instead("use sasl.password");
        "sasl_kerberos_name" => Instead("use sasl.kerberos.service.name");
        "sasl_kerberos_domain_name" => Instead("leave it out: the service's host is the broker's");
        "sasl_oauth_token_provider" => Instead(TOKENS);
        "ssl_context" => Instead("use ssl.truststore.location, ssl.certificate.location and ssl.key.location");
        "ssl_check_hostname" => Always(&["true"], "use ssl.endpoint.identification.algorithm=\"\"");
        "ssl_cafile" => Instead("use ssl.truststore.location");
        "ssl_certfile" => Instead("use ssl.certificate.location, with ssl.key.location");
        "ssl_keyfile" => Instead("use ssl.key.location, with ssl.certificate.location");
        "ssl_password" => Instead("use ssl.key.password");
        "ssl_crlfile" => Instead(REVOKED);
        "ssl_ciphers" => Instead(CIPHERS);
        "socket_options" => Instead("use send.buffer.bytes and receive.buffer.bytes; TCP_NODELAY and keep-alives are on");
        "socks5_proxy" => Instead("leave it out: proxies are not supported");
        "sock_chunk_bytes" => Instead(PARTS_OF_CLIENT);
        "sock_chunk_buffer_count" => Instead(PARTS_OF_CLIENT);
        "wakeup_timeout_ms" => Instead(PARTS_OF_CLIENT);
        "raise_upon_socket_err_during_wakeup" => Instead(PARTS_OF_CLIENT);
        "selector" => Instead(PARTS_OF_CLIENT);
        "kafka_client" => Instead("pass an ottla.Client as the first argument");
        "metrics_enabled" => Always(&["true"], METRICS);
        "metric_group_prefix" => Instead(METRICS);
        "bootstrap_topics_filter" => Instead(PARTS_OF_CLIENT);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{FOREIGN_KEYS, VALUES, find};
    use crate::config::{rows, table};

    #[test]
    fn every_key_is_named_once_and_means_a_row_that_there_is() {
        let rows: HashSet<_> = rows().into_iter().map(|row| row.name).collect();
        let mut names = HashSet::new();
        for key in FOREIGN_KEYS {
            let dotted = key.name.replace('_', ".");
            assert!(names.insert(dotted.clone()), "{} is named twice", key.name);
            assert!(!rows.contains(&*dotted) && !table::is_inert(&dotted), "{} is ours", key.name);
            assert!(key.row().is_none_or(|row| rows.contains(row)), "{}: no such row", key.name);
            assert_eq!(find(&dotted), Some(key));
        }
        assert!(VALUES.iter().all(|(row, _)| rows.contains(row)));
    }
}
