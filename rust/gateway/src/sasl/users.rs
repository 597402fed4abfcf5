//! [`Users`]: the users of a gateway, from a file with a section for each.
//!
//! ```ini
//! [alice]
//! SCRAM-SHA-512 = salt=…,stored_key=…,server_key=…,iterations=8192
//! sasl.username = orders
//! sasl.password = ${env:ORDERS_PASSWORD}
//! ```
//!
//! Invariant: no error contains a value of the file.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use ottla_client::config::Value;
use ottla_client::security::Security;
use ottla_client::security::scram::{Hash, MIN_ITERATIONS};
use ottla_client::{Config, Error, Kind};

use super::Mechanism;
use super::credential::Credential;

/// The longest file of users, in bytes.
const FILE_MAX: u64 = 64 * 1024 * 1024;

/// The users, by name.
#[derive(Debug, Default)]
pub(crate) struct Users {
    by_name: BTreeMap<String, User>,
}

/// A user.
#[derive(Debug, Default)]
struct User {
    sha256: Option<Credential>,
    sha512: Option<Credential>,
    /// How the gateway connects to brokers for this user; `None` as for itself.
    upstream: Option<Arc<Security>>,
}

impl Users {
    /// Reads the file. `cluster` is how the gateway itself connects to brokers.
    pub(super) fn read(path: &Path, cluster: &Config) -> Result<Self, Error> {
        let wrong = |why: &dyn std::fmt::Display| {
            Error::new(Kind::Config, format!("the file of users {}: {why}", path.display()))
        };
        let found = std::fs::metadata(path).map_err(|error| wrong(&error))?;
        if found.len() > FILE_MAX {
            return Err(wrong(&"it is longer than 64 MiB"));
        }
        let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
        Self::parse(&text, cluster).map_err(|(line, why)| wrong(&format_args!("line {line}: {why}")))
    }

    /// Parses the text; an error has the number of the line.
    fn parse(text: &str, cluster: &Config) -> Result<Self, (usize, String)> {
        let mut users = Self::default();
        // Not in the users, so that no output has them.
        let mut keys: BTreeMap<String, Vec<(usize, String, String)>> = BTreeMap::new();
        let mut sections: BTreeMap<String, usize> = BTreeMap::new();
        let mut current: Option<String> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let at = |why: &str| (number, why.to_owned());
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let name = rest.strip_suffix(']').filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| at("expected the name of a user in brackets"))?;
                if users.by_name.insert(name.to_owned(), User::default()).is_some() {
                    return Err(at("this user has a section already"));
                }
                sections.insert(name.to_owned(), number);
                current = Some(name.to_owned());
                continue;
            }
            let user = current.as_ref().and_then(|name| Some((name, users.by_name.get_mut(name)?)));
            let (name, user) = user.ok_or_else(|| at("expected the name of a user in brackets first"))?;
            let (key, value) = line.split_once('=').ok_or_else(|| at("expected KEY = VALUE"))?;
            let (key, value) = (key.trim(), value.trim());
            match key {
                "SCRAM-SHA-256" => user.sha256 = Some(Credential::parse(Hash::Sha256, value).map_err(at)?),
                "SCRAM-SHA-512" => user.sha512 = Some(Credential::parse(Hash::Sha512, value).map_err(at)?),
                _ if key.starts_with("sasl.") => {
                    let value = resolved(value).map_err(|why| at(&why))?;
                    keys.entry(name.clone()).or_default().push((number, key.to_owned(), value));
                }
                _ => return Err(at("expected SCRAM-SHA-256, SCRAM-SHA-512 or a key that begins with sasl.")),
            }
        }
        for (name, user) in &mut users.by_name {
            if user.sha256.is_none() && user.sha512.is_none() {
                let line = sections.get(name).copied().unwrap_or(0);
                return Err((line, "the user has neither SCRAM-SHA-256 nor SCRAM-SHA-512".to_owned()));
            }
            if let Some(keys) = keys.get(name) {
                user.upstream = Some(upstream(keys, cluster)?);
            }
        }
        Ok(users)
    }

    /// The mechanisms of which a user has a credential.
    pub(super) fn has(&self, mechanism: Mechanism) -> bool {
        self.by_name.values().any(|user| user.credential(mechanism).is_some())
    }

    /// The credential of a user for a mechanism.
    pub(super) fn credential(&self, name: &str, mechanism: Mechanism) -> Option<&Credential> {
        self.by_name.get(name)?.credential(mechanism)
    }

    /// The iterations of most users' credentials, for those that do not exist.
    pub(super) fn usual_iterations(&self, mechanism: Mechanism) -> NonZeroU32 {
        let first = self.by_name.values().find_map(|user| user.credential(mechanism));
        let least = NonZeroU32::new(MIN_ITERATIONS).unwrap_or(NonZeroU32::MIN);
        first.map_or(least, |credential| credential.iterations)
    }

    /// How the gateway connects to brokers for a user, `None` inside as for itself; `None` if there is no such user.
    pub(super) fn upstream(&self, name: &str) -> Option<Option<Arc<Security>>> {
        self.by_name.get(name).map(|user| user.upstream.clone())
    }
}

impl User {
    fn credential(&self, mechanism: Mechanism) -> Option<&Credential> {
        match mechanism {
            Mechanism::ScramSha256 => self.sha256.as_ref(),
            Mechanism::ScramSha512 => self.sha512.as_ref(),
            Mechanism::Plain => self.sha256.as_ref().or(self.sha512.as_ref()),
        }
    }
}

