//! Faults as JSON, in the words of `ottla.testing.Fault` and `inject`: conditions, and exactly one reaction.
//!
//! `{"api": "Produce", "topic": "orders", "times": 1, "disconnect": "after"}`
//!
//! Invariant: whatever the text is, it is a fault or an error that says what is wrong and what is expected.

use std::num::NonZeroU64;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ottla_protocol::{ApiKey, ErrorCode};
use serde_json::{Map, Value, json};

use crate::{Fault, InjectedFault, Match, Reaction, When};

/// The reactions by name.
const REACTIONS: [&str; 14] = [
    "error",
    "error_after_handling",
    "disconnect",
    "delay",
    "throttle",
    "silence",
    "move_leader",
    "omit_partition",
    "bytes",
    "corrupt_records",
    "truncate_frame",
    "cut",
    "slow",
    "freeze",
];

/// The conditions by name.
const CONDITIONS: [&str; 7] = ["api", "broker", "topic", "partition", "client_id", "skip", "times"];

/// The longest delay: a day.
const DELAY_MAX: f64 = 86_400.0;

/// Why a document is no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DocumentError(String);

impl DocumentError {
    fn expected(name: &str, what: &str, found: &Value) -> Self {
        let mut found = found.to_string();
        if let Some((end, _)) = found.char_indices().nth(40) {
            found.truncate(end);
            found.push_str("...");
        }
        Self(format!("{name}: expected {what}, got {found}"))
    }
}

/// Reads a fault from the text of a JSON object.
///
/// # Errors
/// If the text is no such object.
pub fn parse(text: &[u8]) -> Result<Fault, DocumentError> {
    let value = serde_json::from_slice(text);
    let value: Value = value.map_err(|error| DocumentError(format!("the fault is not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(DocumentError::expected("the fault", "an object such as {\"silence\": true}", &value));
    };
    let (mut on, mut times, mut then) = (Match::default(), None, None);
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            "api" => on.api = Some(api(text_of(name, value)?)?),
            "broker" => on.broker = Some(integer(name, value)?),
            "topic" => on.topic = Some(text_of(name, value)?.to_owned()),
            "partition" => on.partition = Some(integer(name, value)?),
            "client_id" => on.client_id = Some(text_of(name, value)?.to_owned()),
            "skip" => on.skip = count(name, value)?,
            "times" => times = Some(count(name, value)?),
            _ if then.is_some() => return Err(exactly_one()),
            _ => then = Some(reaction(name, value)?),
        }
    }
    let Some(then) = then else { return Err(exactly_one()) };
    Ok(Fault { on, then, times })
}

/// Reads a reaction from its name and its value. The value of one that needs none is `true`.
///
/// # Errors
/// If there is no such reaction, or the value is wrong.
pub fn reaction(name: &str, value: &Value) -> Result<Reaction, DocumentError> {
    let flag = |reaction| match value {
        Value::Bool(true) => Ok(reaction),
        _ => Err(DocumentError::expected(name, "true", value)),
    };
    match name {
        "error" => Ok(Reaction::Error(error_code(name, value)?)),
        "error_after_handling" => Ok(Reaction::ErrorAfterHandling(error_code(name, value)?)),
        "disconnect" => match value.as_str() {
            Some("before") => Ok(Reaction::Disconnect(When::BeforeHandling)),
            Some("after") => Ok(Reaction::Disconnect(When::AfterHandling)),
            _ => Err(DocumentError::expected(name, "\"before\" or \"after\"", value)),
        },
        "delay" => {
            let seconds = value.as_f64().filter(|seconds| (0.0..=DELAY_MAX).contains(seconds));
            let seconds = seconds
                .ok_or_else(|| DocumentError::expected(name, "a number of seconds from 0 to 86400", value))?;
            Ok(Reaction::Delay(Duration::from_secs_f64(seconds)))
        }
        "throttle" => Ok(Reaction::Throttle(integer(name, value)?)),
        "silence" => flag(Reaction::Silence),
        "move_leader" => Ok(Reaction::MoveLeader { to: integer(name, value)? }),
        "omit_partition" => Ok(Reaction::OmitPartition(integer(name, value)?)),
        "bytes" => {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            let bytes = bytes.ok_or_else(|| DocumentError::expected(name, "bytes in Base64", value))?;
            Ok(Reaction::Bytes(bytes.into()))
        }
        "corrupt_records" => flag(Reaction::CorruptRecords),
        "truncate_frame" => flag(Reaction::TruncateFrame),
        "cut" => Ok(Reaction::Cut(count(name, value)?)),
        "slow" => {
            let rate = value.as_u64().and_then(NonZeroU64::new);
            let rate = rate
                .ok_or_else(|| DocumentError::expected(name, "a number of bytes a second from 1", value))?;
            Ok(Reaction::Slow(rate))
        }
        "freeze" => flag(Reaction::Freeze),
        _ => Err(DocumentError(format!(
            "there is no {name:?}; a fault has conditions ({}), and exactly one of {}",
            CONDITIONS.join(", "),
            REACTIONS.join(", "),
        ))),
    }
}

/// Finds an API by Kafka's name.
///
/// # Errors
/// If there is no such API.
pub fn api(name: &str) -> Result<ApiKey, DocumentError> {
    let found = ApiKey::ALL.iter().find(|api| api.name() == name);
    found
        .copied()
        .ok_or_else(|| DocumentError(format!("{name:?} is not the name of an API, such as Produce or Fetch")))
}

