//! The resources of configuration requests, as Kafka's brokers read them.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;

use super::RequestContext;
use crate::state::{Alterations, ApiError, ConfigResource};

pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const LOGGERS: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;

/// Reads the resource of a request that alters it, at this broker.
fn altered(kind: i8, name: &str, broker: i32) -> Result<ConfigResource<'_>, ApiError> {
    let id = || match name.parse::<i32>() {
        Ok(id) => Ok(id),
        Err(_) => Err(invalid(format!("Node id must be an integer, but it is: {name}"))),
    };
    Ok(match kind {
        TOPIC => ConfigResource::Topic(name),
        BROKER if name.is_empty() => ConfigResource::AllBrokers,
        BROKER if id()? == broker => ConfigResource::Broker(broker),
        BROKER => {
            return Err(invalid(format!("Unexpected broker id, expected {broker}, but received {name}")));
        }
        LOGGERS if id()? == broker => ConfigResource::Loggers(broker),
        LOGGERS => {
            return Err(invalid(format!("Unexpected node id. Expected {broker}, but received {name}")));
        }
        CLIENT_METRICS => ConfigResource::ClientMetrics(name),
        GROUP => ConfigResource::Group(name),
        _ => return Err(unknown_type(kind)),
    })
}

/// A resource of a request that alters configurations.
pub(super) struct Altered<'a> {
    pub(super) kind: i8,
    pub(super) name: &'a str,
    /// How often the request names it.
    pub(super) times: usize,
    pub(super) keys: Vec<&'a str>,
    /// The keys that lack a value and need one.
    pub(super) nulls: Vec<&'a str>,
    /// Whether the request can alter log levels.
    pub(super) alters_loggers: bool,
    pub(super) validate_only: bool,
}

impl<'a> Altered<'a> {
    /// Alters the resource, or validates that; `alterations` returns what to do with it.
    pub(super) fn alter(
        self,
        context: &mut RequestContext<'_>,
        alterations: impl FnOnce(ConfigResource<'a>) -> Result<Alterations<'a>, ApiError>,
    ) -> Result<(), ApiError> {
        let fault = |code: ErrorCode| ApiError::new(code, code.meaning());
        context.check_fault(self.name, None).map_err(fault)?;
        self.check_keys()?;
        if self.kind == LOGGERS && !self.alters_loggers {
            return Err(unknown_type(LOGGERS));
        }
        let target = altered(self.kind, self.name, context.broker)?;
        context.state.alter_configs(target, &alterations(target)?, self.validate_only)?;
        context.changed |= !self.validate_only;
        context.check_fault_after_handling(self.name, None).map_err(fault)
    }

    /// Checks that the request names the resource once, and each of its keys once and with a value.
    fn check_keys(&self) -> Result<(), ApiError> {
        if self.times > 1 {
            return Err(invalid("Each resource must appear at most once."));
        }
        let mut seen = BTreeSet::new();
        if !self.keys.iter().all(|key| seen.insert(*key)) {
            return Err(invalid("Error due to duplicate config keys"));
        }
        if self.nulls.is_empty() {
            return Ok(());
        }
        Err(invalid(format!("Null value not supported for : {}", self.nulls.join(", "))))
    }
}

/// The error of a resource of an unknown type.
fn unknown_type(kind: i8) -> ApiError {
    invalid(format!("Unknown resource type {kind}"))
}

/// Reads the resource of a request that describes it, at this broker.
pub(super) fn described(kind: i8, name: &str, broker: i32) -> Result<ConfigResource<'_>, ApiError> {
    let id = || match name.parse::<i32>() {
        Ok(id) => Ok(id),
        Err(_) => Err(invalid(format!("Broker id must be an integer, but it is: {name}"))),
    };
    Ok(match kind {
        TOPIC => ConfigResource::Topic(name),
        BROKER if name.is_empty() => ConfigResource::AllBrokers,
        BROKER if id()? == broker => ConfigResource::Broker(broker),
        BROKER => {
            return Err(invalid(format!(
                "Unexpected broker id, expected {broker} or empty string, but received {name}"
            )));
        }
        LOGGERS if name.is_empty() => return Err(invalid("Broker id must not be empty")),
        LOGGERS if id()? == broker => ConfigResource::Loggers(broker),
        LOGGERS => {
            return Err(invalid(format!("Unexpected broker id, expected {broker} but received {name}")));
        }
        CLIENT_METRICS if name.is_empty() => {
            return Err(invalid("Client metrics subscription name must not be empty"));
        }
        CLIENT_METRICS => ConfigResource::ClientMetrics(name),
        GROUP if name.is_empty() => return Err(invalid("Group name must not be empty")),
        GROUP => ConfigResource::Group(name),
        _ => return Err(invalid(super::MALFORMED)),
    })
}

/// The topic of a resource, for faults.
pub(super) fn topic_of(kind: i8, name: &str) -> Option<crate::fault::FaultTarget> {
    (kind == TOPIC).then(|| crate::fault::FaultTarget { topic: name.to_owned(), partition: None })
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}
