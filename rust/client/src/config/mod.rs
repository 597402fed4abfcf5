//! The configuration: one row per key, by Kafka's dotted name (`table.rs`; of a schema registry, `registry.rs`; of schemas,
//! `schema_limits.rs`; `rows.rs` makes a configuration of its rows). Keys of other clients are aliases of a row, or errors that say
//! what to use instead (`other_clients.rs`).
//!
//! Invariants: an unknown key or an invalid value is an error that names the closest key or the expected
//! type; nothing is ignored silently; two names of one row may not have different values.

mod acks;
#[cfg(feature = "arrow")]
mod apicurio;
mod cluster;
mod consumer;
mod credentials;
mod group;
mod nearest;
mod other_clients;
mod partitioner;
mod properties;
#[cfg(feature = "arrow")]
mod registry;
mod resolved_keys;
mod rows;
#[cfg(feature = "arrow")]
mod schema_limits;
mod security;
mod table;
mod value;

pub use acks::Acks;
#[cfg(feature = "arrow")]
pub use apicurio::ApicurioUseId;
pub use cluster::{DnsLookup, MetadataRecovery};
pub use consumer::{AutoOffsetReset, IsolationLevel, ShareAcknowledgementMode, ShareAcquireMode};
pub use group::{AssignmentStrategy, GroupProtocol};
pub use other_clients::{Mapping, OTHER_CLIENT_KEYS, OtherClientKey};
pub use partitioner::Partitioner;
pub use properties::read_properties;
#[cfg(feature = "arrow")]
pub use registry::{REGISTRY_PREFIX, RegistryConfig, RegistryUrls};
pub use rows::Row;
#[cfg(feature = "arrow")]
pub use schema_limits::SchemaLimitsConfig;
pub use security::SecurityProtocol;
pub use table::{Config, rows};
pub use value::Value;

use std::net::IpAddr;

use resolved_keys::{ResolvedKey, ResolvedKeys, unknown};

use crate::endpoint::Endpoint;
use crate::error::{Error, Kind, Result};
use crate::names::check_name;

/// Keys that are errors with the group protocol of KIP-848, as in Java.
const CLASSIC_ONLY: [&str; 3] =
    ["partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"];

impl Config {
    /// Applies `pairs` to the defaults and checks the result. Names are dotted (`linger.ms`) or have
    /// underscores, as keyword arguments do (`linger_ms`); the last value of a name wins.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Self> {
        let mut config = Self::default();
        let (mut delivery_timeout_set, mut idempotence_set) = (false, false);
        let (mut batch_size_set, mut batch_max_size_set) = (false, false);
        let mut classic_only = None;
        let mut resolved = ResolvedKeys::default();
        for (name, value) in pairs {
            let Some(key) = ResolvedKey::resolve(name, value)? else { continue };
            config.set_key(&key)?;
            let row = key.row.as_str();
            classic_only = classic_only.or(CLASSIC_ONLY.into_iter().find(|only| *only == row));
            delivery_timeout_set |= row == "delivery.timeout.ms";
            idempotence_set |= row == "enable.idempotence";
            batch_size_set |= row == "batch.size";
            batch_max_size_set |= row == "batch.max.size";
            resolved.add(key);
        }
        resolved.check()?;
        if !delivery_timeout_set {
            // As in Java, the default adapts to the other keys.
            config.delivery_timeout = config.delivery_timeout.max(config.linger + config.request_timeout);
        }
        match (batch_size_set, batch_max_size_set) {
            (true, false) => config.batch_max_size = config.batch_size,
            (false, true) => config.batch_size = config.batch_size.min(config.batch_max_size),
            _ => {}
        }
        if !idempotence_set
            && config.transactional_id.is_empty()
            && let Some(why) = config.idempotence_conflict()
        {
            // As in Java, what was set wins over a default; here it is logged too.
            tracing::info!(target: "ottla.config", why, "enable.idempotence is off");
            config.enable_idempotence = false;
        }
        if config.group_protocol == GroupProtocol::Consumer
            && let Some(only) = classic_only
        {
            let message = format!(
                "{only} cannot be set with group.protocol=consumer, because the brokers decide it: remove it, or set group.protocol=classic"
            );
            return Err(Error::new(Kind::Config, message));
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one key.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        ResolvedKey::resolve(name, value.clone())?.map_or(Ok(()), |key| self.set_key(&key))
    }

