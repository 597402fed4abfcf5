//! Keys of other clients (librdkafka, confluent-kafka, kafka-python) and Kafka's own keys that this
//! client does not have. Each is an alias of a row, or an error that says what to use instead.
//!
//! docs/reference/configuration.md prints this table. Invariants: an alias has exactly the effect of its row; no
//! name here is a row's; no message contains a value that may be a secret.

use super::value::Value;

/// How a key of another client maps to this client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapping {
    /// The same as this row.
    Alias(&'static str),
    /// The same as this row, in a unit of this many of the row's.
    Scaled(&'static str, i64),
    /// The same as this row, except for these values: the other client's and the row's.
    Translated(&'static str, &'static [(&'static str, &'static str)]),
    /// This client always behaves as with these values, so they have no effect; for other values,
    /// what to use instead.
    FixedTo(&'static [&'static str], &'static str),
    /// No equivalent: what to use instead.
    Unsupported(&'static str),
}

use Mapping::{Alias, FixedTo, Scaled, Translated, Unsupported};

/// A key of another client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherClientKey {
    /// The name, as that client spells it.
    pub name: &'static str,
    /// The client.
    pub client: &'static str,
    /// How it maps to this client.
    pub mapping: Mapping,
}

impl OtherClientKey {
    /// The row that it sets, if any.
    #[must_use]
    pub fn row(&self) -> Option<&'static str> {
        match self.mapping {
            Alias(row) | Scaled(row, _) | Translated(row, _) => Some(row),
            FixedTo(..) | Unsupported(_) => None,
        }
    }

    /// The mapping as Markdown, for the docs.
    #[must_use]
    pub fn describe(&self) -> String {
        let quoted = |values: &[&str]| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>();
        match self.mapping {
            Alias(row) => format!("`{row}`"),
            Scaled(row, factor) => format!("`{row}`, multiplied by {factor}"),
            Translated(row, values) => {
                let values = values.iter().map(|(theirs, ours)| format!("`{theirs}` means `{ours}`"));
                format!("`{row}`; {}", values.collect::<Vec<_>>().join(", "))
            }
            FixedTo(values, instead) => {
                format!("{} has no effect; otherwise: {instead}", quoted(values).join(" or "))
            }
            Unsupported(instead) => format!("an error: {instead}"),
        }
    }

    /// Converts a value to the row's; `Err` says what is wrong with it.
    pub(super) fn convert(&self, value: &Value) -> Result<Value, String> {
        match self.mapping {
            Scaled(_, factor) => {
                let scaled = value.int()?.checked_mul(factor);
                scaled.map(Value::Int).ok_or_else(|| "the number is too large".to_owned())
            }
            Translated(_, values) => Ok(translated(value, values)),
            Alias(_) | FixedTo(..) | Unsupported(_) => Ok(value.clone()),
        }
    }
}

/// Finds another client's key by its name, with dots or underscores.
pub(super) fn find(dotted: &str) -> Option<&'static OtherClientKey> {
    let matches = |key: &&OtherClientKey| {
        key.name.len() == dotted.len()
            && key.name.bytes().map(|byte| if byte == b'_' { b'.' } else { byte }).eq(dotted.bytes())
    };
    OTHER_CLIENT_KEYS.iter().find(matches)
}

/// Translates a value that another client spells differently for the same key.
pub(super) fn translate(row: &str, value: &Value) -> Value {
    let values = VALUES.iter().find(|(name, _)| *name == row).map_or(&[][..], |(_, values)| *values);
    translated(value, values)
}

/// Whether a value, written as in a configuration file, is one of these texts.
pub(super) fn is_one_of(value: &Value, texts: &[&str]) -> bool {
    text(value).is_some_and(|raw| texts.iter().any(|text| raw.eq_ignore_ascii_case(text)))
}

