//! Configurations that requests describe and alter: of topics, brokers, groups and client metrics, and log levels.
//!
//! - `key` is a key with its type and its valid values; `topic_keys`, `broker_keys`, `static_broker_keys` and
//!   `group_keys` are Kafka's keys.
//! - `topic`, `broker`, `group`, `client_metrics` and `loggers` validate one kind of resource each, and have the
//!   settings that the mock acts on.
//! - `alteration` computes values, `describe` the entries of responses.
//!
//! Invariant: only valid values are stored. A topic keeps its own, so that they end with it.

mod alteration;
mod broker;
mod broker_keys;
mod client_metrics;
mod describe;
mod group;
mod group_keys;
mod key;
mod loggers;
mod static_broker_keys;
mod topic;
mod topic_keys;

use std::collections::BTreeMap;

use ottla_protocol::ErrorCode;

pub(crate) use alteration::{Alteration, Alterations, Operation};
use alteration::{Values, not_a_list};
pub(crate) use describe::{ConfigEntry, Synonym};
use loggers::Loggers;
pub(crate) use topic::TopicConfig;

use super::{ApiError, ClusterState, ConfiguredSubscription, validate_topic_name};

/// What has a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigResource<'a> {
    Topic(&'a str),
    Broker(i32),
    /// The defaults of all brokers.
    AllBrokers,
    Loggers(i32),
    ClientMetrics(&'a str),
    Group(&'a str),
}

/// The values set for resources other than topics.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    brokers: BTreeMap<i32, Values>,
    all_brokers: Values,
    loggers: BTreeMap<i32, Loggers>,
    client_metrics: BTreeMap<String, Values>,
    groups: BTreeMap<String, Values>,
}

impl ClusterState {
    /// Alters the configuration of a resource, or only validates the change.
    pub(crate) fn alter_configs(
        &mut self,
        resource: ConfigResource<'_>,
        alterations: &Alterations<'_>,
        validate_only: bool,
    ) -> Result<(), ApiError> {
        let nothing = Values::new();
        let configs = &mut self.configs;
        match resource {
            ConfigResource::Topic(name) => return self.alter_topic(name, alterations, validate_only),
            ConfigResource::Broker(id) => {
                let before = configs.brokers.get(&id).unwrap_or(&nothing);
                let after = alterations.apply(before, broker::find_dynamic, broker::not_a_list)?;
                broker::validate(&after, true)?;
                if !validate_only {
                    store(&mut configs.brokers, id, after);
                }
            }
            ConfigResource::AllBrokers => {
                let after =
                    alterations.apply(&configs.all_brokers, broker::find_dynamic, broker::not_a_list)?;
                broker::validate(&after, false)?;
                if !validate_only {
                    configs.all_brokers = after;
                }
            }
            ConfigResource::Loggers(id) => {
                let Alterations::Incremental(alterations) = alterations else {
                    return Err(ApiError::new(ErrorCode::InvalidRequest, "Unknown resource type 8"));
                };
                return configs.loggers.entry(id).or_default().alter(alterations, validate_only);
            }
            ConfigResource::ClientMetrics(name) => {
                let before = configs.client_metrics.get(name).unwrap_or(&nothing);
                let after = alterations.apply(before, |_| None, not_a_list)?;
                client_metrics::validate(name, &after)?;
                if !validate_only {
                    store(&mut configs.client_metrics, name.to_owned(), after);
                }
            }
            ConfigResource::Group(name) => {
                let before = configs.groups.get(name).unwrap_or(&nothing);
                let after = alterations.apply(before, group::find, not_a_list)?;
                group::validate(name, &after)?;
                if !validate_only {
                    self.groups.set_config(name, group::overridden(&self.config.groups, &after));
                    store(&mut configs.groups, name.to_owned(), after);
                }
            }
        }
        Ok(())
    }

    fn alter_topic(
        &mut self,
        name: &str,
        alterations: &Alterations<'_>,
        validate_only: bool,
    ) -> Result<(), ApiError> {
        if name.is_empty() {
            let text = "Default topic resources are not allowed.";
            return Err(ApiError::new(ErrorCode::InvalidRequest, text));
        }
        let nothing = Values::new();
        let before = self.topic(name).map_or(&nothing, |topic| topic.config.values());
        let after = alterations.apply(before, topic::find, not_a_list)?;
        validate_topic_name(name)?;
        let after = TopicConfig::from_values(after)?;
        let Some(topic) = self.topics.get_mut(name) else {
            let text = format!("The topic '{name}' does not exist.");
            return Err(ApiError::new(ErrorCode::UnknownTopicOrPartition, text));
        };
        if !validate_only {
            topic.config = after;
        }
        Ok(())
    }

    /// The names of the groups with a configuration of their own.
    pub(crate) fn configured_groups(&self) -> impl Iterator<Item = &str> {
        self.configs.groups.keys().map(String::as_str)
    }

    /// The client metrics subscriptions.
    pub(crate) fn client_metrics_subscriptions(&self) -> impl Iterator<Item = ConfiguredSubscription> {
        self.configs.client_metrics.values().map(client_metrics::subscription)
    }

    /// The names of the client metrics subscriptions.
    pub(crate) fn client_metrics(&self) -> impl Iterator<Item = &str> {
        self.configs.client_metrics.keys().map(String::as_str)
    }
}

/// A resource without values has no entry.
fn store<K: Ord>(all: &mut BTreeMap<K, Values>, key: K, values: Values) {
    if values.is_empty() {
        all.remove(&key);
    } else {
        all.insert(key, values);
    }
}
