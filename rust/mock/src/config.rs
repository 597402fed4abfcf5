//! The configuration of a mock cluster, and of a topic to create.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ApiKey;

pub use crate::transport::Transport;

/// A limit of one API, to imitate older brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiLimit {
    /// Supported up to this version.
    Max(i16),
    /// Unsupported: not advertised, and a request closes the connection.
    Absent,
}

/// A SASL mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaslMechanism {
    /// PLAIN: the password in clear text.
    Plain,
    /// SCRAM with SHA-256.
    ScramSha256,
    /// SCRAM with SHA-512.
    ScramSha512,
    /// OAUTHBEARER; the mock accepts the password of any user as a token.
    OAuthBearer,
}

impl SaslMechanism {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
            Self::OAuthBearer => "OAUTHBEARER",
        }
    }
}

/// The SASL configuration of a cluster.
#[derive(Debug, Clone)]
pub struct SaslConfig {
    /// The initial passwords by user name; [`crate::MockCluster::set_user`] changes them.
    pub users: BTreeMap<String, String>,
    /// The enabled mechanisms.
    pub mechanisms: Vec<SaslMechanism>,
    /// The session lifetime (`connections.max.reauth.ms`); unlimited if `None`.
    pub session_lifetime: Option<Duration>,
}

impl Default for SaslConfig {
    fn default() -> Self {
        Self {
            users: BTreeMap::new(),
            mechanisms: vec![
                SaslMechanism::Plain,
                SaslMechanism::ScramSha256,
                SaslMechanism::ScramSha512,
                SaslMechanism::OAuthBearer,
            ],
            session_lifetime: None,
        }
    }
}

/// The configuration of group coordinators, with Kafka's configuration keys in parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupConfig {
    /// How long the first generation waits for more members (`group.initial.rebalance.delay.ms`). Default:
    /// 10 ms; Kafka's is 3 s.
    pub initial_rebalance_delay: Duration,
    /// The minimum session timeout of classic members (`group.min.session.timeout.ms`). Default: 10 ms;
    /// Kafka's is 6 s.
    pub min_session_timeout: Duration,
    /// The maximum session timeout of classic members (`group.max.session.timeout.ms`). Default: 30 min.
    pub max_session_timeout: Duration,
    /// The heartbeat interval of KIP-848 members (`group.consumer.heartbeat.interval.ms`). Default: 200 ms;
    /// Kafka's is 5 s.
    pub consumer_heartbeat_interval: Duration,
    /// The session timeout of KIP-848 members (`group.consumer.session.timeout.ms`). Default: 45 s.
    pub consumer_session_timeout: Duration,
    /// The maximum number of members of a group (`group.max.size`, `group.consumer.max.size`).
    pub max_size: usize,
    /// The maximum size of an offset's metadata, in bytes (`offset.metadata.max.bytes`). Default: 4096.
    pub max_metadata: usize,
    /// How long a new coordinator returns COORDINATOR_LOAD_IN_PROGRESS. Default: 0.
    pub load_time: Duration,
    /// The configuration of share groups.
    pub share: ShareGroupConfig,
}

/// The configuration of share groups (KIP-932), with Kafka's configuration keys in parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareGroupConfig {
    /// The heartbeat interval of members (`group.share.heartbeat.interval.ms`). Default: 200 ms; Kafka's is 5 s.
    pub heartbeat_interval: Duration,
    /// The session timeout of members (`group.share.session.timeout.ms`). Default: 45 s.
    pub session_timeout: Duration,
    /// How long a member has a record before it is available to others
    /// (`group.share.record.lock.duration.ms`). Default: 30 s.
    pub record_lock_duration: Duration,
    /// How often a record is delivered at most (`group.share.delivery.count.limit`). Default: 5.
    pub delivery_count_limit: u16,
    /// The maximum number of records of a partition in flight (`group.share.partition.max.record.locks`).
    /// Default: 2000.
    pub partition_max_record_locks: usize,
    /// Where a group without a start offset begins: `earliest`, `latest` or `by_duration:…`
    /// (`share.auto.offset.reset`). Default: latest.
    pub auto_offset_reset: String,
    /// Whether only records of committed transactions are delivered (`share.isolation.level`). Default: false.
    pub read_committed: bool,
    /// Whether members may renew locks (`share.renew.acknowledge.enable`). Default: true.
    pub renew_enabled: bool,
    /// The maximum number of share sessions of a broker (`group.share.max.share.sessions`). Default: 2000.
    pub max_sessions: usize,
    /// The maximum number of members of a group (`group.share.max.size`). Default: 200.
    pub max_size: usize,
}

impl Default for ShareGroupConfig {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_millis(200),
            session_timeout: Duration::from_secs(45),
            record_lock_duration: Duration::from_secs(30),
            delivery_count_limit: 5,
            partition_max_record_locks: 2000,
            auto_offset_reset: "latest".to_owned(),
            read_committed: false,
            renew_enabled: true,
            max_sessions: 2000,
            max_size: 200,
        }
    }
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            initial_rebalance_delay: Duration::from_millis(10),
            min_session_timeout: Duration::from_millis(10),
            max_session_timeout: Duration::from_secs(1800),
            consumer_heartbeat_interval: Duration::from_millis(200),
            consumer_session_timeout: Duration::from_secs(45),
            max_size: usize::MAX,
            max_metadata: 4096,
            load_time: Duration::ZERO,
            share: ShareGroupConfig::default(),
        }
    }
}