fn translated(value: &Value, values: &[(&str, &str)]) -> Value {
    let Some(raw) = text(value) else { return value.clone() };
    let found = values.iter().find(|(theirs, _)| raw.eq_ignore_ascii_case(theirs));
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

/// By row, librdkafka's values for the same key and the row's own.
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
const PARTS_OF_CLIENT: &str = "leave it out: it tunes internals of another client";
const VERSIONS: &str = "leave it out: each connection negotiates versions with the broker";
const ON_DELIVERY: &str = "pass on_delivery to send(), or call add_done_callback() on the result of send()";
const TOKENS: &str =
    "pass the keyword argument sasl_oauth_token, a callable that returns a token or (token, expiry)";
const CIPHERS: &str = "leave it out: only safe cipher suites and curves of TLS 1.2 and 1.3 are used";
const REVOKED: &str = "leave it out: revocation lists are not supported";
const SERIALIZER: &str = "pass key_serializer or value_serializer to the producer as a keyword argument";
const DESERIALIZER: &str =
    "pass key_deserializer or value_deserializer to the consumer as a keyword argument";
const RETRIEVER: &str = "sasl.oauthbearer.jwt.retriever.class";
const GRANTS: &[(&str, &str)] = &[
    ("client_credentials", "ClientCredentialsJwtRetriever"),
    ("urn:ietf:params:oauth:grant-type:jwt-bearer", "JwtBearerJwtRetriever"),
];

macro_rules! other_client_keys {
    ($($client:literal: { $($name:literal => $mapping:expr;)* })*) => {
        /// Every known key of other clients.
        pub const OTHER_CLIENT_KEYS: &[OtherClientKey] =
            &[$($(OtherClientKey { name: $name, client: $client, mapping: $mapping },)*)*];
    };
}

other_client_keys! {
    "librdkafka": {
        "metadata.broker.list" => Alias("bootstrap.servers");
        "message.max.bytes" => Alias("max.request.size");
        "message.copy.max.bytes" => Unsupported(PARTS_OF_CLIENT);
        "max.in.flight" => Alias("max.in.flight.requests.per.connection");
        "topic.metadata.refresh.interval.ms" => Translated("metadata.max.age.ms", &[("-1", FOREVER)]);
        "topic.metadata.refresh.fast.interval.ms" => Unsupported("use retry.backoff.ms");
        "topic.metadata.refresh.fast.cnt" => Unsupported(PARTS_OF_CLIENT);
        "topic.metadata.refresh.sparse" => FixedTo(&["true"], "leave it out: only topics in use are refreshed");
        "topic.metadata.propagation.max.ms" => Unsupported("use max.block.ms, the time that send() waits for a topic");
        "topic.blacklist" => Unsupported("leave it out, and subscribe to a pattern that does not match the topic");
        "builtin.features" => Unsupported("leave it out: it lists features of librdkafka");
        "debug" => Unsupported(LOGGING);
        "log_level" => Unsupported(LOGGING);
        "log_cb" => Unsupported(LOGGING);
        "log.queue" => Unsupported(LOGGING);
        "log.thread.name" => Unsupported(LOGGING);
        "log.connection.close" => Unsupported(LOGGING);
        "socket.timeout.ms" => Alias("request.timeout.ms");
        "socket.blocking.max.ms" => Unsupported(PARTS_OF_CLIENT);
        "socket.send.buffer.bytes" => Translated("send.buffer.bytes", &[("0", "-1")]);
        "socket.receive.buffer.bytes" => Translated("receive.buffer.bytes", &[("0", "-1")]);
        "socket.keepalive.enable" => FixedTo(&["true"], "leave it out: TCP keep-alives are always on");
        "socket.nagle.disable" => FixedTo(&["true"], "leave it out: TCP_NODELAY is always on");
        "socket.max.fails" => Unsupported(PARTS_OF_CLIENT);
        "broker.address.ttl" => Unsupported("leave it out: names are resolved anew for each connection");
        "broker.address.family" => FixedTo(&["any"], "leave it out: all addresses of a name are tried");
        "reconnect.backoff.jitter.ms" => Unsupported("use reconnect.backoff.ms");
        "statistics.interval.ms" => FixedTo(&["0"], METRICS);
        "stats_cb" => Unsupported(METRICS);
        "throttle_cb" => Unsupported("leave it out, and read throttled_for in connections()");
        "error_cb" => Unsupported("leave it out: calls raise errors, and events() reports connections");
        "enabled_events" => Unsupported("leave it out, and call events()");
        "background_event_cb" => Unsupported("leave it out, and call events()");
        "socket_cb" => Unsupported(PARTS_OF_CLIENT);
        "connect_cb" => Unsupported(PARTS_OF_CLIENT);
        "closesocket_cb" => Unsupported(PARTS_OF_CLIENT);
        "open_cb" => Unsupported(PARTS_OF_CLIENT);
        "resolve_cb" => Unsupported(PARTS_OF_CLIENT);
        "opaque" => Unsupported(PARTS_OF_CLIENT);
        "enable.random.seed" => Unsupported(PARTS_OF_CLIENT);
        "internal.termination.signal" => Unsupported(PARTS_OF_CLIENT);
        "plugin.library.paths" => Unsupported("leave it out, and pass interceptors to the producer or consumer");
        "default_topic_conf" => Unsupported("write its keys into the configuration itself");
        "api.version.request" => FixedTo(&["true"], VERSIONS);
        "api.version.request.timeout.ms" => Unsupported("use socket.connection.setup.timeout.ms");
        "api.version.fallback.ms" => Unsupported(VERSIONS);
        "broker.version.fallback" => Unsupported(VERSIONS);
        "ssl.cipher.suites" => Unsupported(CIPHERS);
        "ssl.curves.list" => Unsupported(CIPHERS);
        "ssl.sigalgs.list" => Unsupported(CIPHERS);
        "ssl.key.pem" => Alias("ssl.keystore.key");
        "ssl.certificate.pem" => Alias("ssl.keystore.certificate.chain");
        "ssl.ca.location" => Alias("ssl.truststore.location");
        "ssl.ca.pem" => Alias("ssl.truststore.certificates");
        "ssl.ca.certificate.stores" => Unsupported("leave it out: the system's own authorities are the default");
        "https.ca.location" => Unsupported("use sasl.oauthbearer.token.endpoint.ssl.truststore.location");
        "https.ca.pem" => Unsupported("use sasl.oauthbearer.token.endpoint.ssl.truststore.certificates");
        "ssl.crl.location" => Unsupported(REVOKED);
        "ssl.providers" => Unsupported(PARTS_OF_CLIENT);
        "ssl.engine.location" => Unsupported(PARTS_OF_CLIENT);
        "ssl.engine.id" => Unsupported(PARTS_OF_CLIENT);
        "enable.ssl.certificate.verification" => FixedTo(&["true"], "use ssl.truststore.location with the authority to trust: certificates are always verified");
        "ssl.certificate.verify_cb" => Unsupported("use ssl.truststore.location with the authority to trust");
        "sasl.mechanisms" => Alias("sasl.mechanism");
        "sasl.oauthbearer.config" => Unsupported(TOKENS);
        "enable.sasl.oauthbearer.unsecure.jwt" => FixedTo(&["false"], TOKENS);
        "oauthbearer_token_refresh_cb" => Unsupported(TOKENS);
        "sasl.oauthbearer.method" => FixedTo(&["oidc"], TOKENS);
        "sasl.oauthbearer.client.id" => Alias("sasl.oauthbearer.client.credentials.client.id");
        "sasl.oauthbearer.client.secret" => Alias("sasl.oauthbearer.client.credentials.client.secret");
        "sasl.oauthbearer.extensions" => Unsupported("pass the keyword argument sasl_oauth_token, a callable that returns (token, expiry, extensions)");
        "sasl.oauthbearer.grant.type" => Translated(RETRIEVER, GRANTS);
        "sasl.oauthbearer.assertion.jwt.template.file" => Alias("sasl.oauthbearer.assertion.template.file");
        "sasl.oauthbearer.metadata.authentication.type" => FixedTo(&["none"], "for azure_imds, set sasl.oauthbearer.token.provider=azure-event-hubs?namespace=…, or entra-id?audience=… for other brokers, without sasl.oauthbearer.token.endpoint.url and sasl.oauthbearer.config");
        "group.protocol.type" => FixedTo(&["consumer"], "leave it out: consumers only join groups of this type");
        "coordinator.query.interval.ms" => Unsupported("leave it out: a coordinator that has moved is looked up immediately");
        "enable.auto.offset.store" => FixedTo(&["true"], "use enable.auto.commit=false, and commit(record) once a record is processed");
        "auto.commit.enable" => Unsupported("use enable.auto.commit");
        "queued.min.messages" => Unsupported("use prefetch.max.bytes, which counts bytes");
        "queued.max.messages.kbytes" => Scaled("prefetch.max.bytes", 1024);
        "fetch.wait.max.ms" => Alias("fetch.max.wait.ms");
        "fetch.queue.backoff.ms" => Unsupported("leave it out: fetching continues as soon as there is room");
        "fetch.message.max.bytes" => Alias("max.partition.fetch.bytes");
        "fetch.error.backoff.ms" => Unsupported("use retry.backoff.ms");
        "offset.store.method" => FixedTo(&["broker"], "leave it out: the brokers store the offsets");
        "offset.store.path" => Unsupported("leave it out: the brokers store the offsets");
        "offset.store.sync.interval.ms" => Unsupported("use auto.commit.interval.ms");
        "consume_cb" => Unsupported("leave it out: iterate over the consumer, or call poll()");
        "consume.callback.max.messages" => Unsupported("use max.poll.records");
        "rebalance_cb" => Unsupported("pass on_assigned, on_revoked and on_lost to subscribe()");
        "offset_commit_cb" => Unsupported("pass on_commit to commit_async()");
        "enable.partition.eof" => FixedTo(&["false"], "leave it out, and compare position() with end_offsets(), or read with ottla.scan(), which ends");
        "enable.gapless.guarantee" => FixedTo(&["false"], "leave it out: each record's delivery reports whether it was written");
        "queue.buffering.max.messages" => Unsupported("use buffer.memory, which counts bytes");
        "queue.buffering.max.kbytes" => Scaled("buffer.memory", 1024);
        "queue.buffering.max.ms" => Alias("linger.ms");
        "message.send.max.retries" => Alias("retries");
        "queue.buffering.backpressure.threshold" => Unsupported("use max.in.flight.requests.per.connection");
        "compression.codec" => Alias("compression.type");
        "compression.level" => FixedTo(&["-1"], "use compression.gzip.level, compression.lz4.level or compression.zstd.level");
        "batch.num.messages" => Unsupported("use batch.size, which counts bytes");
        "delivery.report.only.error" => FixedTo(&["false"], ON_DELIVERY);
        "dr_cb" => Unsupported(ON_DELIVERY);
        "dr_msg_cb" => Unsupported(ON_DELIVERY);
        "sticky.partitioning.linger.ms" => Unsupported("leave it out: records without a key stay on one partition for a batch");
        "request.required.acks" => Alias("acks");
        "message.timeout.ms" => Translated("delivery.timeout.ms", &[("0", FOREVER)]);
        "queuing.strategy" => FixedTo(&["fifo"], "leave it out: records are sent in order");
        "produce.offset.report" => FixedTo(&["true"], "leave it out: every delivery has its offset");
        "partitioner" => Alias("partitioner.class");
        "partitioner_cb" => Unsupported("pass a callable as the keyword argument partitioner to the producer");
        "msg_order_cmp" => Unsupported("leave it out: records are sent in order");
    }
    "confluent-kafka": {
        "logger" => Unsupported(LOGGING);
        "default.topic.config" => Unsupported("write its keys into the configuration itself");
        "oauth_cb" => Unsupported(TOKENS);
        "on_commit" => Unsupported("pass on_commit to commit_async()");
        "on_delivery" => Unsupported(ON_DELIVERY);
    }
    "Kafka": {
        "key.serializer" => Unsupported(SERIALIZER);
        "value.serializer" => Unsupported(SERIALIZER);
        "key.deserializer" => Unsupported(DESERIALIZER);
        "value.deserializer" => Unsupported(DESERIALIZER);
    }
    "Java": {
        "sasl.client.callback.handler.class" => Unsupported("leave it out, and name a token callback in sasl.oauthbearer.token.provider, with sasl.mechanism=OAUTHBEARER");
    }
    "kafka-python": {
        "api_version" => Unsupported(VERSIONS);
        "api_version_auto_timeout_ms" => Unsupported("use socket.connection.setup.timeout.ms");
        "consumer_timeout_ms" => Unsupported("leave it out: poll(timeout) returns an empty list when no records arrive");
        "default_offset_commit_callback" => Unsupported("pass on_commit to commit_async()");
        "leave_group_on_close" => FixedTo(&["true"], "use group.instance.id: a static member does not leave its group on close()");
        "legacy_iterator" => FixedTo(&["false"], PARTS_OF_CLIENT);
        "sasl_plain_username" => Unsupported("use sasl.username");
        "sasl_plain_password" => Unsupported("use sasl.password");
        "sasl_kerberos_name" => Unsupported("use sasl.kerberos.service.name");
        "sasl_kerberos_domain_name" => Unsupported("leave it out: the host in the principal is the broker's");
        "sasl_oauth_token_provider" => Unsupported(TOKENS);
        "ssl_context" => Unsupported("use ssl.truststore.location, ssl.certificate.location and ssl.key.location");
        "ssl_check_hostname" => FixedTo(&["true"], "use ssl.endpoint.identification.algorithm=\"\"");
        "ssl_cafile" => Unsupported("use ssl.truststore.location");
        "ssl_certfile" => Unsupported("use ssl.certificate.location, with ssl.key.location");
        "ssl_keyfile" => Unsupported("use ssl.key.location, with ssl.certificate.location");
        "ssl_password" => Unsupported("use ssl.key.password");
        "ssl_crlfile" => Unsupported(REVOKED);
        "ssl_ciphers" => Unsupported(CIPHERS);
        "socket_options" => Unsupported("use send.buffer.bytes and receive.buffer.bytes; TCP_NODELAY and keep-alives are on");
        "socks5_proxy" => Unsupported("use proxy.url, as socks5h://host:port");
        "sock_chunk_bytes" => Unsupported(PARTS_OF_CLIENT);
        "sock_chunk_buffer_count" => Unsupported(PARTS_OF_CLIENT);
        "wakeup_timeout_ms" => Unsupported(PARTS_OF_CLIENT);
        "raise_upon_socket_err_during_wakeup" => Unsupported(PARTS_OF_CLIENT);
        "selector" => Unsupported(PARTS_OF_CLIENT);
        "kafka_client" => Unsupported("pass an ottla.Client as the first argument");
        "metrics_enabled" => FixedTo(&["true"], METRICS);
        "metric_group_prefix" => Unsupported(METRICS);
        "bootstrap_topics_filter" => Unsupported(PARTS_OF_CLIENT);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{OTHER_CLIENT_KEYS, VALUES, find};
    use crate::config::{rows, table};

    #[test]
    fn every_key_is_unique_and_maps_to_an_existing_row() {
        let rows: HashSet<_> = rows().into_iter().map(|row| row.name).collect();
        let mut names = HashSet::new();
        for key in OTHER_CLIENT_KEYS {
            let dotted = key.name.replace('_', ".");
            assert!(names.insert(dotted.clone()), "{} is named twice", key.name);
            assert!(!rows.contains(&*dotted) && !table::is_ignored(&dotted), "{} is a row", key.name);
            assert!(key.row().is_none_or(|row| rows.contains(row)), "{}: no such row", key.name);
            assert_eq!(find(&dotted), Some(key));
        }
        assert!(VALUES.iter().all(|(row, _)| rows.contains(row)));
    }
}
