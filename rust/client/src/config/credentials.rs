//! Credentials in addresses (`user:password@host`), which Kafka's addresses do not have.
//!
//! Invariant: they are refused when the key is set, before anything prints the address, and no error shows
//! any part of it.

use super::Value;

const ADDRESSES: &str = "write host:port alone, and set sasl.username and sasl.password, with sasl.mechanism and security.protocol";

/// The keys with addresses, and what to set in place of credentials in them.
const KEYS: [(&str, &str); 3] = [
    ("bootstrap.servers", ADDRESSES),
    ("bootstrap.controllers", ADDRESSES),
    (
        "sasl.oauthbearer.token.endpoint.url",
        "write https://host/path without user and password, and set sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret",
    ),
];

/// What is wrong with an address that contains credentials; `None` if it contains none.
pub(super) fn refusal(row: &str, value: &Value) -> Option<String> {
    let (key, instead) = KEYS.iter().find(|(key, _)| *key == row)?;
    let has_credentials = |text: &String| match *key {
        // A password may contain the comma that separates the addresses, so that they are not split first.
        "bootstrap.servers" | "bootstrap.controllers" => text.contains('@'),
        _ => authority(text).contains('@'),
    };
    let contains = match value {
        Value::Str(text) => has_credentials(text),
        Value::List(items) => items.iter().any(has_credentials),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => false,
    };
    contains
        .then(|| format!("{key} contains credentials (user:password@host), which are not shown: {instead}"))
}

/// What is before the path of a URL.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}
