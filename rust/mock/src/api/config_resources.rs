//! The resources of configuration requests, as Kafka's brokers read them.

use std::collections::BTreeSet;

use ottla_protocol::ErrorCode;

use crate::state::{ApiError, ConfigResource};

pub(super) const TOPIC: i8 = 2;
pub(super) const BROKER: i8 = 4;
pub(super) const LOGGERS: i8 = 8;
pub(super) const CLIENT_METRICS: i8 = 16;
pub(super) const GROUP: i8 = 32;

/// Reads the resource of a request that alters it, at this broker.
pub(super) fn altered(kind: i8, name: &str, broker: i32) -> Result<ConfigResource<'_>, ApiError> {
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

/// Checks that a request names a resource once, and each of its keys once and with a value. `nulls` are the keys
/// without one.
pub(super) fn check_keys<'a>(
    times: usize,
    keys: impl IntoIterator<Item = &'a str>,
    nulls: &[&str],
) -> Result<(), ApiError> {
    if times > 1 {
        return Err(invalid("Each resource must appear at most once."));
    }
    let mut seen = BTreeSet::new();
    if !keys.into_iter().all(|key| seen.insert(key)) {
        return Err(invalid("Error due to duplicate config keys"));
    }
    if nulls.is_empty() {
        return Ok(());
    }
    Err(invalid(format!("Null value not supported for : {}", nulls.join(", "))))
}

/// The error of a resource of an unknown type.
pub(super) fn unknown_type(kind: i8) -> ApiError {
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
