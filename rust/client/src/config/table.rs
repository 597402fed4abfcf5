//! The rows of the configuration: field, type, default, dotted name, bounds, meaning. The struct,
//! its defaults, its parsing and the docs table all come from here.

use std::time::Duration;

use ottla_protocol::records::{Compression, DEFAULT_DECOMPRESSED_LIMIT};

use super::value::{Setting, Value};
use super::{
    AssignmentStrategy, AutoOffsetReset, GroupProtocol, IsolationLevel, Partitioner, SecurityProtocol,
};
use crate::secret::Secret;

/// How many replicas must have a record before the broker answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acks {
    /// All that are in sync.
    All,
    /// The leader.
    Leader,
    /// None: the broker does not answer.
    None,
}

/// What to do when none of the known brokers answers (KIP-899).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetadataRecovery {
    /// Find the cluster again from the bootstrap servers.
    Rebootstrap,
    /// Keep to the brokers that are known.
    None,
}

/// Which addresses a name in `bootstrap.servers` stands for (KIP-302, KIP-602).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsLookup {
    /// All that it resolves to, one after the other.
    UseAllDnsIps,
    /// Those of the names that its addresses are known by: for one name in front of many brokers
    /// that want to be called by their own (Kerberos, certificates).
    ResolveCanonicalBootstrapServersOnly,
}