fn error_code(name: &str, value: &Value) -> Result<ErrorCode, DocumentError> {
    let code = text_of(name, value)?;
    let found = ErrorCode::ALL.iter().copied().find(|found| found.name() == code);
    match found {
        // It would acknowledge what was never done.
        Some(ErrorCode::None) => Err(DocumentError::expected(name, "an error code other than NONE", value)),
        found => found.ok_or_else(|| DocumentError(format!("{code:?} is not the name of an error code"))),
    }
}

fn exactly_one() -> DocumentError {
    DocumentError(format!("a fault is exactly one of {}", REACTIONS.join(", ")))
}

fn text_of<'a>(name: &str, value: &'a Value) -> Result<&'a str, DocumentError> {
    value.as_str().ok_or_else(|| DocumentError::expected(name, "a string", value))
}

fn integer(name: &str, value: &Value) -> Result<i32, DocumentError> {
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
    let number = number.filter(|number| *number >= 0);
    number.ok_or_else(|| DocumentError::expected(name, "an integer from 0 to 2147483647", value))
}

fn count(name: &str, value: &Value) -> Result<u64, DocumentError> {
    value.as_u64().ok_or_else(|| DocumentError::expected(name, "an integer from 0", value))
}

/// A fault as a JSON object, which [`parse`] reads.
#[must_use]
pub fn render(fault: &Fault) -> Map<String, Value> {
    let mut fields = Map::new();
    let Match { broker, api, versions: _, client_id, topic, partition, skip } = &fault.on;
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            fields.insert(name.to_owned(), value);
        }
    };
    set("api", api.map(|api| json!(api.name())));
    set("broker", broker.map(|id| json!(id)));
    set("client_id", client_id.as_ref().map(|id| json!(id)));
    set("topic", topic.as_ref().map(|name| json!(name)));
    set("partition", partition.map(|index| json!(index)));
    set("skip", Some(json!(skip)).filter(|_| *skip > 0));
    set("times", fault.times.map(|times| json!(times)));
    let value = match &fault.then {
        Reaction::Error(code) | Reaction::ErrorAfterHandling(code) => json!(code.name()),
        Reaction::Disconnect(When::BeforeHandling) => json!("before"),
        Reaction::Disconnect(When::AfterHandling) => json!("after"),
        Reaction::Delay(delay) => json!(delay.as_secs_f64()),
        Reaction::Throttle(ms) => json!(ms),
        Reaction::MoveLeader { to } => json!(to),
        Reaction::OmitPartition(index) => json!(index),
        Reaction::Bytes(bytes) => json!(STANDARD.encode(bytes)),
        Reaction::Cut(bytes) => json!(bytes),
        Reaction::Slow(rate) => json!(rate),
        Reaction::Silence | Reaction::CorruptRecords | Reaction::TruncateFrame | Reaction::Freeze => {
            json!(true)
        }
    };
    set(fault.then.name(), Some(value));
    fields
}

/// An injected fault as a JSON object: the fault, with `id` and `hits`.
#[must_use]
pub fn render_injected(injected: &InjectedFault) -> Map<String, Value> {
    let mut fields = render(&injected.fault);
    fields.insert("id".to_owned(), json!(injected.id.0));
    fields.insert("hits".to_owned(), json!(injected.hits));
    fields
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    #[test]
    fn a_fault_is_read_as_it_is_written() {
        for text in [
            r#"{"api":"Produce","times":1,"disconnect":"after"}"#,
            r#"{"broker":2,"freeze":true}"#,
            r#"{"client_id":"a","topic":"t","partition":0,"skip":3,"error":"NOT_LEADER_OR_FOLLOWER"}"#,
            r#"{"slow":1000}"#,
            r#"{"cut":0}"#,
            r#"{"delay":0.25}"#,
            r#"{"bytes":"AAEC"}"#,
            r#"{"throttle":100}"#,
        ] {
            let written: Value = serde_json::from_str(text).unwrap();
            assert_eq!(Value::Object(render(&parse(text.as_bytes()).unwrap())), written);
        }
    }

    #[test]
    fn what_is_no_fault_is_an_error_that_says_what_is_expected() {
        for (text, expected) in [
            ("", "not JSON"),
            ("[]", "an object"),
            ("{}", "exactly one of"),
            (r#"{"silence":true,"freeze":true}"#, "exactly one of"),
            (r#"{"silence":1}"#, "silence: expected true, got 1"),
            (r#"{"sillence":true}"#, "there is no \"sillence\""),
            (r#"{"api":"Produse","silence":true}"#, "is not the name of an API"),
            (r#"{"error":"OOPS"}"#, "is not the name of an error code"),
            (r#"{"error":"NONE"}"#, "error: expected an error code other than NONE, got \"NONE\""),
            (r#"{"error_after_handling":"NONE"}"#, "other than NONE"),
            (r#"{"broker":-1,"silence":true}"#, "broker: expected an integer from 0"),
            (r#"{"delay":-1}"#, "a number of seconds"),
            (r#"{"delay":1e300}"#, "a number of seconds"),
            (r#"{"slow":0}"#, "a number of bytes a second from 1"),
            (r#"{"bytes":"*"}"#, "bytes in Base64"),
            (r#"{"disconnect":"later"}"#, "\"before\" or \"after\""),
        ] {
            let error = parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(deep.as_bytes()).unwrap_err().to_string().contains("not JSON"));
        let long = format!(r#"{{"silence":"{}"}}"#, "\u{e9}".repeat(1000));
        assert!(parse(long.as_bytes()).unwrap_err().to_string().len() < 200);
    }
}
