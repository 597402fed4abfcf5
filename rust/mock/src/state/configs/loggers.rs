//! The log levels of a broker (KIP-412). The mock stores them and logs nothing by them.
//!
//! Invariant: a broker has exactly the loggers of [`LOGGERS`], and the root logger always has a level.

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

use super::alteration::{Alteration, Operation};
use crate::state::ApiError;

/// Some of the loggers of a broker of Kafka.
const LOGGERS: [&str; 8] = [
    "kafka.server.BrokerServer",
    "kafka.server.ControllerServer",
    "kafka.server.KafkaApis",
    "kafka.server.KafkaConfig",
    "kafka.server.ReplicaManager",
    "org.apache.kafka.storage.internals.log.LogManager",
    ROOT,
    "state.change.logger",
];
const ROOT: &str = "root";
const DEFAULT_LEVEL: &str = "INFO";
const LEVELS: [&str; 6] = ["DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN"];

/// The loggers of a broker whose levels are set.
#[derive(Debug, Default)]
pub(super) struct Loggers {
    levels: BTreeMap<&'static str, String>,
}

impl Loggers {
    /// The names and levels of all loggers, sorted.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let root = self.levels.get(ROOT).map_or(DEFAULT_LEVEL, String::as_str);
        let level = move |name: &&'static str| self.levels.get(*name).map_or(root, String::as_str);
        LOGGERS.iter().map(move |name| (*name, level(name)))
    }

    /// Changes levels, or only validates the change. The first invalid one rejects all.
    pub(super) fn alter(
        &mut self,
        alterations: &[Alteration<'_>],
        validate_only: bool,
    ) -> Result<(), ApiError> {
        let mut changes = Vec::with_capacity(alterations.len());
        for alteration in alterations {
            changes.push((validate(alteration)?, alteration));
        }
        if !validate_only {
            for (name, alteration) in changes {
                match alteration.operation {
                    Operation::Delete => self.levels.remove(name),
                    _ => self.levels.insert(name, alteration.value.to_owned()),
                };
            }
        }
        Ok(())
    }
}

/// Returns the logger that a valid alteration changes.
fn validate(alteration: &Alteration<'_>) -> Result<&'static str, ApiError> {
    let Alteration { key, operation, value } = *alteration;
    let invalid_config = |text: String| ApiError::new(ErrorCode::InvalidConfig, text);
    let invalid_request = |text: String| ApiError::new(ErrorCode::InvalidRequest, text);
    let known = LOGGERS.into_iter().find(|name| *name == key);
    let known = known.ok_or_else(|| invalid_config(format!("Logger {key} does not exist!")));
    match operation {
        Operation::Set => {
            let name = known?;
            if !LEVELS.contains(&value) {
                let levels = LEVELS.join(", ");
                return Err(invalid_config(format!(
                    "Cannot set the log level of {key} to {value} as it is not a supported log level. Valid log \
                     levels are {levels}"
                )));
            }
            Ok(name)
        }
        Operation::Delete if key == ROOT => {
            Err(invalid_request("Removing the log level of the root logger is not allowed".to_owned()))
        }
        Operation::Delete => known,
        Operation::Append | Operation::Subtract => {
            let name = operation.name();
            Err(invalid_request(format!("{name} operation is not allowed for the BROKER_LOGGER resource")))
        }
    }
}
