//! The entries of a described configuration: values in effect, and the places that they may come from.
//!
//! Invariant: the first synonym of an entry is the place that its value comes from; values of secret and unknown
//! keys are never shown.

use super::broker::{default_of, fallbacks, find_dynamic};
use super::broker_keys::DYNAMIC_KEYS;
use super::client_metrics::CLIENT_METRICS_KEYS;
use super::group_keys::GROUP_KEYS;
use super::key::{ConfigKey, ConfigType};
use super::static_broker_keys::STATIC_KEYS;
use super::topic_keys::TOPIC_KEYS;
use super::{TopicConfig, Values};
use crate::state::ClusterState;

/// Where a value is set, with its code in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigSource {
    Topic = 1,
    Broker = 2,
    AllBrokers = 3,
    StaticBroker = 4,
    Default = 5,
    Loggers = 6,
    ClientMetrics = 7,
    Group = 8,
}

/// A place that a value may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Synonym {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    pub(crate) source: ConfigSource,
}

/// A key with its value in effect.
#[derive(Debug, Clone)]
pub(crate) struct ConfigEntry {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
    pub(crate) source: ConfigSource,
    /// The type; `None` of unknown keys and loggers.
    pub(crate) kind: Option<ConfigType>,
    pub(crate) is_read_only: bool,
    pub(crate) is_sensitive: bool,
    pub(crate) synonyms: Vec<Synonym>,
}

impl ClusterState {
    /// The configuration of a topic, as a broker describes it.
    pub(crate) fn describe_topic_config(&self, topic: &TopicConfig, broker: i32) -> Vec<ConfigEntry> {
        let entry = |key: &'static ConfigKey| {
            let value = self.topic_value(topic, broker, key);
            let mut synonyms = key.synonym.map_or_else(Vec::new, |name| self.broker_synonyms(broker, name));
            if topic.values().contains_key(key.name) {
                let value = value.clone();
                synonyms.insert(0, Synonym { name: key.name.to_owned(), value, source: ConfigSource::Topic });
            }
            entry_of(key, value, synonyms)
        };
        TOPIC_KEYS.iter().map(entry).collect()
    }

    /// The configuration of a broker.
    pub(crate) fn describe_broker_config(&self, broker: i32) -> Vec<ConfigEntry> {
        let altered = [self.configs.brokers.get(&broker), Some(&self.configs.all_brokers)];
        let known = DYNAMIC_KEYS.iter().map(|key| key.name).chain(STATIC_KEYS.iter().map(|(name, ..)| *name));
        let mut names: Vec<&str> = known.collect();
        names.extend(altered.into_iter().flatten().flat_map(Values::keys).map(String::as_str));
        names.sort_unstable();
        names.dedup();
        let entry = |name: &str| {
            let value = self.broker_value(broker, name);
            broker_entry(name, value, self.broker_synonyms(broker, name))
        };
        names.into_iter().map(entry).collect()
    }

    /// The defaults of all brokers that are set.
    pub(crate) fn describe_all_brokers_config(&self) -> Vec<ConfigEntry> {
        let entry = |(name, value): (&String, &String)| {
            let synonym =
                Synonym { name: name.clone(), value: Some(value.clone()), source: ConfigSource::AllBrokers };
            broker_entry(name, Some(value.clone()), vec![synonym])
        };
        self.configs.all_brokers.iter().map(entry).collect()
    }

    /// The configuration of a group, whether or not it exists.
    pub(crate) fn describe_group_config(&self, group: &str, broker: i32) -> Vec<ConfigEntry> {
        let set = self.configs.groups.get(group);
        let entry = |key: &'static ConfigKey| {
            let mut synonyms = match key.synonym {
                Some(name) => self.broker_synonyms(broker, name),
                None => vec![default_synonym(key)],
            };
            if let Some(value) = set.and_then(|values| values.get(key.name)) {
                let value = key.parse(value).ok().map(std::borrow::Cow::into_owned);
                synonyms.insert(0, Synonym { name: key.name.to_owned(), value, source: ConfigSource::Group });
            }
            let value = synonyms.first().and_then(|synonym| synonym.value.clone());
            entry_of(key, value, synonyms)
        };
        GROUP_KEYS.iter().map(entry).collect()
    }

    /// The configuration of a client metrics subscription, whether or not it exists.
    pub(crate) fn describe_client_metrics(&self, name: &str) -> Vec<ConfigEntry> {
        let set = self.configs.client_metrics.get(name);
        let entry = |key: &'static ConfigKey| match set.and_then(|values| values.get(key.name)) {
            None => entry_of(key, key.default.map(str::to_owned), Vec::new()),
            Some(value) => {
                let (name, value) = (key.name.to_owned(), Some(value.clone()));
                let synonym = Synonym { name, value: value.clone(), source: ConfigSource::ClientMetrics };
                entry_of(key, value, vec![synonym])
            }
        };
        CLIENT_METRICS_KEYS.iter().map(entry).collect()
    }

    /// The log levels of a broker.
    pub(crate) fn describe_loggers(&self, broker: i32) -> Vec<ConfigEntry> {
        let defaults = super::Loggers::default();
        let loggers = self.configs.loggers.get(&broker).unwrap_or(&defaults);
        let entry = |(name, level): (&str, &str)| ConfigEntry {
            name: name.to_owned(),
            value: Some(level.to_owned()),
            source: ConfigSource::Loggers,
            kind: None,
            is_read_only: false,
            is_sensitive: false,
            synonyms: Vec::new(),
        };
        loggers.all().map(entry).collect()
    }

    /// The places that the value of a broker's key may come from, the one in effect first.
    fn broker_synonyms(&self, broker: i32, name: &str) -> Vec<Synonym> {
        let names = fallbacks(name);
        let is_hidden = is_sensitive(name);
        let mut synonyms = Vec::new();
        let mut add = |source: ConfigSource, value_of: &dyn Fn(&str) -> Option<String>| {
            for name in &names {
                if let Some(value) = value_of(name) {
                    let value = (!is_hidden).then_some(value);
                    synonyms.push(Synonym { name: (*name).to_owned(), value, source });
                }
            }
        };
        let own = self.configs.brokers.get(&broker);
        add(ConfigSource::Broker, &|name| own?.get(name).cloned());
        add(ConfigSource::AllBrokers, &|name| self.configs.all_brokers.get(name).cloned());
        add(ConfigSource::StaticBroker, &|name| self.static_value(broker, name));
        add(ConfigSource::Default, &|name| default_of(name).map(str::to_owned));
        let first = synonyms.iter().position(|synonym| synonym.name == name).unwrap_or(synonyms.len());
        synonyms.split_off(first)
    }
}