/// A row of the table, for documentation.
#[derive(Debug, Clone)]
pub struct Row {
    /// The dotted name.
    pub name: &'static str,
    /// The type, in words.
    pub ty: &'static str,
    /// The default, as a configuration file would have it.
    pub default: String,
    /// The smallest and the largest number allowed.
    pub bounds: (i64, i64),
    /// Whether its value must never be shown.
    pub secret: bool,
    /// What it means.
    pub doc: &'static str,
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const INT: i64 = i32::MAX as i64;

macro_rules! rows {
    ($($field:ident: $ty:ty = $default:expr, $name:literal, $bounds:expr, $doc:literal;)*) => {
        /// The configuration of a client, its producers and its consumers.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $(#[doc = $doc] pub $field: $ty,)*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        const ROW_NAMES: &[&str] = &[$($name,)*];

        /// Every row.
        #[must_use]
        pub fn rows() -> Vec<Row> {
            let defaults = Config::default();
            vec![$(Row {
                name: $name,
                ty: <$ty as Setting>::TYPE,
                default: defaults.$field.shown(),
                bounds: $bounds,
                secret: <$ty as Setting>::SECRET,
                doc: $doc,
            },)*]
        }

        impl Config {
            /// Sets the row of this name; `None` if there is none.
            pub(super) fn set_row(&mut self, name: &str, value: &Value) -> Option<Result<(), String>> {
                match name {
                    $($name => Some(Setting::parse(value, $bounds).map(|value| self.$field = value)),)*
                    _ => None,
                }
            }
        }
    };
}

rows! {
    bootstrap_servers: Vec<String> = Vec::new(), "bootstrap.servers", (0, 0), "Addresses (host:port) to find the cluster from; one that answers is enough.";
    client_id: String = "ottla".to_owned(), "client.id", (0, 0), "Name of this client in the brokers' logs and quotas.";
    client_rack: String = String::new(), "client.rack", (0, 0), "Rack or zone in which this client runs.";
    client_dns_lookup: DnsLookup = DnsLookup::UseAllDnsIps, "client.dns.lookup", (0, 0), "Which addresses a bootstrap server's name stands for: all that it resolves to, or those of the names that its addresses are known by. All addresses of a name are tried in turn either way.";
    security_protocol: SecurityProtocol = SecurityProtocol::Plaintext, "security.protocol", (0, 0), "What the brokers' listener speaks: with SSL over TLS, with SASL after authenticating.";
    metadata_max_age: Duration = ms(300_000), "metadata.max.age.ms", (0, INT), "Metadata older than this is refreshed even when nothing seems to have changed.";
    events_metadata_max_age: Duration = ms(5_000), "events.metadata.max.age.ms", (0, INT), "The same while somebody listens to events().";
    metadata_max_idle: Duration = ms(300_000), "metadata.max.idle.ms", (5_000, INT), "A topic that nobody has used for this long is not refreshed any more.";
    metadata_recovery: MetadataRecovery = MetadataRecovery::Rebootstrap, "metadata.recovery.strategy", (0, 0), "What to do when none of the known brokers answers: use the bootstrap servers again, or nothing but try again.";
    metadata_rebootstrap_trigger: Duration = ms(300_000), "metadata.recovery.rebootstrap.trigger.ms", (0, INT), "Known brokers that have not answered for this long are given up for the bootstrap servers, even if they still may.";
    request_timeout: Duration = ms(30_000), "request.timeout.ms", (1, INT), "A broker that has not answered a request for this long is taken for dead.";
    default_api_timeout: Duration = ms(60_000), "default.api.timeout.ms", (1, INT), "How long a call that names no time-out may take.";
    connection_setup_timeout: Duration = ms(10_000), "socket.connection.setup.timeout.ms", (1, INT), "How long one address may take to accept a connection and to answer first.";
    connection_setup_timeout_max: Duration = ms(30_000), "socket.connection.setup.timeout.max.ms", (1, INT), "The longest such time: it doubles with each failure to connect to a broker (KIP-601).";
    connections_max_idle: Duration = ms(540_000), "connections.max.idle.ms", (-1, i64::MAX), "A connection that was not used for this long is closed; -1 keeps it.";
    reconnect_backoff: Duration = ms(50), "reconnect.backoff.ms", (0, INT), "Wait before connecting again to a broker after a failure; doubles with each.";
    reconnect_backoff_max: Duration = ms(1_000), "reconnect.backoff.max.ms", (0, INT), "The longest such wait.";
    retry_backoff: Duration = ms(100), "retry.backoff.ms", (0, INT), "Wait before a failed request is tried again; doubles with each failure.";
    retry_backoff_max: Duration = ms(1_000), "retry.backoff.max.ms", (0, INT), "The longest such wait.";
    max_in_flight: usize = 5, "max.in.flight.requests.per.connection", (1, 1_000_000), "Requests that may wait for an answer on one connection.";
    send_buffer: i32 = -1, "send.buffer.bytes", (-1, INT), "The socket's send buffer; -1 leaves it to the system, which adapts it to the link.";
    receive_buffer: i32 = -1, "receive.buffer.bytes", (-1, INT), "The socket's receive buffer; -1 leaves it to the system, which adapts it to the link.";
    receive_message_max: usize = 100_000_000, "receive.message.max.bytes", (1_000, INT), "The largest answer that is accepted from a broker.";

    metrics_num_samples: usize = 2, "metrics.num.samples", (1, 1_000), "Samples over which rates, averages and maxima of the metrics reach.";
    metrics_sample_window: Duration = ms(30_000), "metrics.sample.window.ms", (1, INT), "How much time one such sample covers.";

    ssl_truststore_location: String = String::new(), "ssl.truststore.location", (0, 0), "PEM file of the authorities whose certificates are trusted; the system's own if neither this nor ssl.truststore.certificates is given.";
    ssl_truststore_certificates: String = String::new(), "ssl.truststore.certificates", (0, 0), "The same, as PEM text instead of a file.";
    ssl_truststore_type: String = "PEM".to_owned(), "ssl.truststore.type", (0, 0), "Format of the trust store: PEM. Another is refused with the command that converts the store.";
    ssl_truststore_password: Secret = Secret::default(), "ssl.truststore.password", (0, 0), "Not for PEM, which has no password; named so that the error can say what to do.";
    ssl_keystore_location: String = String::new(), "ssl.keystore.location", (0, 0), "PEM file of this client's private key (PKCS#8) and certificate chain, for brokers that ask for a certificate (mTLS).";
    ssl_certificate_location: String = String::new(), "ssl.certificate.location", (0, 0), "PEM file of the certificate chain alone, this client's own certificate first, where the key is in a file of its own: ssl.key.location. Not a key of Java's client; librdkafka has it.";
    ssl_key_location: String = String::new(), "ssl.key.location", (0, 0), "PEM file of the private key alone, with ssl.certificate.location.";
    ssl_keystore_certificate_chain: String = String::new(), "ssl.keystore.certificate.chain", (0, 0), "The certificate chain as PEM text instead of in a file, this client's own certificate first.";
    ssl_keystore_key: Secret = Secret::default(), "ssl.keystore.key", (0, 0), "The private key as PEM text instead of in a file.";
    ssl_key_password: Secret = Secret::default(), "ssl.key.password", (0, 0), "Password of the private key, if it is encrypted.";
    ssl_keystore_type: String = "PEM".to_owned(), "ssl.keystore.type", (0, 0), "Format of the key store: PEM. Another is refused with the command that converts the store.";
    ssl_keystore_password: Secret = Secret::default(), "ssl.keystore.password", (0, 0), "Not for PEM: the key's password is ssl.key.password.";
    ssl_endpoint_identification_algorithm: String = "https".to_owned(), "ssl.endpoint.identification.algorithm", (0, 0), "https checks that the broker's certificate is for the host that was connected to; empty checks only who issued it.";
    ssl_enabled_protocols: Vec<String> = vec!["TLSv1.2".to_owned(), "TLSv1.3".to_owned()], "ssl.enabled.protocols", (0, 0), "Versions of TLS that may be used.";
    sasl_mechanism: String = "GSSAPI".to_owned(), "sasl.mechanism", (0, 0), "How to authenticate: GSSAPI (Kerberos), PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.";
    sasl_username: String = String::new(), "sasl.username", (0, 0), "User name for PLAIN and SCRAM.";
    sasl_password: Secret = Secret::default(), "sasl.password", (0, 0), "Password for PLAIN and SCRAM.";
    sasl_jaas_config: Secret = Secret::default(), "sasl.jaas.config", (0, 0), "The same as Java has it: a login module of Kafka's own and its options, read as data.";
    sasl_kerberos_service_name: String = String::new(), "sasl.kerberos.service.name", (0, 0), "The name under which the brokers run in Kerberos, usually kafka: the first part of their principal, kafka/host@REALM.";
    sasl_kerberos_principal: String = String::new(), "sasl.kerberos.principal", (0, 0), "This client's principal in sasl.kerberos.keytab; if empty, the first that is there.";
    sasl_kerberos_keytab: String = String::new(), "sasl.kerberos.keytab", (0, 0), "File with this client's Kerberos key. If empty, the system's ticket cache is used (kinit).";
    sasl_oauthbearer_token_endpoint_url: String = String::new(), "sasl.oauthbearer.token.endpoint.url", (0, 0), "Where OAUTHBEARER gets its tokens by a client's id and secret (https).";
    sasl_oauthbearer_client_credentials_client_id: String = String::new(), "sasl.oauthbearer.client.credentials.client.id", (0, 0), "The client's id at the token endpoint.";
    sasl_oauthbearer_client_credentials_client_secret: Secret = Secret::default(), "sasl.oauthbearer.client.credentials.client.secret", (0, 0), "The client's secret at the token endpoint.";
    sasl_oauthbearer_scope: String = String::new(), "sasl.oauthbearer.scope", (0, 0), "The scope to ask for.";
    sasl_oauthbearer_header_urlencode: bool = false, "sasl.oauthbearer.header.urlencode", (0, 0), "Encode id and secret as RFC 6749 has it; token servers differ.";
    sasl_oauthbearer_token_endpoint_ssl_truststore_location: String = String::new(), "sasl.oauthbearer.token.endpoint.ssl.truststore.location", (0, 0), "A PEM file with the authorities of the token endpoint; without it, the system's. The brokers' trust store is not used.";
    sasl_oauthbearer_token_endpoint_ssl_truststore_certificates: String = String::new(), "sasl.oauthbearer.token.endpoint.ssl.truststore.certificates", (0, 0), "The same as PEM text.";
    sasl_oauthbearer_token_endpoint_allow_http: bool = false, "sasl.oauthbearer.token.endpoint.allow.http", (0, 0), "Let the token endpoint be http, which shows the secret to the network.";
    sasl_oauthbearer_token_provider: String = String::new(), "sasl.oauthbearer.token.provider", (0, 0), "Python callable that returns a token, by name: package.module:function. It is imported where the client runs, in Spark on the driver and on every executor. Not a key of Java's client; in Python programs, sasl_oauth_token takes the callable itself.";
    sasl_login_callback_handler_class: String = String::new(), "sasl.login.callback.handler.class", (0, 0), "Java's class that gets tokens. Kafka's own OAuthBearerLoginCallbackHandler is understood, since this client does its work; any other is refused, and none is loaded.";

    acks: Acks = Acks::All, "acks", (0, 0), "Which replicas must have a record before it counts as written.";
    enable_idempotence: bool = true, "enable.idempotence", (0, 0), "Have brokers recognise batches that are sent again, so that each record is written once and in order. Needs acks=all, retries above 0 and at most 5 requests in flight; if one of these is set otherwise and this is not set, it is off.";
    retries: u32 = INT as u32, "retries", (0, INT), "How often a batch is sent again after an error that may pass. delivery.timeout.ms is the better bound.";
    linger: Duration = ms(5), "linger.ms", (0, INT), "How long a batch waits for more records.";
    batch_size: usize = 16_384, "batch.size", (0, INT), "Bytes of records, as they are compressed, at which a batch is sent without waiting longer.";
    batch_max_size: usize = 524_288, "batch.max.size", (0, INT), "Bytes of records before compression to which a batch grows while it cannot be sent yet, because max.in.flight.requests.per.connection are on their way (the idea of KIP-782). If batch.size is set and this is not, batches end at batch.size, as with Java's producer.";
    buffer_memory: usize = 33_554_432, "buffer.memory", (0, i64::MAX), "Bytes of records that may wait to be written; beyond, sending blocks.";
    max_request_size: usize = 1_048_576, "max.request.size", (0, INT), "The largest record, and the largest request, that is sent.";
    max_block: Duration = ms(60_000), "max.block.ms", (0, i64::MAX / 2), "How long sending may block for metadata or for buffer memory.";
    delivery_timeout: Duration = ms(120_000), "delivery.timeout.ms", (0, INT), "How long a record may take from sending to being acknowledged or failed.";
    partitioner: Partitioner = Partitioner::Default, "partitioner.class", (0, 0), "How the partition of a record is chosen that names none. default: by murmur2 of the key as in Java (librdkafka calls it murmur2_random); without a key sticky, a batch each. consistent_random: as librdkafka does by default. Names of Java's and librdkafka's own are understood; no class is loaded.";
    partitioner_ignore_keys: bool = false, "partitioner.ignore.keys", (0, 0), "Spread records over all partitions whatever their keys, with the default partitioner.";
    partitioner_adaptive: bool = true, "partitioner.adaptive.partitioning.enable", (0, 0), "Records without a key go less often to partitions in whose queues more batches wait (KIP-794).";
    partitioner_availability_timeout: Duration = ms(0), "partitioner.availability.timeout.ms", (0, INT), "Records without a key avoid partitions whose broker has taken nothing for this long although something waits for it; 0 avoids none. Needs partitioner.adaptive.partitioning.enable.";
    partitioner_rack_aware: bool = false, "partitioner.rack.aware", (0, 0), "Records without a key go to partitions led in client.rack, as long as there are any (KIP-1123).";
    compression_type: Compression = Compression::None, "compression.type", (0, 0), "How batches are compressed.";
    compression_gzip_level: i32 = -1, "compression.gzip.level", (-1, 9), "Level of gzip; -1 is its default, 5.";
    compression_lz4_level: i32 = 9, "compression.lz4.level", (1, 17), "Level of lz4; 9 is the fast mode, the others are those of LZ4HC: smaller, and several times slower.";
    compression_zstd_level: i32 = 3, "compression.zstd.level", (-131_072, 22), "Level of zstd.";

    check_crcs: bool = true, "check.crcs", (0, 0), "Check the checksum of each batch that is read.";
    fetch_min_bytes: i32 = 1, "fetch.min.bytes", (0, INT), "Bytes that a broker waits for before it answers a fetch.";
    fetch_max_bytes: i32 = 52_428_800, "fetch.max.bytes", (0, INT), "Bytes of records that one answer may bring. A scan asks for 8 MiB at most.";
    fetch_max_wait: Duration = ms(500), "fetch.max.wait.ms", (0, INT), "How long a broker waits for fetch.min.bytes.";
    max_partition_fetch_bytes: i32 = 1_048_576, "max.partition.fetch.bytes", (0, INT), "Bytes of records that one answer may bring for one partition. A scan lets one partition fill the answer.";
    decompressed_batch_max: usize = DEFAULT_DECOMPRESSED_LIMIT, "decompressed.batch.max.bytes", (1_000, i64::MAX), "The largest size to which one batch of records may decompress; a larger one is an error, since a few kilobytes can be made to fill any memory. Not a key of Java's client, which has no such limit.";
    isolation_level: IsolationLevel = IsolationLevel::ReadUncommitted, "isolation.level", (0, 0), "Whether records of open and aborted transactions are read.";
    auto_offset_reset: AutoOffsetReset = AutoOffsetReset::Latest, "auto.offset.reset", (0, 0), "Where a consumer begins if no offset is committed, and goes on if its position is not in the log: at the first record, behind the last, at the first that is at most so old (by_duration and an ISO 8601 duration, by_duration:P7D or by_duration:PT1H30M, as KIP-1106 has it), or nowhere: an error.";
    max_poll_records: usize = 500, "max.poll.records", (1, INT), "The most records that one poll hands out.";
    prefetch_max: usize = 67_108_864, "prefetch.max.bytes", (1, i64::MAX), "Bytes of records that a consumer fetches ahead of the application, over all partitions. Not a key of Java's client, which keeps one answer for each partition.";

    group_id: String = String::new(), "group.id", (0, 0), "The group that a consumer belongs to: its members share the partitions, and its offsets are kept under this name.";
    group_instance_id: String = String::new(), "group.instance.id", (0, 0), "A name of this member that lasts beyond the process: a static member, which comes back to its partitions after a restart without a rebalance (KIP-345). Each running member of the group needs another one.";
    group_protocol: GroupProtocol = GroupProtocol::Classic, "group.protocol", (0, 0), "How a consumer talks with its group: classic, or consumer, where the brokers assign the partitions and nobody waits for the slowest member (KIP-848, Kafka 4.0).";
    group_remote_assignor: String = String::new(), "group.remote.assignor", (0, 0), "The assignor that the brokers use with group.protocol=consumer; if empty, they choose.";
    session_timeout: Duration = ms(45_000), "session.timeout.ms", (1, INT), "A member from which the coordinator has heard nothing for this long is taken for dead. With group.protocol=classic only.";
    heartbeat_interval: Duration = ms(3_000), "heartbeat.interval.ms", (1, INT), "How often a member tells the coordinator that it is alive. With group.protocol=classic only.";
    max_poll_interval: Duration = ms(300_000), "max.poll.interval.ms", (1, INT), "A member whose application has not polled for this long leaves the group; also how long the others wait for it when the group rebalances.";
    partition_assignment_strategy: Vec<AssignmentStrategy> = vec![AssignmentStrategy::Range, AssignmentStrategy::CooperativeSticky], "partition.assignment.strategy", (0, 0), "Assignors, the preferred first; a group uses one that all its members know. Java's names of its own classes are understood; no class is loaded. With group.protocol=classic only.";
    enable_auto_commit: bool = true, "enable.auto.commit", (0, 0), "Commit the offsets of what was polled by itself: from time to time, when partitions are given up, and on close.";
    auto_commit_interval: Duration = ms(5_000), "auto.commit.interval.ms", (0, INT), "How often, with enable.auto.commit.";
    allow_auto_create_topics: bool = true, "allow.auto.create.topics", (0, 0), "Let brokers that make topics on their own make those that a consumer subscribes to and that do not exist.";
    exclude_internal_topics: bool = true, "exclude.internal.topics", (0, 0), "A pattern does not stand for the topics that Kafka uses for itself.";
}

/// Keys of the Java client that change nothing here, so that its configurations can be brought
/// along: they tune what this client does not have (its Java threads, its metrics reporters).
pub(super) const INERT: &[&str] = &[
    "auto.include.jmx.reporter",
    "enable.metrics.push",
    "metric.reporters",
    "metrics.recording.level",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
];

/// The name of the row of this name, if there is one.
pub(super) fn row_name(name: &str) -> Option<&'static str> {
    ROW_NAMES.iter().copied().find(|row| *row == name)
}

/// Whether a key is accepted without effect.
pub(super) fn is_inert(name: &str) -> bool {
    INERT.contains(&name)
}
