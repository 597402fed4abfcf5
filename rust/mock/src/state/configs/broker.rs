//! The configuration of brokers: what is fixed by the mock's own, what is altered, and what is in effect.
//!
//! A value comes from the broker, then from the default for all brokers, then from the mock's configuration, then
//! from Kafka. As in Kafka, unknown keys are stored, and their values are never shown.

use ottla_protocol::ErrorCode;

use super::alteration::{Operation, Values};
use super::broker_keys::{DYNAMIC_KEYS, is_per_broker, is_per_listener};
use super::key::ConfigKey;
use super::static_broker_keys::STATIC_KEYS;
use crate::config::MockConfig;
use crate::state::{ApiError, ClusterState, LOG_DIRECTORIES};

/// The listener of every broker of the mock.
const LISTENER: &str = "PLAINTEXT";
const SASL_LISTENER: &str = "SASL_PLAINTEXT";

/// The keys whose defaults are in other keys, each with those, in their order.
const FALLBACKS: [&[&str]; 4] = [
    &["log.flush.interval.ms", "log.flush.scheduler.interval.ms"],
    &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
    &["log.roll.jitter.ms", "log.roll.jitter.hours"],
    &["log.roll.ms", "log.roll.hours"],
];

pub(super) fn find_dynamic(name: &str) -> Option<&'static ConfigKey> {
    DYNAMIC_KEYS.iter().find(|key| key.name == name)
}

/// The default of a broker's key.
pub(super) fn default_of(name: &str) -> Option<&'static str> {
    match find_dynamic(name) {
        Some(key) => key.default,
        None => STATIC_KEYS.iter().find(|(key, ..)| *key == name).and_then(|(.., default)| *default),
    }
}

/// The keys that may have the value of a key, itself included.
pub(super) fn fallbacks(name: &str) -> Vec<&str> {
    let group = FALLBACKS.iter().find(|group| group.contains(&name));
    group.map_or_else(|| vec![name], |group| group.to_vec())
}

/// The text of a broker about a key that is no list.
pub(super) fn not_a_list(operation: Operation, key: &str) -> String {
    let name = operation.name().to_lowercase();
    format!("Config value {name} is not allowed for config key: {key}")
}

/// Validates the values of a broker, or the defaults of all, as the broker does that gets the request.
pub(super) fn validate(values: &Values, of_one_broker: bool) -> Result<(), ApiError> {
    let reject = |text: &str, is_wrong: &dyn Fn(&str) -> bool| {
        let wrong: Vec<&str> = values.keys().map(String::as_str).filter(|key| is_wrong(key)).collect();
        if wrong.is_empty() { Ok(()) } else { Err(invalid(format!("{text}: [{}]", wrong.join(", ")))) }
    };
    reject("Cannot update these configs dynamically", &|key| {
        STATIC_KEYS.iter().any(|(name, ..)| *name == key)
    })?;
    reject(
        "These security configs can be dynamically updated only per-listener using the listener prefix",
        &is_per_listener,
    )?;
    for (key, value) in values {
        if let Some(known) = find_dynamic(key) {
            known.parse(value).map_err(invalid)?;
        }
    }
    if of_one_broker {
        return Ok(());
    }
    let text = "Cannot update these configs at default cluster level, broker id must be specified";
    reject(text, &|key| find_dynamic(key).is_some() && is_per_broker(key))
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}

impl ClusterState {
    /// The value in effect at a broker, as it was set.
    pub(crate) fn broker_value(&self, broker: i32, name: &str) -> Option<String> {
        let configs = &self.configs;
        let dynamic = configs.brokers.get(&broker).and_then(|values| values.get(name));
        let dynamic = dynamic.or_else(|| configs.all_brokers.get(name)).cloned();
        let fixed = || self.static_value(broker, name);
        dynamic.or_else(fixed).or_else(|| default_of(name).map(str::to_owned))
    }

    /// The value that the mock's configuration gives a broker, unless it is Kafka's default.
    pub(super) fn static_value(&self, broker: i32, name: &str) -> Option<String> {
        let node = self.brokers.get(&broker);
        let address = |listener: &str| node.map(|node| format!("{listener}://{}:{}", node.host, node.port));
        let sasl = self.config.sasl.as_ref();
        let listener = if sasl.is_some() { SASL_LISTENER } else { LISTENER };
        let value = match name {
            "node.id" | "broker.id" => Some(broker.to_string()),
            "broker.rack" => node.and_then(|node| node.rack.clone()),
            "listeners" | "advertised.listeners" => address(listener),
            "inter.broker.listener.name" => Some(listener.to_owned()),
            "controller.listener.names" => Some("CONTROLLER".to_owned()),
            "process.roles" => Some("broker,controller".to_owned()),
            "log.dirs" => Some(LOG_DIRECTORIES.join(",")),
            "authorizer.class.name" => {
                Some("org.apache.kafka.metadata.authorizer.StandardAuthorizer".to_owned())
            }
            "sasl.enabled.mechanisms" => sasl.map(|sasl| {
                let names: Vec<&str> = sasl.mechanisms.iter().map(|mechanism| mechanism.name()).collect();
                names.join(",")
            }),
            _ => configured(&self.config, name),
        };
        value.filter(|value| default_of(name) != Some(value))
    }
}

/// The value of a key that has the same value at all brokers.
fn configured(config: &MockConfig, name: &str) -> Option<String> {
    let groups = &config.groups;
    let millis = |duration: std::time::Duration| Some(duration.as_millis().to_string());
    match name {
        "auto.create.topics.enable" => Some(config.auto_create_topics.to_string()),
        "connections.max.reauth.ms" => config.sasl.as_ref()?.session_lifetime.and_then(millis),
        "default.replication.factor" => Some(config.default_replication.to_string()),
        "group.consumer.heartbeat.interval.ms" => millis(groups.consumer_heartbeat_interval),
        "group.consumer.session.timeout.ms" => millis(groups.consumer_session_timeout),
        "group.initial.rebalance.delay.ms" => millis(groups.initial_rebalance_delay),
        "group.max.session.timeout.ms" => millis(groups.max_session_timeout),
        "group.min.session.timeout.ms" => millis(groups.min_session_timeout),
        "max.incremental.fetch.session.cache.slots" => Some(config.fetch_sessions.to_string()),
        "message.max.bytes" => Some(config.max_message_bytes.to_string()),
        "num.partitions" => Some(config.default_partitions.to_string()),
        "offset.metadata.max.bytes" => Some(groups.max_metadata.to_string()),
        "replica.selector.class" if config.rack_aware_reads => {
            Some("org.apache.kafka.common.replica.RackAwareReplicaSelector".to_owned())
        }
        "socket.request.max.bytes" => Some(config.max_request_bytes.to_string()),
        "transaction.max.timeout.ms" => millis(config.transaction_max_timeout),
        _ => None,
    }
}