fn entry_of(key: &ConfigKey, value: Option<String>, synonyms: Vec<Synonym>) -> ConfigEntry {
    ConfigEntry {
        name: key.name.to_owned(),
        value: value.filter(|_| !key.is_sensitive()),
        source: source_of(&synonyms),
        kind: Some(key.kind),
        is_read_only: false,
        is_sensitive: key.is_sensitive(),
        synonyms,
    }
}

fn broker_entry(name: &str, value: Option<String>, mut synonyms: Vec<Synonym>) -> ConfigEntry {
    let is_sensitive = is_sensitive(name);
    if is_sensitive {
        synonyms.iter_mut().for_each(|synonym| synonym.value = None);
    }
    let shown = |value: String| match find_dynamic(name) {
        Some(key) => key.parse(&value).map(std::borrow::Cow::into_owned).unwrap_or(value),
        None => value,
    };
    ConfigEntry {
        name: name.to_owned(),
        value: value.filter(|_| !is_sensitive).map(shown),
        source: source_of(&synonyms),
        kind: kind_of(name),
        is_read_only: find_dynamic(name).is_none(),
        is_sensitive,
        synonyms,
    }
}

fn source_of(synonyms: &[Synonym]) -> ConfigSource {
    synonyms.first().map_or(ConfigSource::Default, |synonym| synonym.source)
}

fn kind_of(name: &str) -> Option<ConfigType> {
    let fixed = || STATIC_KEYS.iter().find(|(key, ..)| *key == name).map(|(_, kind, _)| *kind);
    find_dynamic(name).map(|key| key.kind).or_else(fixed)
}

/// Whether the value of a broker's key is never shown.
fn is_sensitive(name: &str) -> bool {
    kind_of(name).is_none_or(|kind| kind == ConfigType::Password)
}

fn default_synonym(key: &ConfigKey) -> Synonym {
    let (name, value) = (key.name.to_owned(), key.default.map(str::to_owned));
    Synonym { name, value, source: ConfigSource::Default }
}
