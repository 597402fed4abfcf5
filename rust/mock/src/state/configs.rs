//! The configuration of a topic: the values set, by Kafka's names, and those that the mock acts on.
//!
//! Invariant: every key is one that Kafka knows, and every value that the mock acts on is valid.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use super::ApiError;

/// Kafka's topic configuration keys and their defaults.
const KNOWN: &[(&str, &str)] = &[
    (CLEANUP_POLICY, "delete"),
    ("compression.gzip.level", "-1"),
    ("compression.lz4.level", "9"),
    ("compression.type", "producer"),
    ("compression.zstd.level", "3"),
    ("delete.retention.ms", "86400000"),
    ("file.delete.delay.ms", "60000"),
    ("flush.messages", "9223372036854775807"),
    ("flush.ms", "9223372036854775807"),
    ("follower.replication.throttled.replicas", ""),
    ("index.interval.bytes", "4096"),
    ("leader.replication.throttled.replicas", ""),
    ("local.retention.bytes", "-2"),
    ("local.retention.ms", "-2"),
    (MAX_MESSAGE_BYTES, "1048588"),
    ("max.compaction.lag.ms", "9223372036854775807"),
    ("message.timestamp.after.max.ms", "3600000"),
    ("message.timestamp.before.max.ms", "9223372036854775807"),
    (TIMESTAMP_TYPE, "CreateTime"),
    ("min.cleanable.dirty.ratio", "0.5"),
    ("min.compaction.lag.ms", "0"),
    (MIN_INSYNC, "1"),
    ("preallocate", "false"),
    ("remote.log.copy.disable", "false"),
    ("remote.log.delete.on.disable", "false"),
    ("remote.storage.enable", "false"),
    ("retention.bytes", "-1"),
    ("retention.ms", "604800000"),
    ("segment.bytes", "1073741824"),
    ("segment.index.bytes", "10485760"),
    ("segment.jitter.ms", "0"),
    ("segment.ms", "604800000"),
    ("unclean.leader.election.enable", "false"),
];

const CLEANUP_POLICY: &str = "cleanup.policy";
const MAX_MESSAGE_BYTES: &str = "max.message.bytes";
const TIMESTAMP_TYPE: &str = "message.timestamp.type";
const MIN_INSYNC: &str = "min.insync.replicas";

/// All topic keys with their defaults.
pub(crate) fn known_configs() -> &'static [(&'static str, &'static str)] {
    KNOWN
}

/// One topic's configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct TopicConfig {
    set: BTreeMap<String, String>,
    max_message_bytes: Option<usize>,
    log_append_time: bool,
    min_insync: usize,
}

impl TopicConfig {
    /// Validates the configuration of a new topic; null values are rejected.
    pub(crate) fn new<'a>(
        pairs: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
    ) -> Result<Self, ApiError> {
        let mut config = Self { min_insync: 1, ..Self::default() };
        for (key, value) in pairs {
            let invalid = |text: String| Err(ApiError::new(ErrorCode::InvalidConfig, text));
            if !KNOWN.iter().any(|(known, _)| *known == key) {
                return invalid(format!("Unknown topic config name: {key}"));
            }
            let Some(value) = value else {
                return invalid(format!("Null value not supported for topic configs: {key}"));
            };
            match key {
                MAX_MESSAGE_BYTES => match value.parse() {
                    Ok(bytes) => config.max_message_bytes = Some(bytes),
                    Err(_) => return invalid(format!("Invalid value {value} for configuration {key}")),
                },
                MIN_INSYNC => match value.parse() {
                    Ok(count @ 1..) => config.min_insync = count,
                    _ => return invalid(format!("Invalid value {value} for configuration {key}")),
                },
                TIMESTAMP_TYPE => match value {
                    "CreateTime" => config.log_append_time = false,
                    "LogAppendTime" => config.log_append_time = true,
                    _ => return invalid(format!("Invalid value {value} for configuration {key}")),
                },
                _ => {}
            }
            config.set.insert(key.to_owned(), value.to_owned());
        }
        Ok(config)
    }

    /// The value set for `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.set.get(key).map(String::as_str)
    }

    pub(crate) fn max_message_bytes(&self, cluster: usize) -> usize {
        self.max_message_bytes.unwrap_or(cluster)
    }

    pub(crate) fn log_append_time(&self) -> bool {
        self.log_append_time
    }

    /// Whether the topic is compacted, so that records need keys.
    pub(crate) fn is_compacted(&self) -> bool {
        self.policies().any(|policy| policy == "compact")
    }

    /// Whether the cleanup policy allows deleting records.
    pub(crate) fn may_delete(&self) -> bool {
        self.policies().any(|policy| policy == "delete")
    }

    fn policies(&self) -> impl Iterator<Item = &str> {
        self.get(CLEANUP_POLICY).unwrap_or("delete").split(',').map(str::trim)
    }

    pub(crate) fn min_insync(&self) -> usize {
        self.min_insync
    }
}