    /// The dotted name of the row that a key sets, whichever client's name it is; `None` if it sets none.
    #[must_use]
    pub fn row_of(name: &str) -> Option<&'static str> {
        let dotted = name.replace('_', ".");
        let alias = || other_clients::find(&dotted).and_then(OtherClientKey::row);
        table::row_name(&dotted).or_else(alias)
    }

    /// Checks that a key is known, before its value is looked at.
    ///
    /// # Errors
    /// An unknown key, with the closest one or with what to use instead.
    pub fn check_key(name: &str) -> Result<()> {
        let dotted = name.replace('_', ".");
        let is_known = match other_clients::find(&dotted) {
            Some(key) => !matches!(key.mapping, Mapping::Unsupported(_)),
            None => table::is_ignored(&dotted) || table::row_name(&dotted).is_some(),
        };
        if is_known { Ok(()) } else { Err(unknown(name, &dotted)) }
    }

    fn set_key(&mut self, key: &ResolvedKey) -> Result<()> {
        if let Some(why) = credentials::refusal(&key.row, &key.value) {
            return Err(Error::new(Kind::Config, why));
        }
        match self.set_row(&key.row, &key.value) {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => Err(key.invalid(&why)),
            None => Err(unknown(&key.name, &key.row)),
        }
    }

    /// The requirement of idempotence that the configuration does not meet, if any.
    fn idempotence_conflict(&self) -> Option<&'static str> {
        if self.acks != Acks::All {
            return Some("it needs acks=all");
        }
        if self.retries == 0 {
            return Some("it needs retries above 0");
        }
        (self.max_in_flight > 5).then_some("it needs max.in.flight.requests.per.connection of at most 5")
    }

    /// Checks that a producer with a transactional id of its own can be created.
    pub(crate) fn check_transactions(&self) -> Result<()> {
        let why = match self.idempotence_conflict() {
            Some(why) => why,
            None if !self.enable_idempotence => "it needs enable.idempotence=true",
            None => return Ok(()),
        };
        Err(Error::new(Kind::Config, format!("transactional.id: {why}")))
    }

    /// Whether the client talks to KRaft controllers and not to brokers (KIP-919).
    #[must_use]
    pub fn has_controllers(&self) -> bool {
        !self.bootstrap_controllers.is_empty()
    }

    /// The addresses to bootstrap from: of brokers or of controllers.
    #[must_use]
    pub fn addresses(&self) -> &[String] {
        if self.has_controllers() { &self.bootstrap_controllers } else { &self.bootstrap_servers }
    }

    /// Refuses controllers to what needs brokers.
    pub fn check_brokers(&self, what: &str) -> Result<()> {
        match self.has_controllers() {
            false => Ok(()),
            true => Err(Error::new(
                Kind::Config,
                format!("bootstrap.controllers: {what} needs brokers: use bootstrap.servers"),
            )),
        }
    }

    /// Checks combinations of keys.
    fn check(&self) -> Result<()> {
        let invalid = |message: String| Err(Error::new(Kind::Config, message));
        if self.has_controllers() && !self.bootstrap_servers.is_empty() {
            return invalid("you cannot set both bootstrap.servers and bootstrap.controllers".to_owned());
        }
        for (key, name) in [
            ("group.id", &self.group_id),
            ("group.instance.id", &self.group_instance_id),
            ("transactional.id", &self.transactional_id),
            ("client.id", &self.client_id),
            ("client.rack", &self.client_rack),
        ] {
            check_name(key, name)?;
        }
        if self.enable_idempotence
            && let Some(why) = self.idempotence_conflict()
        {
            let key =
                if self.transactional_id.is_empty() { "enable.idempotence=true" } else { "transactional.id" };
            return invalid(format!("{key}: {why}"));
        }
        if !self.transactional_id.is_empty() && !self.enable_idempotence {
            return invalid("transactional.id needs enable.idempotence=true".to_owned());
        }
        if self.delivery_timeout < self.linger + self.request_timeout {
            return invalid(format!(
                "delivery.timeout.ms ({}) must be at least linger.ms + request.timeout.ms ({})",
                self.delivery_timeout.as_millis(),
                (self.linger + self.request_timeout).as_millis()
            ));
        }
        if self.batch_max_size < self.batch_size {
            return invalid(format!(
                "batch.max.size ({}) must be at least batch.size ({})",
                self.batch_max_size, self.batch_size
            ));
        }
        if self.partitioner_ignore_keys
            && self.partitioner != Partitioner::Default
            && self.partitioner.uses_keys()
        {
            return invalid(
                "partitioner.ignore.keys=true works with the default partitioner only: remove partitioner.class"
                    .to_owned(),
            );
        }
        if self.partitioner_rack_aware && self.client_rack.is_empty() {
            // No error, as in Java.
            tracing::warn!(target: "ottla.config", "partitioner.rack.aware=true has no effect without client.rack");
        }
        self.warn_about_plaintext();
        Ok(())
    }

    /// Warns about credentials that anyone on the path to the brokers can read.
    fn warn_about_plaintext(&self) {
        let mechanism = self.sasl_mechanism.as_str();
        let is_readable = matches!(mechanism, "PLAIN" | "OAUTHBEARER");
        let leaves_host = self.addresses().iter().any(|server| !is_loopback(server));
        if self.security_protocol == SecurityProtocol::SaslPlaintext && is_readable && leaves_host {
            tracing::warn!(
                target: "ottla.config",
                "sasl.mechanism={mechanism} sends credentials unencrypted over SASL_PLAINTEXT: use SASL_SSL"
            );
        }
    }
}

/// Whether an address (`host:port`) is on this host.
fn is_loopback(server: &str) -> bool {
    let is_local =
        |host: &str| host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    server.parse().is_ok_and(|endpoint: Endpoint| is_local(&endpoint.host))
}

/// Whether the value of a key must never be shown.
fn is_secret(name: &str) -> bool {
    rows().iter().any(|row| row.name == name && row.secret)
}
