//! The table of a client's configuration keys.

use std::time::Duration;

use ottla_protocol::records::{Compression, DEFAULT_DECOMPRESSED_LIMIT};

use super::acks::Acks;
use super::cluster::{DnsLookup, MetadataRecovery};
use super::consumer::{AutoOffsetReset, IsolationLevel, ShareAcknowledgementMode, ShareAcquireMode};
use super::group::{AssignmentStrategy, GroupProtocol};
use super::partitioner::Partitioner;
use super::rows::{INT, Row, config_table, ms};
use super::security::SecurityProtocol;
use crate::security::Secret;

config_table! {
    /// The configuration of a client, its producers and its consumers.
    Config, ROW_NAMES;

    bootstrap_servers: Vec<String> = Vec::new(), "bootstrap.servers", (0, 0), "Addresses (host:port) of brokers to discover the cluster from; one that responds is enough.";
    bootstrap_controllers: Vec<String> = Vec::new(), "bootstrap.controllers", (0, 0), "Addresses (host:port) of KRaft controllers, instead of bootstrap.servers, for an Admin that talks to them directly (KIP-919, Kafka 3.7): the quorum, configurations, features, ACLs and what else controllers serve. Producers and consumers refuse it.";
    client_id: String = "ottla".to_owned(), "client.id", (0, 0), "Name of this client in the brokers' logs and quotas.";
    client_rack: String = String::new(), "client.rack", (0, 0), "Rack or availability zone of this client.";
    client_dns_lookup: DnsLookup = DnsLookup::UseAllDnsIps, "client.dns.lookup", (0, 0), "Which addresses a bootstrap server's name stands for: all that it resolves to, or those of the canonical names behind them. Either way, all addresses of a name are tried in turn.";
    proxy_url: Secret = Secret::default(), "proxy.url", (0, 0), "Proxy for connections to brokers, and to the token endpoint unless it has its own: socks5h://host:port or http://host:port (CONNECT), with user:password@ before the host, percent-encoded, if it asks for them. It resolves the brokers' names. Empty or none: no proxy; environment variables such as HTTPS_PROXY are not read. Not a key of Java's client.";
    security_protocol: SecurityProtocol = SecurityProtocol::Plaintext, "security.protocol", (0, 0), "Protocol of the brokers' listener: with SSL over TLS, with SASL with authentication.";
    metadata_max_age: Duration = ms(300_000), "metadata.max.age.ms", (0, INT), "Age at which metadata is refreshed, even if nothing seems to have changed.";
    events_metadata_max_age: Duration = ms(5_000), "events.metadata.max.age.ms", (0, INT), "The same while events() is in use.";
    metadata_max_idle: Duration = ms(300_000), "metadata.max.idle.ms", (5_000, INT), "Time after which an unused topic is no longer refreshed.";
    metadata_recovery: MetadataRecovery = MetadataRecovery::Rebootstrap, "metadata.recovery.strategy", (0, 0), "What to do when no known broker responds: use the bootstrap servers again, or keep trying the known brokers.";
    metadata_cluster_check: bool = true, "metadata.cluster.check.enable", (0, 0), "Tell each broker, when connecting, which broker of which cluster it should be, so that one at a wrong address refuses the connection (KIP-1242; brokers from Kafka 4.4), and take no metadata of another cluster from the known brokers. The client bootstraps again then. Without effect if metadata.recovery.strategy is none.";
    metadata_rebootstrap_trigger: Duration = ms(300_000), "metadata.recovery.rebootstrap.trigger.ms", (0, INT), "Time without a response from any known broker after which the client returns to the bootstrap servers.";
    request_timeout: Duration = ms(30_000), "request.timeout.ms", (1, INT), "Time to wait for a response before the connection to the broker is considered dead.";
    default_api_timeout: Duration = ms(60_000), "default.api.timeout.ms", (1, INT), "Time limit of calls that are made without a timeout.";
    connection_setup_timeout: Duration = ms(10_000), "socket.connection.setup.timeout.ms", (1, INT), "Time for one address to accept a connection and to send its first response.";
    connection_setup_timeout_max: Duration = ms(30_000), "socket.connection.setup.timeout.max.ms", (1, INT), "Upper limit of that time, which doubles with each failure to connect to a broker (KIP-601).";
    connections_max_idle: Duration = ms(540_000), "connections.max.idle.ms", (-1, i64::MAX), "Time after which an unused connection is closed; -1 keeps it open.";
    reconnect_backoff: Duration = ms(50), "reconnect.backoff.ms", (0, INT), "Wait before reconnecting to a broker after a failure; doubles with each failure.";
    reconnect_backoff_max: Duration = ms(1_000), "reconnect.backoff.max.ms", (0, INT), "Upper limit of that wait.";
    retry_backoff: Duration = ms(100), "retry.backoff.ms", (0, INT), "Wait before a failed request is retried; doubles with each failure.";
    retry_backoff_max: Duration = ms(1_000), "retry.backoff.max.ms", (0, INT), "Upper limit of that wait.";
    max_in_flight: usize = 5, "max.in.flight.requests.per.connection", (1, 1_000_000), "Requests that may be in flight on one connection.";
    send_buffer: i32 = -1, "send.buffer.bytes", (-1, INT), "Size of the socket's send buffer; -1 leaves it to the operating system, which adapts it to the link.";
    receive_buffer: i32 = -1, "receive.buffer.bytes", (-1, INT), "Size of the socket's receive buffer; -1 leaves it to the operating system, which adapts it to the link.";
    receive_message_max: usize = 100_000_000, "receive.message.max.bytes", (1_000, INT), "Largest response that is accepted from a broker.";

    enable_metrics_push: bool = true, "enable.metrics.push", (0, 0), "Push the metrics that the cluster's operators subscribe to, if the brokers support it (KIP-714). Without a subscription, nothing is pushed.";
    metrics_num_samples: usize = 2, "metrics.num.samples", (1, 1_000), "Number of samples from which rates, averages and maxima are computed.";
    metrics_sample_window: Duration = ms(30_000), "metrics.sample.window.ms", (1, INT), "Time that one sample covers.";

    ssl_truststore_location: String = String::new(), "ssl.truststore.location", (0, 0), "PEM file or PKCS#12 store with the certificate authorities to trust. The system's own are used if neither this nor ssl.truststore.certificates is set.";
    ssl_truststore_certificates: String = String::new(), "ssl.truststore.certificates", (0, 0), "The same as PEM text.";
    ssl_truststore_type: String = "PEM".to_owned(), "ssl.truststore.type", (0, 0), "Format of the trust store: PEM or PKCS12. The file shows which it is: a PKCS#12 store is read as one whatever this says. JKS is rejected with the command that converts the store.";
    ssl_truststore_password: Secret = Secret::default(), "ssl.truststore.password", (0, 0), "Password of a PKCS#12 trust store. PEM trust stores have none.";
    ssl_keystore_location: String = String::new(), "ssl.keystore.location", (0, 0), "PEM file with this client's private key (PKCS#8) and certificate chain, or PKCS#12 store with one private key, for brokers that request a certificate (mTLS).";
    ssl_certificate_location: String = String::new(), "ssl.certificate.location", (0, 0), "PEM file with the certificate chain, this client's certificate first, if the key has a file of its own (ssl.key.location). A key of librdkafka, not of Java's client.";
    ssl_key_location: String = String::new(), "ssl.key.location", (0, 0), "PEM file with the private key; goes with ssl.certificate.location.";
    ssl_keystore_certificate_chain: String = String::new(), "ssl.keystore.certificate.chain", (0, 0), "The certificate chain as PEM text, this client's certificate first.";
    ssl_keystore_key: Secret = Secret::default(), "ssl.keystore.key", (0, 0), "The private key as PEM text.";
    ssl_key_password: Secret = Secret::default(), "ssl.key.password", (0, 0), "Password of the private key, if it is encrypted.";
    ssl_keystore_type: String = "PEM".to_owned(), "ssl.keystore.type", (0, 0), "Format of the key store: PEM or PKCS12, as for ssl.truststore.type.";
    ssl_keystore_password: Secret = Secret::default(), "ssl.keystore.password", (0, 0), "Password of a PKCS#12 key store and of the key in it. PEM key stores have none; that of the key is ssl.key.password.";
    ssl_endpoint_identification_algorithm: String = "https".to_owned(), "ssl.endpoint.identification.algorithm", (0, 0), "https verifies that the broker's certificate is for the host that the client connects to; empty verifies only its dates and its issuer.";
    ssl_enabled_protocols: Vec<String> = vec!["TLSv1.2".to_owned(), "TLSv1.3".to_owned()], "ssl.enabled.protocols", (0, 0), "TLS versions that may be used.";
    sasl_mechanism: String = "GSSAPI".to_owned(), "sasl.mechanism", (0, 0), "Authentication mechanism: GSSAPI (Kerberos), PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.";
    sasl_username: String = String::new(), "sasl.username", (0, 0), "User name for PLAIN and SCRAM.";
    sasl_password: Secret = Secret::default(), "sasl.password", (0, 0), "Password for PLAIN and SCRAM.";
    sasl_scram_tokenauth: bool = false, "sasl.scram.tokenauth", (0, 0), "Log in by SCRAM with a delegation token (KIP-48): sasl.username is its id, and sasl.password its HMAC in base64. The same as tokenauth=\"true\" in sasl.jaas.config. Not a key of Java's client.";
    sasl_jaas_config: Secret = Secret::default(), "sasl.jaas.config", (0, 0), "The credentials in Java's form: one of Kafka's login modules and its options. It is parsed as data; no class is loaded.";
    sasl_kerberos_service_name: String = String::new(), "sasl.kerberos.service.name", (0, 0), "Service name of the brokers in Kerberos, usually kafka: the first part of their principal, kafka/host@REALM.";
    sasl_kerberos_principal: String = String::new(), "sasl.kerberos.principal", (0, 0), "This client's principal in sasl.kerberos.keytab. If empty, the first one in the file.";
    sasl_kerberos_keytab: String = String::new(), "sasl.kerberos.keytab", (0, 0), "File with this client's Kerberos key. If empty, the system's ticket cache is used (kinit).";
    sasl_oauthbearer_token_endpoint_url: String = String::new(), "sasl.oauthbearer.token.endpoint.url", (0, 0), "URL (https) from which OAUTHBEARER gets its tokens, with a client id and secret or with an assertion.";
    sasl_oauthbearer_client_credentials_client_id: String = String::new(), "sasl.oauthbearer.client.credentials.client.id", (0, 0), "Client id for the token endpoint.";
    sasl_oauthbearer_client_credentials_client_secret: Secret = Secret::default(), "sasl.oauthbearer.client.credentials.client.secret", (0, 0), "Client secret for the token endpoint.";
    sasl_oauthbearer_scope: String = String::new(), "sasl.oauthbearer.scope", (0, 0), "Scope of the requested tokens.";
    sasl_oauthbearer_header_urlencode: bool = false, "sasl.oauthbearer.header.urlencode", (0, 0), "Encode the client id and secret as RFC 6749 requires; token servers differ.";
    sasl_oauthbearer_token_endpoint_ssl_truststore_location: String = String::new(), "sasl.oauthbearer.token.endpoint.ssl.truststore.location", (0, 0), "PEM file with the certificate authorities for the token endpoint; the system's own if empty. The brokers' trust store is not used.";
    sasl_oauthbearer_token_endpoint_ssl_truststore_certificates: String = String::new(), "sasl.oauthbearer.token.endpoint.ssl.truststore.certificates", (0, 0), "The same as PEM text.";
    sasl_oauthbearer_token_endpoint_allow_http: bool = false, "sasl.oauthbearer.token.endpoint.allow.http", (0, 0), "Allow an http token endpoint, which exposes the secret to the network.";
    sasl_oauthbearer_token_endpoint_proxy_url: Secret = Secret::default(), "sasl.oauthbearer.token.endpoint.proxy.url", (0, 0), "Proxy for the token endpoint, in the form of proxy.url, which is used if this is empty; none connects without a proxy. Not a key of Java's client.";
    sasl_oauthbearer_jwt_retriever_class: String = "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever".to_owned(), "sasl.oauthbearer.jwt.retriever.class", (0, 0), "How the token endpoint is asked, by the name of Kafka's class: ClientCredentialsJwtRetriever (with a client secret, or with an assertion if one is configured: KIP-1258), JwtBearerJwtRetriever (with an assertion alone: the grant jwt-bearer, KIP-1139), or DefaultJwtRetriever, which is the first of them. The package org.apache.kafka.common.security.oauthbearer may be left out. No class is loaded.";
    sasl_oauthbearer_assertion_file: String = String::new(), "sasl.oauthbearer.assertion.file", (0, 0), "File with a signed assertion (a JSON web token), read again when it changes; the other keys about assertions have no effect then. The environment variable OTTLA_ASSERTION_FILES must list the file.";
    sasl_oauthbearer_assertion_private_key_file: String = String::new(), "sasl.oauthbearer.assertion.private.key.file", (0, 0), "PEM file with the private key that signs assertions, read again when it changes. The environment variable OTTLA_ASSERTION_FILES must list the file.";
    sasl_oauthbearer_assertion_private_key_pem: Secret = Secret::default(), "sasl.oauthbearer.assertion.private.key.pem", (0, 0), "The private key as PEM text. A key of librdkafka, not of Java's client.";
    sasl_oauthbearer_assertion_private_key_passphrase: Secret = Secret::default(), "sasl.oauthbearer.assertion.private.key.passphrase", (0, 0), "Password of that private key, if it is encrypted.";
    sasl_oauthbearer_assertion_algorithm: String = "RS256".to_owned(), "sasl.oauthbearer.assertion.algorithm", (0, 0), "Algorithm that signs assertions: RS256 (an RSA key) or ES256 (a key on P-256).";
    sasl_oauthbearer_assertion_claim_iss: String = String::new(), "sasl.oauthbearer.assertion.claim.iss", (0, 0), "Claim iss of assertions, the issuer: for the token endpoint, mostly the client id.";
    sasl_oauthbearer_assertion_claim_sub: String = String::new(), "sasl.oauthbearer.assertion.claim.sub", (0, 0), "Claim sub of assertions: the client id, or for jwt-bearer the user or account that the token is for.";
    sasl_oauthbearer_assertion_claim_aud: String = String::new(), "sasl.oauthbearer.assertion.claim.aud", (0, 0), "Claim aud of assertions: the token endpoint as it names itself, mostly its URL.";
    sasl_oauthbearer_assertion_claim_exp_seconds: u32 = 300, "sasl.oauthbearer.assertion.claim.exp.seconds", (0, 86_400), "Time in seconds for which an assertion is valid: the claim exp is the current time plus this.";
    sasl_oauthbearer_assertion_claim_nbf_seconds: u32 = 60, "sasl.oauthbearer.assertion.claim.nbf.seconds", (0, 3_600), "Time in seconds before its creation from which an assertion is valid, for clocks that differ: the claim nbf is the current time minus this.";
    sasl_oauthbearer_assertion_claim_jti_include: bool = false, "sasl.oauthbearer.assertion.claim.jti.include", (0, 0), "Give each assertion a random id, the claim jti, if the token endpoint accepts each only once.";
    sasl_oauthbearer_assertion_template_file: String = String::new(), "sasl.oauthbearer.assertion.template.file", (0, 0), "JSON file with more headers and claims of assertions: {\"header\": {\"kid\": \"…\"}, \"payload\": {…}}, read again when it changes. alg, typ, iat, exp, nbf and jti in it have no effect. The environment variable OTTLA_ASSERTION_FILES must list the file.";
    sasl_oauthbearer_token_provider: String = String::new(), "sasl.oauthbearer.token.provider", (0, 0), "What returns tokens: aws-msk-iam, azure-event-hubs, entra-id, gcp-managed-kafka or kubernetes, with arguments as in the query of a URL (aws-msk-iam?region=eu-central-1), or a Python callable, package.module:function. For a callable, the environment variable OTTLA_TOKEN_PROVIDERS must list it (names with commas between them), or the program must have registered it with ottla.register_token_provider: a configuration alone runs no code. It is imported where the client runs; in Spark, on the driver and on every executor. Not a key of Java's client. Python programs can pass the callable itself as sasl_oauth_token.";
    sasl_login_callback_handler_class: String = String::new(), "sasl.login.callback.handler.class", (0, 0), "Java class that gets tokens. Kafka's OAuthBearerLoginCallbackHandler is accepted, since this client does its work; any other is rejected. No class is loaded.";

    acks: Acks = Acks::All, "acks", (0, 0), "Replicas that must have a record before it counts as written.";
    enable_idempotence: bool = true, "enable.idempotence", (0, 0), "Let brokers recognise retried batches, so that each record is written once and in order. Requires acks=all, retries above 0 and at most 5 requests in flight; if one of these is set otherwise and this is not set, it is off.";
    retries: u32 = INT as u32, "retries", (0, INT), "How often a batch is retried after a retriable error. delivery.timeout.ms is the better limit.";
    linger: Duration = ms(5), "linger.ms", (0, INT), "Time that a batch waits for more records.";
    batch_size: usize = 16_384, "batch.size", (0, INT), "Estimated compressed size, in bytes, at which a batch is sent without waiting longer.";
    batch_max_size: usize = 524_288, "batch.max.size", (0, INT), "Uncompressed size, in bytes, up to which a batch grows while it cannot be sent because max.in.flight.requests.per.connection requests are in flight (the idea of KIP-782). If batch.size is set and this is not, batches end at batch.size, as with Java's producer.";
    buffer_memory: usize = 33_554_432, "buffer.memory", (0, i64::MAX), "Bytes of records that may wait to be sent; when they are used up, send() blocks.";
    max_request_size: usize = 1_048_576, "max.request.size", (0, INT), "Largest record, and largest request, that is sent.";
    max_block: Duration = ms(60_000), "max.block.ms", (0, i64::MAX / 2), "Time for which send() may block to wait for metadata or buffer memory, and a call about a transaction for the coordinator.";
    transactional_id: String = String::new(), "transactional.id", (0, 0), "Name of this producer's transactions: a newer producer with the same name fences this one. Empty: no transactions.";
    transaction_timeout: Duration = ms(60_000), "transaction.timeout.ms", (1, INT), "Time after which the brokers abort an open transaction; at most their transaction.max.timeout.ms.";
    delivery_timeout: Duration = ms(120_000), "delivery.timeout.ms", (0, INT), "Time from send() within which a record is acknowledged or fails.";
    partitioner: Partitioner = Partitioner::Default, "partitioner.class", (0, 0), "How the partition of a record without one is chosen. default: by murmur2 of the key, as in Java (librdkafka's murmur2_random); without a key, sticky: one partition for each batch. consistent_random: librdkafka's default. The names of Java's and librdkafka's partitioners are accepted; no class is loaded.";
    partitioner_ignore_keys: bool = false, "partitioner.ignore.keys", (0, 0), "Distribute records over all partitions regardless of their keys. For the default partitioner.";
    partitioner_adaptive: bool = true, "partitioner.adaptive.partitioning.enable", (0, 0), "Send fewer records without a key to partitions with longer queues of batches (KIP-794).";
    partitioner_availability_timeout: Duration = ms(0), "partitioner.availability.timeout.ms", (0, INT), "Records without a key avoid partitions whose broker has accepted none of its queued batches for this long; 0 turns this off. Requires partitioner.adaptive.partitioning.enable.";
    partitioner_rack_aware: bool = false, "partitioner.rack.aware", (0, 0), "Prefer partitions whose leader is in client.rack for records without a key, if there are any (KIP-1123).";
    compression_type: Compression = Compression::None, "compression.type", (0, 0), "Compression of batches.";
    compression_gzip_level: i32 = -1, "compression.gzip.level", (-1, 9), "Level of gzip; -1 is its default, 5.";
    compression_lz4_level: i32 = 9, "compression.lz4.level", (1, 17), "Level of lz4; 9 is the fast mode, the others are those of LZ4HC: smaller, and several times slower.";
    compression_zstd_level: i32 = 3, "compression.zstd.level", (-131_072, 22), "Level of zstd.";

    check_crcs: bool = true, "check.crcs", (0, 0), "Verify the checksum of each batch that is read.";
    fetch_min_bytes: i32 = 1, "fetch.min.bytes", (0, INT), "Bytes that a broker waits for before it responds to a fetch.";
    fetch_max_bytes: i32 = 52_428_800, "fetch.max.bytes", (0, INT), "Bytes of records in one fetch response. A scan requests at most 8 MiB.";
    fetch_max_wait: Duration = ms(500), "fetch.max.wait.ms", (0, INT), "Time for which a broker waits for fetch.min.bytes.";
    max_partition_fetch_bytes: i32 = 1_048_576, "max.partition.fetch.bytes", (0, INT), "Bytes of records of one partition in one fetch response. A scan lets one partition fill the response.";
    decompressed_batch_max: usize = DEFAULT_DECOMPRESSED_LIMIT, "decompressed.batch.max.bytes", (1_000, i64::MAX), "Largest size to which one batch may decompress; a larger one is an error, since a few kilobytes can expand to fill any memory. Not a key of Java's client, which has no such limit.";
    isolation_level: IsolationLevel = IsolationLevel::ReadUncommitted, "isolation.level", (0, 0), "Whether records of open and aborted transactions are read.";
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset::Latest, "auto.offset.reset", (0, 0), "Where a consumer starts without a committed offset, and where it continues if its position is out of range: at the first record (earliest), after the last (latest), at the first record that is at most as old as an ISO 8601 duration (by_duration:P7D, by_duration:PT1H30M; KIP-1106), or nowhere, with an error (none).";
    max_poll_records: usize = 500, "max.poll.records", (1, INT), "Most records that one poll returns.";
    prefetch_max: usize = 67_108_864, "prefetch.max.bytes", (1, i64::MAX), "Bytes of records that a consumer fetches ahead of the application, over all partitions. Not a key of Java's client, which keeps one response per partition.";

    group_id: String = String::new(), "group.id", (0, 0), "Consumer group: its members share the partitions, and its offsets are stored under this name.";
    group_instance_id: String = String::new(), "group.instance.id", (0, 0), "Name of a static member, which gets its partitions back after a restart without a rebalance (KIP-345). Each running member of the group needs its own.";
    group_protocol: GroupProtocol = GroupProtocol::Classic, "group.protocol", (0, 0), "Group protocol: classic; or consumer, where the brokers assign the partitions and no member waits for the slowest one (KIP-848, Kafka 4.0).";
    group_remote_assignor: String = String::new(), "group.remote.assignor", (0, 0), "Assignor that the brokers use with group.protocol=consumer. If empty, they choose.";
    session_timeout: Duration = ms(45_000), "session.timeout.ms", (1, INT), "Time without a heartbeat after which the coordinator considers a member dead. Only for group.protocol=classic.";
    heartbeat_interval: Duration = ms(3_000), "heartbeat.interval.ms", (1, INT), "Interval of heartbeats to the coordinator. Only for group.protocol=classic.";
    max_poll_interval: Duration = ms(300_000), "max.poll.interval.ms", (1, INT), "Longest time between two polls; after it, the member leaves the group. Also how long a rebalance waits for a member to rejoin.";
    partition_assignment_strategy: Vec<AssignmentStrategy> = vec![AssignmentStrategy::Range, AssignmentStrategy::CooperativeSticky], "partition.assignment.strategy", (0, 0), "Assignors, the preferred one first; the group uses one that all its members support. The names of Java's own assignor classes are accepted; no class is loaded. Only for group.protocol=classic.";
    enable_auto_commit: bool = true, "enable.auto.commit", (0, 0), "Commit polled offsets automatically: periodically, on revocation and on close.";
    auto_commit_interval: Duration = ms(5_000), "auto.commit.interval.ms", (0, INT), "Interval of automatic commits.";
    allow_auto_create_topics: bool = true, "allow.auto.create.topics", (0, 0), "Allow brokers that create topics automatically to create subscribed topics that do not exist.";
    exclude_internal_topics: bool = true, "exclude.internal.topics", (0, 0), "Patterns do not match Kafka's internal topics.";

    share_acknowledgement_mode: ShareAcknowledgementMode = ShareAcknowledgementMode::Implicit, "share.acknowledgement.mode", (0, 0), "How the records of a share consumer are acknowledged: by the next poll, as accepted (implicit); or each by the application, before the next poll (explicit; KIP-932).";
    share_acquire_mode: ShareAcquireMode = ShareAcquireMode::BatchOptimized, "share.acquire.mode", (0, 0), "How many records a share consumer acquires with one fetch: whole batches, about max.poll.records in total (batch_optimized); or at most max.poll.records, even if that splits a batch (record_limit; KIP-1206, Kafka 4.2).";
}

/// Keys of the Java client that are accepted without effect, so that its configurations can be
/// reused: they tune things that this client does not have (Java threads, metrics reporters).
pub(super) const IGNORED: &[&str] = &[
    "auto.include.jmx.reporter",
    "metric.reporters",
    "metrics.recording.level",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
];

/// Every row.
#[must_use]
pub fn rows() -> Vec<Row> {
    Config::rows()
}

/// The row's name, if there is a row with this name.
pub(super) fn row_name(name: &str) -> Option<&'static str> {
    ROW_NAMES.iter().copied().find(|row| *row == name)
}

/// Whether a key is accepted without effect.
pub(super) fn is_ignored(name: &str) -> bool {
    IGNORED.contains(&name)
}