/// The configuration of a cluster.
#[derive(Debug, Clone)]
pub struct MockConfig {
    /// The number of brokers; their ids are 1, 2, …. Default: 3.
    pub brokers: usize,
    /// Racks, assigned to the brokers in turn; none if empty. Default: rack-a, rack-b, rack-c.
    pub racks: Vec<String>,
    /// How clients reach the brokers.
    pub transport: Transport,
    /// The host at which brokers listen, with [`Transport::Tcp`]. Default: 127.0.0.1.
    pub host: String,
    /// The host that metadata advertises instead of `host`, as a cluster does whose advertised addresses do
    /// not fit the client's network.
    pub advertised_host: Option<String>,
    /// Whether a metadata request for an unknown topic creates it. Default: true.
    pub auto_create_topics: bool,
    /// The default number of partitions of a topic. Default: 1.
    pub default_partitions: i32,
    /// The default replication factor, at most the number of live brokers. Default: 3.
    pub default_replication: i16,
    /// The default of a topic's `max.message.bytes` (`message.max.bytes`). Default: 1,048,588.
    pub max_message_bytes: usize,
    /// The largest request in bytes (`socket.request.max.bytes`); a longer frame closes the connection.
    /// Default: 100 MiB.
    pub max_request_bytes: usize,
    /// Limits of APIs, to imitate older brokers; other APIs are supported in all versions that the mock
    /// knows.
    pub api_limits: BTreeMap<ApiKey, ApiLimit>,
    /// Whether only the controller may change topics, as before KRaft. Default: false.
    pub controller_only: bool,
    /// Requires clients to authenticate (SASL_PLAINTEXT); `None` requires nothing.
    pub sasl: Option<SaslConfig>,
    /// Whether consumers may fetch from a follower in their rack (KIP-392), as with
    /// `replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector`. Default: true.
    pub rack_aware_reads: bool,
    /// The maximum number of fetch sessions of a broker (`max.incremental.fetch.session.cache.slots`).
    /// Default: 1000.
    pub fetch_sessions: usize,
    /// How long a fetch session must be unused before it is evicted
    /// (`min.incremental.fetch.session.eviction.ms`). Default: 120 s.
    pub fetch_session_idle: Duration,
    /// The configuration of group coordinators.
    pub groups: GroupConfig,
    /// The finalized level of `transaction.version`: 2 is version 2 of the transaction protocol (KIP-890),
    /// 0 and 1 are version 1. `None` for a cluster that does not know the feature. Default: 2.
    pub transaction_version: Option<i16>,
    /// The longest `transaction.timeout.ms` (`transaction.max.timeout.ms`). Default: 15 min.
    pub transaction_max_timeout: Duration,
    /// How long a coordinator takes to write the markers of a transaction: meanwhile it rejects the next one with
    /// CONCURRENT_TRANSACTIONS, and partitions take what has the same epoch for a part of the one that has ended.
    /// Default: 0.
    pub transaction_completion_time: Duration,
    /// Whether brokers take the metrics of clients (KIP-714), as with a telemetry receiver among their
    /// `metric.reporters`. Default: false.
    pub client_telemetry: bool,
    /// How many requests [`crate::MockCluster::requests`] returns at most. Default: 10,000.
    pub request_log: usize,
}

impl Default for MockConfig {
    fn default() -> Self {
        Self {
            brokers: 3,
            racks: ["rack-a", "rack-b", "rack-c"].map(str::to_owned).to_vec(),
            transport: Transport::Tcp,
            host: "127.0.0.1".to_owned(),
            advertised_host: None,
            auto_create_topics: true,
            default_partitions: 1,
            default_replication: 3,
            max_message_bytes: 1_048_588,
            max_request_bytes: 100 * 1024 * 1024,
            api_limits: BTreeMap::new(),
            controller_only: false,
            sasl: None,
            rack_aware_reads: true,
            fetch_sessions: 1000,
            fetch_session_idle: Duration::from_secs(120),
            groups: GroupConfig::default(),
            transaction_version: Some(2),
            transaction_max_timeout: Duration::from_secs(900),
            transaction_completion_time: Duration::ZERO,
            client_telemetry: false,
            request_log: 10_000,
        }
    }
}

/// A topic to create.
#[derive(Debug, Clone, Default)]
pub struct TopicSpec {
    /// Its name.
    pub name: String,
    /// The number of partitions; the cluster's default if `None`.
    pub partitions: Option<i32>,
    /// The replication factor; the cluster's default if `None`.
    pub replication: Option<i16>,
    /// The topic's configuration, by Kafka's keys.
    pub configs: Vec<(String, String)>,
}

impl TopicSpec {
    /// A topic with the cluster's defaults.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets the number of partitions.
    #[must_use]
    pub fn partitions(mut self, count: i32) -> Self {
        self.partitions = Some(count);
        self
    }

    /// Sets the replication factor.
    #[must_use]
    pub fn replication(mut self, count: i16) -> Self {
        self.replication = Some(count);
        self
    }

    /// Adds a configuration entry.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.push((key.into(), value.into()));
        self
    }
}
