//! The state of the cluster, without I/O: brokers, controller, topics, coordinators, fetch sessions.
//!
//! API handlers and [`crate::MockCluster`] change it, always under one lock.
//! Invariant: `ids` names exactly the topics in `topics`; a partition's leader is alive and in sync, or the
//! partition has no leader.

mod acls;
mod client_quotas;
mod configs;
mod coordinators;
mod delegation_tokens;
mod elections;
mod features;
mod fetch_sessions;
mod leaders;
mod log_directories;
mod partition;
mod reassignments;
mod share_partitions;
mod share_sessions;
mod telemetry;
mod topics;
mod transactions;
mod users;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

use acls::Acls;
pub(crate) use acls::{Acl, AclFilter};
use client_quotas::ClientQuotas;
pub(crate) use client_quotas::{QuotaAlteration, QuotaMatch, validate_filter_types};
use configs::Configs;
pub(crate) use configs::{
    Alteration, Alterations, ConfigEntry, ConfigResource, Operation, Synonym, TopicConfig,
};
use coordinators::Coordinators;
use delegation_tokens::DelegationTokens;
pub(crate) use delegation_tokens::{DelegationToken, NewToken, Principal};
pub(crate) use elections::Election;
use features::Features;
pub(crate) use features::{GROUP_VERSION, SHARE_VERSION, TRANSACTION_VERSION, UpgradeType};
use fetch_sessions::FetchSessions;
pub(crate) use fetch_sessions::{RequestedPartition, SessionLimits};
pub(crate) use log_directories::LOG_DIRECTORIES;
pub(crate) use partition::{NO_LEADER, Partition};
pub(crate) use share_partitions::SharePartitions;
pub(crate) use share_sessions::{ShareSessionRequest, ShareSessions};
pub(crate) use telemetry::TelemetryClient;
use telemetry::{ConfiguredSubscription, Telemetry};
pub(crate) use topics::{NewTopic, Topic, validate_topic_name};
pub(crate) use users::Upsertion;
use users::Users;

use crate::config::MockConfig;
use crate::group::Groups;
use crate::transaction::TransactionRegistry;

/// An error code with a message, as a broker would return it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct ApiError {
    /// Kafka's error code.
    pub code: ErrorCode,
    /// A description for people.
    pub message: String,
}

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A broker, as metadata describes it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: i32,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    pub(crate) alive: bool,
    /// Whether the controller knows the broker, running or not.
    pub(crate) registered: bool,
}

/// The state of the whole cluster.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(crate) config: Arc<MockConfig>,
    pub(crate) cluster_id: String,
    pub(crate) controller: i32,
    /// The number of elections of a controller.
    pub(crate) controller_epoch: i32,
    pub(crate) brokers: BTreeMap<i32, Node>,
    pub(crate) users: Users,
    pub(crate) tokens: DelegationTokens,
    pub(crate) groups: Groups,
    pub(crate) fetch_sessions: FetchSessions,
    pub(crate) share_sessions: ShareSessions,
    pub(crate) share_partitions: SharePartitions,
    pub(crate) acls: Acls,
    pub(crate) client_quotas: ClientQuotas,
    configs: Configs,
    pub(crate) telemetry: Telemetry,
    coordinators: Coordinators,
    pub(crate) transactions: TransactionRegistry,
    pub(crate) features: Features,
    topics: BTreeMap<String, Topic>,
    ids: HashMap<Uuid, String>,
    /// Whether replicas that reassignments add do not catch up.
    holds_reassignments: bool,
    /// Distinguishes the ids of clusters in one process.
    seed: u64,
    /// The number of topics ever created; determines the next topic's id and first leader.
    created: u64,
    /// The partitions of all topics.
    partition_count: usize,
    next_producer_id: i64,
    /// The number of member ids ever created.
    members: u64,
}

impl ClusterState {
    pub(crate) fn new(config: Arc<MockConfig>, brokers: BTreeMap<i32, Node>, seed: u64) -> Self {
        let users = config.sasl.as_ref().map(|sasl| Users::new(&sasl.users)).unwrap_or_default();
        Self {
            groups: Groups::new(config.groups.clone()),
            fetch_sessions: FetchSessions::default(),
            share_sessions: ShareSessions::default(),
            share_partitions: SharePartitions::default(),
            acls: Acls::default(),
            client_quotas: ClientQuotas::default(),
            configs: Configs::default(),
            telemetry: Telemetry::default(),
            coordinators: Coordinators::default(),
            transactions: TransactionRegistry::default(),
            features: Features::new(&config),
            config,
            users,
            tokens: DelegationTokens::default(),
            cluster_id: make_id(seed, 0).to_string(),
            controller_epoch: 1,
            controller: brokers.keys().next().copied().unwrap_or(NO_LEADER),
            brokers,
            topics: BTreeMap::new(),
            ids: HashMap::new(),
            holds_reassignments: false,
            seed,
            created: 0,
            partition_count: 0,
            next_producer_id: 1000,
            members: 0,
        }
    }

    pub(crate) fn alive(&self) -> impl Iterator<Item = &Node> {
        self.brokers.values().filter(|node| node.alive)
    }

    pub(crate) fn is_alive(&self, id: i32) -> bool {
        self.brokers.get(&id).is_some_and(|node| node.alive)
    }

    /// Returns an unused producer id.
    pub(crate) fn new_producer_id(&mut self) -> i64 {
        let id = self.next_producer_id;
        self.next_producer_id += 1;
        id
    }

    /// Returns a unique suffix for a member id.
    pub(crate) fn new_member_suffix(&mut self) -> String {
        self.members += 1;
        make_id(self.seed, u64::MAX - self.members).to_string()
    }
}

/// An id that looks random but is the same in every run. As in Kafka, its text does not look like an option of a
/// command: without the highest bit, it does not begin with `-`.
fn make_id(seed: u64, number: u64) -> Uuid {
    let high = (u64::MAX >> 1) & mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let low = mix(high ^ number.rotate_left(32));
    Uuid(((u128::from(high) << 64) | u128::from(low)).to_be_bytes())
}

/// The finalizer of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::make_id;

    #[test]
    fn no_id_looks_like_an_option() {
        for number in 0..1_000 {
            let id = make_id(1, number).to_string();
            assert!(!id.starts_with('-'), "{id}");
        }
    }
}