/// The settings of the cluster with a user's own credentials.
fn upstream(keys: &[(usize, String, String)], cluster: &Config) -> Result<Arc<Security>, (usize, String)> {
    let first = keys.first().map_or(0, |(line, ..)| *line);
    if !cluster.security_protocol.has_sasl() {
        let why = "the connections to the cluster do not use SASL: set security.protocol=SASL_SSL (-X)";
        return Err((first, why.to_owned()));
    }
    let mut config = cluster.clone();
    for (line, key, value) in keys {
        // The error of a key may repeat its value.
        config
            .set(key, &Value::Str(value.clone()))
            .map_err(|_| (*line, format!("{key} cannot have this value, or is unknown")))?;
    }
    let security = Security::from_config(&config);
    security.map(Arc::new).map_err(|error| {
        // It may name the value that is wrong.
        let values = keys.iter().map(|(_, _, value)| value).filter(|value| !value.is_empty());
        let why = values.fold(error.message().to_owned(), |why, value| why.replace(value, "…"));
        (first, why)
    })
}

/// The value, or what it refers to: `${env:NAME}`, or `${file:PATH}` for the first line of a file.
fn resolved(value: &str) -> Result<String, String> {
    let Some(reference) = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return Ok(value.to_owned());
    };
    match reference.split_once(':') {
        Some(("env", name)) => std::env::var(name)
            .map_err(|_| format!("the environment variable {name} is not set, or not UTF-8")),
        Some(("file", path)) => {
            let text = std::fs::read_to_string(path).map_err(|error| format!("the file {path}: {error}"))?;
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
        _ => Err("expected ${env:NAME} or ${file:PATH}".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;
    use base64::Engine as _;

    fn credential() -> String {
        let key = base64::engine::general_purpose::STANDARD.encode([7; 32]);
        format!("salt=c2FsdA==,stored_key={key},server_key={key},iterations=4096")
    }

    fn config(protocol: &str) -> Config {
        let pairs = [
            ("bootstrap.servers", "kafka:1"),
            ("security.protocol", protocol),
            ("sasl.mechanism", "PLAIN"),
            ("sasl.username", "gateway"),
            ("sasl.password", "of-gateway"),
        ];
        Config::from_pairs(pairs.map(|(key, value)| (key, Value::from(value)))).unwrap()
    }

    #[test]
    fn a_user_acts_as_another_one_on_the_brokers() {
        let credential = credential();
        let text = format!(
            "# users\n[alice]\nSCRAM-SHA-256 = {credential}\n\n[bob]\nSCRAM-SHA-256={credential}\nsasl.username = orders\nsasl.password = of-orders\n"
        );
        let users = Users::parse(&text, &config("SASL_PLAINTEXT")).unwrap();
        assert!(users.upstream("alice").is_some_and(|own| own.is_none()));
        assert!(users.upstream("bob").is_some_and(|own| own.is_some()));
        assert!(users.upstream("eve").is_none());
        assert!(
            users.has(Mechanism::Plain)
                && users.has(Mechanism::ScramSha256)
                && !users.has(Mechanism::ScramSha512)
        );
        assert!(!format!("{users:?}").contains("of-"), "{users:?}");
    }

    #[test]
    fn errors_name_the_line_and_no_value() {
        let credential = credential();
        let section = format!("[alice]\nSCRAM-SHA-256 = {credential}\n");
        for (text, line, part) in [
            ("SCRAM-SHA-256 = secret".to_owned(), 1, "brackets first"),
            ("[alice\n".to_owned(), 1, "in brackets"),
            ("[alice]\n".to_owned(), 1, "neither"),
            ("[alice]\nsecret\n".to_owned(), 2, "KEY = VALUE"),
            ("[alice]\nSCRAM-SHA-256 = secret\n".to_owned(), 2, "expected salt"),
            (format!("[alice]\nSCRAM-SHA-512 = {credential}\n"), 2, "stored_key"),
            (format!("[alice]\nSCRAM-SHA-256 = {}\n", credential.replace("4096", "1")), 2, "iterations"),
            (format!("[alice]\nSCRAM-SHA-256 = {credential},secret=1\n"), 2, "none of salt"),
            (format!("{section}{section}"), 3, "section already"),
            (format!("{section}password = secret\n"), 3, "begins with sasl."),
            (format!("{section}sasl.secret = secret\n"), 3, "unknown"),
            (format!("{section}sasl.mechanism = secret\n"), 3, "expected one of"),
            (format!("{section}sasl.password = ${{env:OTTLA_NO_SUCH_NAME}}\n"), 3, "is not set"),
            (format!("{section}sasl.password = ${{file:/no/such}}\n"), 3, "/no/such"),
            (format!("{section}sasl.password = ${{vault:secret}}\n"), 3, "expected ${env"),
        ] {
            let (found, why) = Users::parse(&text, &config("SASL_SSL")).unwrap_err();
            assert!(found == line && why.contains(part), "{text}: {found} {why}");
            assert!(part == "unknown" || !why.contains("secret"), "{why}");
        }
        let text = format!("{section}sasl.username = u\n");
        let (_, why) = Users::parse(&text, &config("SSL")).unwrap_err();
        assert!(why.contains("security.protocol=SASL_SSL"), "{why}");
    }
}
