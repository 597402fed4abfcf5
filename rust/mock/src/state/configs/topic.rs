//! The configuration of a topic: the values set for it, and the settings that the mock acts on.
//!
//! Invariant: every key is one that Kafka knows, and every value is valid.

use ottla_protocol::ErrorCode;

use super::alteration::Values;
use super::key::{ConfigKey, elements};
use super::topic_keys::TOPIC_KEYS;
use crate::state::{ApiError, ClusterState};

/// The values set for a topic.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicConfig {
    values: Values,
}

/// The settings in effect that the mock acts on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TopicSettings {
    pub(crate) max_message_bytes: usize,
    pub(crate) min_insync: usize,
    pub(crate) log_append_time: bool,
    /// Whether the topic is compacted, so that records need keys.
    pub(crate) is_compacted: bool,
    /// Whether the cleanup policy allows deleting records.
    pub(crate) may_delete: bool,
}

impl TopicConfig {
    /// Validates the configuration of a new topic; null values are rejected.
    pub(crate) fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Self, ApiError> {
        let mut values = Values::new();
        for (key, value) in pairs {
            let Some(value) = value else {
                return Err(invalid(format!("Null value not supported for topic configs: {key}")));
            };
            values.insert(key.to_owned(), value.to_owned());
        }
        Self::from_values(values)
    }

    /// Validates values as Kafka's controller does.
    pub(super) fn from_values(values: Values) -> Result<Self, ApiError> {
        for key in values.keys() {
            if find(key).is_none() {
                return Err(invalid(format!("Unknown topic config name: {key}")));
            }
        }
        for key in TOPIC_KEYS {
            if let Some(value) = values.get(key.name) {
                key.parse(value).map_err(invalid)?;
            }
        }
        let number = |key: &str| -> Option<i64> { values.get(key)?.trim().parse().ok() };
        if let (Some(min), max) = (number("min.compaction.lag.ms"), number("max.compaction.lag.ms"))
            && let Some(max) = max.filter(|max| min > *max)
        {
            return Err(invalid(format!(
                "conflict topic config setting min.compaction.lag.ms ({min}) > max.compaction.lag.ms ({max})"
            )));
        }
        if values.get("remote.storage.enable").is_some_and(|value| value.trim().eq_ignore_ascii_case("true"))
        {
            return Err(invalid(
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote \
                 log storage.",
            ));
        }
        Ok(Self { values })
    }

    pub(crate) fn values(&self) -> &Values {
        &self.values
    }
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidConfig, message)
}

pub(super) fn find(name: &str) -> Option<&'static ConfigKey> {
    TOPIC_KEYS.iter().find(|key| key.name == name)
}

impl ClusterState {
    /// The settings of a topic at one of its replicas: the topic's own, then the broker's, then the cluster's.
    pub(crate) fn topic_settings(&self, topic: &TopicConfig, broker: i32) -> TopicSettings {
        let value = |name: &str| find(name).and_then(|key| self.topic_value(topic, broker, key));
        let number = |name: &str| value(name).and_then(|value| value.parse().ok());
        let policies = value("cleanup.policy").unwrap_or_default();
        let has_policy = |policy: &str| elements(&policies).contains(&policy);
        TopicSettings {
            max_message_bytes: number("max.message.bytes").unwrap_or(self.config.max_message_bytes),
            min_insync: number("min.insync.replicas").unwrap_or(1),
            log_append_time: value("message.timestamp.type").as_deref() == Some("LogAppendTime"),
            is_compacted: has_policy("compact"),
            may_delete: has_policy("delete"),
        }
    }

    /// Whether a topic may elect a leader that is not in sync.
    pub(crate) fn allows_unclean_leaders(&self, topic: &TopicConfig) -> bool {
        let key = find("unclean.leader.election.enable");
        key.and_then(|key| self.topic_value(topic, self.controller, key)).as_deref() == Some("true")
    }

    /// The value in effect, as Kafka shows it.
    pub(super) fn topic_value(&self, topic: &TopicConfig, broker: i32, key: &ConfigKey) -> Option<String> {
        let own = topic.values.get(key.name).cloned();
        let inherited = || key.synonym.and_then(|synonym| self.broker_value(broker, synonym));
        let value = own.or_else(inherited).or_else(|| key.default.map(str::to_owned))?;
        Some(key.parse(&value).map(|shown| shown.into_owned()).unwrap_or(value))
    }
}
