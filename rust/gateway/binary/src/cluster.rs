//! The configuration of the cluster behind the gateway: `-X` overrides `--config`, and an address on the command line
//! overrides both, as in all commands of `ottla`.
//!
//! Invariant: no error contains the value of a key, which may be a secret.

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use ottla_client::Config;
use ottla_client::config::{Value, read_properties};

use crate::Failure;
use crate::options::value;

const SERVERS: &str = "bootstrap.servers";
const CONTROLLERS: &str = "bootstrap.controllers";
/// The beginnings of the keys of schemas and their registries, which a file may have for other programs.
const SCHEMA_KEYS: [&str; 3] = ["schema.", "basic.auth.", "bearer.auth."];

/// Where the configuration comes from.
#[derive(Debug)]
pub(crate) struct ClusterOptions {
    file: Option<PathBuf>,
    settings: Vec<(String, String)>,
    /// The key of the address on the command line, and the address.
    address: Option<(&'static str, String)>,
}

impl ClusterOptions {
    /// Reads the options.
    pub(crate) fn new(matches: &ArgMatches) -> Result<Self, Failure> {
        let servers = value(matches, "bootstrap").or(value(matches, "brokers"));
        let address = match (servers, value(matches, "controllers")) {
            (Some(_), Some(_)) => {
                let message = "--bootstrap-controller and an address of brokers: give one of them";
                return Err(Failure::usage(message));
            }
            (Some(servers), None) => Some((SERVERS, servers.to_owned())),
            (None, Some(controllers)) => Some((CONTROLLERS, controllers.to_owned())),
            (None, None) => None,
        };
        let mut settings = Vec::new();
        for (number, pair) in (1..).zip(matches.get_many::<String>("settings").into_iter().flatten()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                Failure::usage(format!("-X: expected KEY=VALUE, but argument {number} of -X has no ="))
            })?;
            settings.push((key.trim().to_owned(), value.to_owned()));
        }
        Ok(Self { file: value(matches, "config").map(PathBuf::from), settings, address })
    }

    /// Reads the configuration, with the file as it is now.
    pub(crate) fn read(&self) -> Result<Config, Failure> {
        let mut pairs = Pairs::default();
        if let Some(path) = &self.file {
            let read = read_file(path)
                .map_err(|why| Failure::usage(format!("--config {}: {why}", path.display())))?;
            let is_own = |key: &str| !SCHEMA_KEYS.iter().any(|prefix| key.starts_with(prefix));
            pairs.0.extend(read.into_iter().filter(|(key, _)| is_own(key)));
        }
        for (key, value) in &self.settings {
            pairs.put(key, Value::Str(value.clone()));
        }
        if let Some((key, address)) = &self.address {
            pairs.put(key, Value::Str(address.clone()));
        }
        if !pairs.0.iter().any(|(key, _)| is_address(key)) {
            return Err(Failure::usage(
                "no broker address: give BOOTSTRAP or -b (host:port), or bootstrap.servers in --config",
            ));
        }
        let pairs = pairs.0.iter().map(|(key, value)| (key.as_str(), value.clone()));
        Config::from_pairs(pairs).map_err(Failure::usage)
    }
}

/// The keys in the order in which they were given.
#[derive(Default)]
struct Pairs(Vec<(String, Value)>);

impl Pairs {
    /// Sets a key in place of the value that any other name for it has, and an address in place of all others.
    fn put(&mut self, key: &str, value: Value) {
        let row = Config::row_of(key);
        self.0.retain(|(other, _)| {
            let is_same = row.is_some() && Config::row_of(other) == row;
            !(other == key || is_same || is_address(key) && is_address(other))
        });
        self.0.push((key.to_owned(), value));
    }
}

fn is_address(key: &str) -> bool {
    matches!(Config::row_of(key), Some(SERVERS | CONTROLLERS))
}

/// Reads a properties file, or a TOML file if its name ends with `.toml`.
fn read_file(path: &Path) -> Result<Vec<(String, Value)>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if path.extension().is_none_or(|extension| extension != "toml") {
        let pairs = read_properties(&text).map_err(|error| error.message().to_owned())?;
        return Ok(pairs.into_iter().map(|(key, value)| (key, Value::Str(value))).collect());
    }
    // The display of an error has the line, and with it a value.
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let mut pairs = Vec::new();
    flatten("", &table, &mut pairs)?;
    Ok(pairs)
}

/// Flattens nested tables to dotted names: in TOML, `linger.ms` is a key in a table.
fn flatten(prefix: &str, table: &toml::Table, pairs: &mut Vec<(String, Value)>) -> Result<(), String> {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        let value = match value {
            toml::Value::Table(inner) => {
                flatten(&format!("{key}."), inner, pairs)?;
                continue;
            }
            toml::Value::String(text) => Value::Str(text.clone()),
            toml::Value::Integer(number) => Value::Int(*number),
            toml::Value::Float(number) => Value::Float(*number),
            toml::Value::Boolean(truth) => Value::Bool(*truth),
            toml::Value::Array(items) => {
                let items: Option<Vec<String>> =
                    items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                Value::List(items.ok_or_else(|| format!("{key}: expected a list of texts"))?)
            }
            toml::Value::Datetime(_) => return Err(format!("{key}: no key has a time as its value")),
        };
        pairs.push((key, value));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail")]
    use super::*;

    fn keys(options: &ClusterOptions) -> Config {
        options.read().unwrap()
    }

    #[test]
    fn options_override_the_file() {
        let directory = std::env::temp_dir();
        for (name, text) in [
            ("properties", "bootstrap.servers=file:1\nclient.id=file\nlinger.ms=7\nschema.registry.url=x\n"),
            (
                "toml",
                "client.id = 'file'\nlinger.ms = 7\nbootstrap.servers = ['file:1']\nschema.registry.url = 'x'\n",
            ),
        ] {
            let path = directory.join(format!("ottla-gateway-{}.{name}", std::process::id()));
            std::fs::write(&path, text).unwrap();
            let settings = vec![("client_id".to_owned(), "x".to_owned())];
            let mut options = ClusterOptions { file: Some(path.clone()), settings, address: None };
            let config = keys(&options);
            assert_eq!(config.bootstrap_servers, ["file:1"]);
            assert_eq!((config.client_id.as_str(), config.linger.as_millis()), ("x", 7));
            options.address = Some((CONTROLLERS, "controller:1".to_owned()));
            assert_eq!(keys(&options).addresses(), ["controller:1"]);
            options.address = Some((SERVERS, "kafka:1".to_owned()));
            assert_eq!(keys(&options).addresses(), ["kafka:1"]);
            std::fs::remove_file(&path).unwrap();
            assert!(options.read().unwrap_err().message.starts_with("--config "));
        }
    }

    #[test]
    fn a_file_that_is_wrong_shows_no_value() {
        let path = std::env::temp_dir().join(format!("ottla-gateway-wrong-{}.toml", std::process::id()));
        for text in
            ["sasl.password = 'secret' more\n", "sasl.password = 1979-05-27\n", "sasl.password = [1]\n"]
        {
            std::fs::write(&path, text).unwrap();
            let options = ClusterOptions { file: Some(path.clone()), settings: Vec::new(), address: None };
            let message = options.read().unwrap_err().message;
            assert!(message.contains(".toml: ") && !message.contains("secret"), "{message}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
