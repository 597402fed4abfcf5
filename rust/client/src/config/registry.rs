//! The configuration of a schema registry: Confluent's names, with or without the prefix
//! `schema.registry.`, in a table of its own.
//!
//! Invariants: an unknown key is an error that names the closest key; keys about TLS are those of a client,
//! with the prefix, and mean the same; no message contains the value of a secret.

use std::fmt;
use std::time::Duration;

use super::apicurio::ApicurioUseId;
use super::nearest::nearest_key;
use super::rows::{INT, config_table, ms};
use super::value::ConfigType;
use super::{Config, Value};
use crate::error::{Error, Kind, Result};
use crate::secret::Secret;

/// The prefix of a registry's keys.
pub const REGISTRY_PREFIX: &str = "schema.registry.";

config_table! {
    /// The configuration of a schema registry.
    RegistryConfig, ROW_NAMES,
    with ssl: Config = Config::default(), "The keys about TLS: those of a client, of which only `ssl.…` are used.";

    url: RegistryUrls = RegistryUrls::default(), "schema.registry.url", (0, 0), "Address of the schema registry (https://host:port/path). With several, the next one is tried when one fails. It may contain user:password@, percent-encoded.";
    basic_auth_user_info: Secret = Secret::default(), "basic.auth.user.info", (0, 0), "User and password for HTTP Basic authentication, as user:password; in Confluent Cloud an API key and its secret.";
    bearer_auth_token: Secret = Secret::default(), "bearer.auth.token", (0, 0), "Token for HTTP Bearer authentication.";
    proxy_url: Secret = Secret::default(), "schema.registry.proxy.url", (0, 0), "Proxy for the schema registry: socks5h://host:port or http://host:port (CONNECT), with user:password@ before the host, percent-encoded, if it asks for them. Empty or none: no proxy; the brokers' proxy.url is not used.";
    request_timeout: Duration = ms(10_000), "schema.registry.request.timeout.ms", (1, INT), "Time to wait for a response before the next address is tried, or the same one again.";
    default_api_timeout: Duration = ms(30_000), "schema.registry.default.api.timeout.ms", (1, INT), "Time limit of calls that are made without a timeout.";
    retry_backoff: Duration = ms(100), "schema.registry.retry.backoff.ms", (0, INT), "Wait before a failed request is retried; doubles with each failure.";
    retry_backoff_max: Duration = ms(1_000), "schema.registry.retry.backoff.max.ms", (0, INT), "Upper limit of that wait. A look-up that failed for good, as for an id that does not exist, is not repeated for this long.";
    cache_capacity: usize = 1_000, "schema.registry.cache.capacity", (1, INT), "Schemas to keep in memory; the least recently used ones are dropped.";
    cache_max_bytes: usize = 67_108_864, "schema.registry.cache.max.bytes", (0, i64::MAX), "Bytes of schemas to keep in memory.";
    latest_cache_ttl: Duration = ms(60_000), "schema.registry.latest.cache.ttl.ms", (0, INT), "Time for which the latest schema of a subject is not looked up again. Schemas by id do not expire.";
    response_max: usize = 16_777_216, "schema.registry.response.max.bytes", (1_000, INT), "Largest response that is accepted.";
    ignored_rules: Vec<String> = Vec::new(), "schema.registry.ignored.rules", (0, 0), "Rules of data contracts, by name, without which values are right. No rule is applied, so reading or writing with a schema whose rules are needed for it, such as encrypted fields, is otherwise an error that names the rule.";
    apicurio_use_id: Option<ApicurioUseId> = None, "schema.registry.apicurio.use.id", (0, 0), "With the wire format apicurio, which ids the records have: what apicurio.registry.use-id is set to for Apicurio's serializers. Their default is contentId in version 3 and globalId in version 2. There is no default here: an id of the other kind is mostly that of another schema.";
}

/// Keys of Confluent's clients that name the source of the credentials, and the sources that this client has:
/// the keys themselves.
const SOURCES: [(&str, &[&str], &str); 2] = [
    (
        "basic.auth.credentials.source",
        &["USER_INFO", "URL"],
        "set basic.auth.user.info, or write user:password@ into schema.registry.url",
    ),
    ("bearer.auth.credentials.source", &["STATIC_TOKEN"], "set bearer.auth.token"),
];

/// Addresses, which may contain passwords. `Debug` hides those that do.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RegistryUrls(Vec<String>);

impl RegistryUrls {
    /// The addresses, which are never to be printed.
    #[must_use]
    pub fn expose(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Debug for RegistryUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|url| if url.contains('@') { "<hidden>" } else { url });
        f.debug_list().entries(shown).finish()
    }
}

