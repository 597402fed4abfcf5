//! The configuration of groups (KIP-848): the values set for a group, and those that the mock acts on.
//!
//! Invariant: a value that the mock acts on is within the broker's limits.

use std::time::Duration;

use ottla_protocol::ErrorCode;

use super::alteration::Values;
use super::broker::default_of;
use super::group_keys::GROUP_KEYS;
use super::key::ConfigKey;
use crate::config::GroupConfig;
use crate::state::ApiError;

pub(super) fn find(name: &str) -> Option<&'static ConfigKey> {
    GROUP_KEYS.iter().find(|key| key.name == name)
}

/// Validates the values of a group.
pub(super) fn validate(group: &str, values: &Values) -> Result<(), ApiError> {
    if group.is_empty() {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Default group resources are not allowed."));
    }
    for (key, value) in values {
        let Some(known) = find(key) else {
            return Err(invalid(format!("Unknown group config name: {key}")));
        };
        known.parse(value).map_err(invalid)?;
    }
    values.iter().try_for_each(|(key, value)| check_limits(key, value))
}

/// A key `consumer.x` may have the limits `group.consumer.min.x` and `group.consumer.max.x`.
fn check_limits(key: &str, value: &str) -> Result<(), ApiError> {
    let (Ok(value), Some((kind, rest))) = (value.trim().parse::<i64>(), key.split_once('.')) else {
        return Ok(());
    };
    let rest = rest.strip_prefix("num.").unwrap_or(rest);
    let limit = |side: &str| {
        let name = format!("group.{kind}.{side}.{rest}");
        default_of(&name).and_then(|limit| limit.parse::<i64>().ok())
    };
    let message = match (limit("min"), limit("max")) {
        (Some(min), Some(max)) if !(min..=max).contains(&value) => {
            format!("{key} must be in the range {min} to {max} inclusive")
        }
        (Some(min), None) if value < min => format!("{key} must be greater than or equal to {min}"),
        (None, Some(max)) if value > max => format!("{key} must be less than or equal to {max}"),
        _ => return Ok(()),
    };
    Err(invalid(message))
}

fn invalid(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidConfig, message)
}

/// The coordinator's configuration with a group's own values.
pub(super) fn overridden(config: &GroupConfig, values: &Values) -> GroupConfig {
    let mut config = config.clone();
    let millis = |key: &str| {
        let value = values.get(key)?.trim().parse().ok()?;
        Some(Duration::from_millis(value))
    };
    if let Some(timeout) = millis("consumer.session.timeout.ms") {
        config.consumer_session_timeout = timeout;
    }
    if let Some(interval) = millis("consumer.heartbeat.interval.ms") {
        config.consumer_heartbeat_interval = interval;
    }
    if let Some(timeout) = millis("share.session.timeout.ms") {
        config.share.session_timeout = timeout;
    }
    if let Some(interval) = millis("share.heartbeat.interval.ms") {
        config.share.heartbeat_interval = interval;
    }
    if let Some(duration) = millis("share.record.lock.duration.ms") {
        config.share.record_lock_duration = duration;
    }
    let text = |key: &str| values.get(key).map(|value| value.trim());
    if let Some(limit) = text("share.delivery.count.limit").and_then(|limit| limit.parse().ok()) {
        config.share.delivery_count_limit = limit;
    }
    if let Some(limit) = text("share.partition.max.record.locks").and_then(|limit| limit.parse().ok()) {
        config.share.partition_max_record_locks = limit;
    }
    if let Some(reset) = text("share.auto.offset.reset") {
        reset.clone_into(&mut config.share.auto_offset_reset);
    }
    if let Some(level) = text("share.isolation.level") {
        config.share.read_committed = level == "read_committed";
    }
    if let Some(enabled) = text("share.renew.acknowledge.enable") {
        config.share.renew_enabled = enabled.eq_ignore_ascii_case("true");
    }
    config
}
