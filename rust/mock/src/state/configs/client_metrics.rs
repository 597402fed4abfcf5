//! The configuration of client metrics subscriptions (KIP-714). `state/telemetry.rs` applies them.

use ottla_protocol::ErrorCode;
use regex::Regex;

use super::alteration::Values;
use super::key::{ConfigKey, ConfigType, Valid, elements};
use crate::state::telemetry::DEFAULT_INTERVAL_MS;
use crate::state::{ApiError, ConfiguredSubscription};

/// The keys of subscriptions, sorted. Kafka cannot append to their lists.
pub(super) const CLIENT_METRICS_KEYS: &[ConfigKey] = &[
    ConfigKey::new(INTERVAL, ConfigType::Int, "300000", Valid::Any),
    ConfigKey::new(MATCH, ConfigType::List, "", Valid::Any),
    ConfigKey::new(METRICS, ConfigType::List, "", Valid::Any),
];

const METRICS: &str = "metrics";
const INTERVAL: &str = "interval.ms";
const MATCH: &str = "match";
const MATCHED: [&str; 6] = [
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
];

/// Validates the values of a subscription.
pub(super) fn validate(name: &str, values: &Values) -> Result<(), ApiError> {
    let invalid_request = |text: String| Err(ApiError::new(ErrorCode::InvalidRequest, text));
    let invalid_config = |text: String| ApiError::new(ErrorCode::InvalidConfig, text);
    if name.is_empty() {
        return invalid_request("Subscription name can't be empty".to_owned());
    }
    for (key, value) in values {
        let Some(known) = CLIENT_METRICS_KEYS.iter().find(|known| known.name == key) else {
            return invalid_request(format!("Unknown client metrics configuration: {key}"));
        };
        let value = known.parse(value).map_err(invalid_config)?;
        if key == INTERVAL && !value.parse().is_ok_and(|millis: i32| (100..=3_600_000).contains(&millis)) {
            let text =
                format!("Invalid value {value} for {key}, interval must be between 100 and 3600000 (1 hour)");
            return invalid_request(text);
        }
        if key == MATCH
            && let Some(illegal) = elements(&value).into_iter().find(|pattern| !is_pattern(pattern))
        {
            return Err(invalid_config(format!("Illegal client matching pattern: {illegal}")));
        }
    }
    Ok(())
}

/// The subscription of valid values.
pub(super) fn subscription(values: &Values) -> ConfiguredSubscription {
    let value = |name: &str| {
        let default = CLIENT_METRICS_KEYS.iter().find(|key| key.name == name).and_then(|key| key.default);
        values.get(name).map(String::as_str).or(default).unwrap_or_default()
    };
    let pattern = |text: &str| {
        let (property, expression) = text.split_once('=')?;
        // The whole value must match.
        let whole = format!("^(?:{})$", expression.trim());
        Some((property.trim().to_owned(), Regex::new(&whole).ok()?))
    };
    ConfiguredSubscription {
        interval_ms: value(INTERVAL).trim().parse().unwrap_or(DEFAULT_INTERVAL_MS),
        metrics: elements(value(METRICS)).into_iter().map(str::to_owned).collect(),
        matches: elements(value(MATCH)).into_iter().filter_map(pattern).collect(),
    }
}

/// Whether it is a property of clients with a regular expression.
fn is_pattern(pattern: &str) -> bool {
    pattern.split_once('=').is_some_and(|(property, expression)| {
        MATCHED.contains(&property.trim())
            && !expression.is_empty()
            && !expression.contains('=')
            && Regex::new(expression.trim()).is_ok()
    })
}