impl ConfigType for RegistryUrls {
    const TYPE: &'static str = Vec::<String>::TYPE;
    fn parse(value: &Value, bounds: (i64, i64)) -> Result<Self, String> {
        Vec::parse(value, bounds).map(Self)
    }
    fn to_text(&self) -> String {
        // Only defaults are printed, and there is none.
        String::new()
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(Kind::Config, message)
}

impl RegistryConfig {
    /// Applies `pairs` to the defaults. Names are dotted or have underscores; the last value of a name wins.
    ///
    /// # Errors
    /// An unknown key, with the closest one, or an invalid value.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Self> {
        let mut config = Self::default();
        for (name, value) in pairs {
            config.set(name, &value)?;
        }
        Ok(config)
    }

    /// Sets one key.
    ///
    /// # Errors
    /// An unknown key, with the closest one, or an invalid value.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let dotted = name.replace('_', ".");
        let bare = dotted.strip_prefix(REGISTRY_PREFIX).unwrap_or(&dotted);
        if let Some((key, sources, instead)) = SOURCES.iter().find(|(key, ..)| *key == bare) {
            let is_known = matches!(value, Value::Str(text)
                if sources.iter().any(|source| text.trim().eq_ignore_ascii_case(source)));
            return if is_known { Ok(()) } else { Err(invalid(format!("{key}: {instead}"))) };
        }
        if bare.starts_with("ssl.")
            && let Some(row) = Config::row_of(bare)
            && row.starts_with("ssl.")
        {
            let set = self.ssl.set(bare, value);
            return set.map_err(|error| {
                let message = format!("{REGISTRY_PREFIX}{}", error.message());
                error.with_message(message)
            });
        }
        let row = [bare.to_owned(), format!("{REGISTRY_PREFIX}{bare}")];
        let Some(row) = row.into_iter().find(|row| ROW_NAMES.contains(&row.as_str())) else {
            return Err(unknown(name, &dotted, bare));
        };
        let secret = Self::rows().iter().any(|it| it.name == row && it.secret);
        match self.set_row(&row, value) {
            Some(Err(why)) => Err(invalid(format!("{row}={}: {why}", value.display(secret)))),
            _ => Ok(()),
        }
    }
}

/// The error for an unknown key.
fn unknown(name: &str, dotted: &str, bare: &str) -> Error {
    let tls = Config::rows().into_iter().map(|row| row.name).filter(|name| name.starts_with("ssl."));
    let tls: Vec<String> = tls.map(|name| format!("{REGISTRY_PREFIX}{name}")).collect();
    let known = || ROW_NAMES.iter().copied().chain(tls.iter().map(String::as_str));
    let prefixed = format!("{REGISTRY_PREFIX}{bare}");
    let near = nearest_key(dotted, known()).or_else(|| nearest_key(&prefixed, known()));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    invalid(format!("unknown configuration key {name:?} of a schema registry{hint}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Result<RegistryConfig> {
        RegistryConfig::from_pairs(pairs.iter().map(|(name, value)| (*name, Value::from(*value))))
    }

    #[test]
    fn names_may_have_the_prefix_underscores_or_neither() {
        for name in ["schema.registry.url", "schema_registry_url", "url"] {
            assert_eq!(
                config(&[(name, "http://a,http://b")]).unwrap().url.expose(),
                ["http://a", "http://b"]
            );
        }
        for name in ["basic.auth.user.info", "schema.registry.basic.auth.user.info", "basic_auth_user_info"] {
            assert_eq!(config(&[(name, "a:b")]).unwrap().basic_auth_user_info, Secret::new("a:b"));
        }
        for name in ["schema.registry.ssl.truststore.location", "ssl.ca.location"] {
            assert_eq!(config(&[(name, "/ca.pem")]).unwrap().ssl.ssl_truststore_location, "/ca.pem");
        }
        assert!(config(&[("basic.auth.credentials.source", "USER_INFO")]).is_ok());
    }

    #[test]
    fn mistakes_name_the_key_and_hide_secrets() {
        let cases = [
            ("basic.auth.user.inf", "x", "did you mean basic.auth.user.info?"),
            (
                "schema.registry.ssl.truststore.locatio",
                "x",
                "did you mean schema.registry.ssl.truststore.location?",
            ),
            ("cache.capacityy", "x", "did you mean schema.registry.cache.capacity?"),
            ("cache", "x", "did you mean schema.registry.cache.capacity?"),
            ("linger.ms", "5", "unknown configuration key \"linger.ms\" of a schema registry"),
            ("apicurio.use.id", "guid", "expected contentId or globalId"),
            ("cache.capacity", "none", "schema.registry.cache.capacity=\"none\": expected a whole number"),
            ("basic.auth.credentials.source", "SASL_INHERIT", "set basic.auth.user.info"),
        ];
        for (name, value, expected) in cases {
            let error = config(&[(name, value)]).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
        let pairs = [("basic.auth.user.info", Value::Int(4711))];
        let error = RegistryConfig::from_pairs(pairs).unwrap_err();
        assert!(!error.to_string().contains("4711"), "{error}");
        let pairs = [("url", "http://me:hunter2@host"), ("bearer.auth.token", "hunter2")];
        let shown = format!("{:?}", config(&pairs).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
