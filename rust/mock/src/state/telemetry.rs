//! Client telemetry: the client instances, the subscription of each, and the metrics that they pushed (KIP-714).
//!
//! Invariant: a subscription's id changes with what it requests. At most [`MAX_PUSHES`] pushes are kept, the newest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ottla_protocol::wire::Uuid;

use super::{ClusterState, make_id, mix};
use crate::info::PushedMetrics;

/// How many pushes are kept.
const MAX_PUSHES: usize = 10_000;
/// Kafka's default of `telemetry.max.bytes`.
const MAX_BYTES: i32 = 1_048_576;
/// Kafka's default of `interval.ms`.
pub(super) const DEFAULT_INTERVAL_MS: i32 = 300_000;
const ALL: &str = "*";

/// The clients' instances and their pushes.
#[derive(Debug)]
pub(crate) struct Telemetry {
    instances: u64,
    /// Instances that have sent their last push.
    ended: BTreeSet<Uuid>,
    pushes: VecDeque<PushedMetrics>,
    pub(crate) max_bytes: i32,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self { instances: 0, ended: BTreeSet::new(), pushes: VecDeque::new(), max_bytes: MAX_BYTES }
    }
}

/// The properties that subscriptions match.
#[derive(Debug, Clone)]
pub(crate) struct TelemetryClient {
    pub(crate) client_id: String,
    pub(crate) address: String,
}

/// What the cluster requests of one client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TelemetrySubscription {
    pub(crate) id: i32,
    pub(crate) interval_ms: i32,
    /// Prefixes, or `*` alone.
    pub(crate) metrics: Vec<String>,
}

impl ClusterState {
    /// The id of a client's instance: a new one for a zero id.
    pub(crate) fn telemetry_instance(&mut self, id: Uuid) -> Uuid {
        if !id.is_zero() {
            return id;
        }
        self.telemetry.instances += 1;
        make_id(self.seed, (1 << 40) + self.telemetry.instances)
    }

    /// The subscriptions that match a client, as one: all their metrics, at the shortest interval.
    pub(crate) fn telemetry_subscription(&self, id: Uuid, client: &TelemetryClient) -> TelemetrySubscription {
        let property = |name: &str| match name {
            "client_instance_id" => Some(id.to_string()),
            "client_id" => Some(client.client_id.clone()),
            "client_source_address" => Some(client.address.clone()),
            // The mock does not keep a connection's software and port.
            _ => None,
        };
        let all = self.client_metrics_subscriptions();
        let matching: Vec<_> = all.filter(|found| found.matches(property)).collect();
        let mut metrics: BTreeSet<String> =
            matching.iter().flat_map(|found| found.metrics.iter().cloned()).collect();
        if metrics.contains(ALL) {
            metrics = BTreeSet::from([ALL.to_owned()]);
        }
        let interval_ms = matching.iter().map(|found| found.interval_ms).min().unwrap_or(DEFAULT_INTERVAL_MS);
        let metrics: Vec<String> = metrics.into_iter().collect();
        let hash = |hash: u64, byte: u8| mix(hash ^ u64::from(byte));
        let digest = metrics.iter().flat_map(|name| name.bytes().chain([0])).fold(interval_ms as u64, hash);
        TelemetrySubscription { id: digest as i32, interval_ms, metrics }
    }

    /// Whether an instance has sent its last push.
    pub(crate) fn telemetry_ended(&self, id: Uuid) -> bool {
        self.telemetry.ended.contains(&id)
    }

    pub(crate) fn telemetry_max_bytes(&self) -> i32 {
        self.telemetry.max_bytes
    }

    /// Keeps a push.
    pub(crate) fn take_telemetry(&mut self, push: PushedMetrics) {
        if push.terminating {
            self.telemetry.ended.insert(push.client_instance_id);
        }
        if self.telemetry.pushes.len() == MAX_PUSHES {
            self.telemetry.pushes.pop_front();
        }
        self.telemetry.pushes.push_back(push);
    }

    /// The pushes, the oldest first.
    pub(crate) fn telemetry_pushes(&self) -> Vec<PushedMetrics> {
        self.telemetry.pushes.iter().cloned().collect()
    }
}

/// One client metrics subscription.
#[derive(Debug, Clone)]
pub(crate) struct ConfiguredSubscription {
    pub(crate) interval_ms: i32,
    pub(crate) metrics: Vec<String>,
    /// Expressions by property; all must match.
    pub(crate) matches: BTreeMap<String, regex::Regex>,
}

impl ConfiguredSubscription {
    fn matches(&self, property: impl Fn(&str) -> Option<String>) -> bool {
        self.matches
            .iter()
            .all(|(name, expression)| property(name).is_some_and(|value| expression.is_match(&value)))
    }
}
