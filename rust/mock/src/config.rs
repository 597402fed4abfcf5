//! What a mock cluster looks like when it starts, and what a topic looks like when it is created.

use std::collections::BTreeMap;
use std::time::Duration;

use ottla_protocol::ApiKey;

pub use crate::transport::Transport;

/// How far a broker speaks one API, to imitate older brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiLimit {
    /// Up to this version.
    Max(i16),
    /// Not at all: it is not announced, and a request for it ends the connection.
    Absent,
}

/// How clients prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaslMechanism {
    /// The password in clear.
    Plain,
    /// A proof that the password is known, by SHA-256.
    ScramSha256,
    /// The same by SHA-512.
    ScramSha512,
    /// A token: here, the password of any user.
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

/// What a cluster that wants credentials accepts.
#[derive(Debug, Clone)]
pub struct SaslConfig {
    /// Users and their passwords when it starts; [`crate::MockCluster::set_user`] changes them.
    pub users: BTreeMap<String, String>,
    /// The mechanisms that are offered.
    pub mechanisms: Vec<SaslMechanism>,
    /// How long a session lives (`connections.max.reauth.ms`); for ever if `None`.
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

/// How group coordinators behave; Kafka's names of the settings are in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupConfig {
    /// How long the first generation waits for more members (`group.initial.rebalance.delay.ms`): 10 ms,
    /// where Kafka waits 3 s.
    pub initial_rebalance_delay: Duration,
    /// The shortest session of a classic member (`group.min.session.timeout.ms`): 10 ms, where Kafka
    /// wants 6 s.
    pub min_session_timeout: Duration,
    /// The longest (`group.max.session.timeout.ms`).
    pub max_session_timeout: Duration,
    /// How often members of KIP-848's groups are to heartbeat (`group.consumer.heartbeat.interval.ms`):
    /// 200 ms, where Kafka wants 5 s.
    pub consumer_heartbeat_interval: Duration,
    /// How long their sessions are (`group.consumer.session.timeout.ms`).
    pub consumer_session_timeout: Duration,
    /// How many members a group has at most (`group.max.size`, `group.consumer.max.size`).
    pub max_size: usize,
    /// The longest metadata of an offset, in bytes (`offset.metadata.max.bytes`).
    pub max_metadata: usize,
    /// For how long a coordinator answers COORDINATOR_LOAD_IN_PROGRESS after it took a group over.
    pub load_time: Duration,
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
        }
    }
}

/// The shape of a cluster.
#[derive(Debug, Clone)]
pub struct MockConfig {
    /// How many brokers; their ids are 1, 2, ….
    pub brokers: usize,
    /// Racks, given to the brokers in turn; none if empty.
    pub racks: Vec<String>,
    /// How clients reach the brokers.
    pub transport: Transport,
    /// Where the brokers listen, with [`Transport::Tcp`].
    pub host: String,
    /// The host that metadata names, if it is another one than `host`: a cluster whose advertised
    /// addresses do not fit the client's network.
    pub advertised_host: Option<String>,
    /// Whether a metadata request for an unknown topic creates it.
    pub auto_create_topics: bool,
    /// Partitions of a topic that does not say how many.
    pub default_partitions: i32,
    /// Replicas of a topic that does not say how many; never more than there are brokers.
    pub default_replication: i16,
    /// The largest batch a topic takes that does not say so itself (`message.max.bytes`).
    pub max_message_bytes: usize,
    /// The largest request (`socket.request.max.bytes`); a longer frame ends the connection.
    pub max_request_bytes: usize,
    /// Limits of APIs, to imitate older brokers; the others are served as far as the mock knows them.
    pub api_limits: BTreeMap<ApiKey, ApiLimit>,
    /// Whether brokers other than the controller refuse to change topics, as they did before KRaft.
    pub controller_only: bool,
    /// Credentials that clients need (SASL_PLAINTEXT); none if `None`.
    pub sasl: Option<SaslConfig>,
    /// Whether leaders send consumers to a replica in their own rack (KIP-392), as with
    /// `replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector`.
    pub rack_aware_reads: bool,
    /// How many fetch sessions a broker keeps (`max.incremental.fetch.session.cache.slots`).
    pub fetch_sessions: usize,
    /// How long one was not used that others may put out
    /// (`min.incremental.fetch.session.eviction.ms`).
    pub fetch_session_idle: Duration,
    /// How its group coordinators behave.
    pub groups: GroupConfig,
    /// How many requests [`crate::MockCluster::requests`] remembers.
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
            request_log: 10_000,
        }
    }
}

/// A topic to create.
#[derive(Debug, Clone, Default)]
pub struct TopicSpec {
    /// Its name.
    pub name: String,
    /// How many partitions; the cluster's default if `None`.
    pub partitions: Option<i32>,
    /// How many replicas; the cluster's default if `None`.
    pub replication: Option<i16>,
    /// Its configuration, by Kafka's names.
    pub configs: Vec<(String, String)>,
}

impl TopicSpec {
    /// A topic with the cluster's defaults.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with `count` partitions.
    #[must_use]
    pub fn partitions(mut self, count: i32) -> Self {
        self.partitions = Some(count);
        self
    }

    /// The same with `count` replicas of each partition.
    #[must_use]
    pub fn replication(mut self, count: i16) -> Self {
        self.replication = Some(count);
        self
    }

    /// The same with one more configuration key.
    #[must_use]
    pub fn config(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.configs.push((key.into(), value.into()));
        self
    }
}
