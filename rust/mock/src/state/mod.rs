//! The cluster without I/O: brokers, the controller, topics by name and by id.
//!
//! Handlers and [`crate::MockCluster`] change it, always under one lock.
//! Invariant: `ids` names exactly the topics in `topics`; a partition's leader is alive and in sync,
//! or the partition has none.

mod configs;
mod coordinators;
mod fetch_sessions;
mod leaders;
mod topics;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ottla_protocol::ErrorCode;
use ottla_protocol::wire::Uuid;

pub(crate) use configs::{TopicConfig, known_configs};
use coordinators::Coordinators;
use fetch_sessions::FetchSessions;
pub(crate) use fetch_sessions::{Slots, Wanted};
pub(crate) use leaders::NO_LEADER;
pub(crate) use topics::{NewTopic, Partition, Topic, check_name};

use crate::config::MockConfig;
use crate::group::Groups;

/// Why the cluster refuses a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", code.name())]
pub struct Refusal {
    /// What a broker would answer.
    pub code: ErrorCode,
    /// The same in words.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A broker as metadata shows it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) id: i32,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) rack: Option<String>,
    pub(crate) alive: bool,
}

/// The state of the whole cluster.
#[derive(Debug)]
pub(crate) struct ClusterState {
    pub(crate) config: Arc<MockConfig>,
    pub(crate) cluster_id: String,
    pub(crate) controller: i32,
    pub(crate) brokers: BTreeMap<i32, Node>,
    /// Who may sign on, and their passwords.
    pub(crate) users: BTreeMap<String, String>,
    pub(crate) groups: Groups,
    pub(crate) fetch_sessions: FetchSessions,
    coordinators: Coordinators,
    topics: BTreeMap<String, Topic>,
    ids: HashMap<Uuid, String>,
    /// Makes ids differ between clusters of one process.
    seed: u64,
    /// How many topics were ever created: the next one's id and first leader come from it.
    created: u64,
    /// Of all topics together.
    partition_count: usize,
    next_producer_id: i64,
    /// How many members have got an id.
    members: u64,
}

impl ClusterState {
    pub(crate) fn new(config: Arc<MockConfig>, brokers: BTreeMap<i32, Node>, seed: u64) -> Self {
        let users = config.sasl.as_ref().map(|sasl| sasl.users.clone()).unwrap_or_default();
        Self {
            groups: Groups::new(config.groups.clone()),
            fetch_sessions: FetchSessions::default(),
            coordinators: Coordinators::default(),
            config,
            users,
            cluster_id: make_id(seed, 0).to_string(),
            controller: brokers.keys().next().copied().unwrap_or(NO_LEADER),
            brokers,
            topics: BTreeMap::new(),
            ids: HashMap::new(),
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

    /// A producer id that nobody has had.
    pub(crate) fn new_producer_id(&mut self) -> i64 {
        let id = self.next_producer_id;
        self.next_producer_id += 1;
        id
    }

    /// What makes a member's id differ from all others.
    pub(crate) fn new_member_suffix(&mut self) -> String {
        self.members += 1;
        make_id(self.seed, u64::MAX - self.members).to_string()
    }
}

/// An id that looks random and is the same in every run.
fn make_id(seed: u64, number: u64) -> Uuid {
    let high = mix(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
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
