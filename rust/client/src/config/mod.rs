//! The configuration: Kafka's dotted names, one row per key (`table.rs`), values of any source.
//! Keys of other clients stand for a row or say what to write instead (`foreign_keys.rs`).
//!
//! Invariant: an unknown or ill-typed key is an error that names the nearest key; nothing is
//! ignored silently, and no row is set to two values by two names.

mod consumer;
mod foreign_keys;
mod given_keys;
mod group;
mod nearest;
mod partitioner;
mod security;
mod table;
mod value;

pub use consumer::{AutoOffsetReset, IsolationLevel};
pub use foreign_keys::{FOREIGN_KEYS, ForeignKey, Meaning};
pub use group::{AssignmentStrategy, GroupProtocol};
pub use partitioner::Partitioner;
pub use security::SecurityProtocol;
pub use table::{Acks, Config, DnsLookup, MetadataRecovery, Row, rows};
pub use value::Value;

use std::net::IpAddr;

use given_keys::{GivenKey, GivenKeys, unknown};

use crate::connection::Endpoint;
use crate::error::{Error, Kind, Result};

/// What a member of a KIP-848 group has no say in, as in Java.
const CLASSIC_ONLY: [&str; 3] =
    ["partition.assignment.strategy", "session.timeout.ms", "heartbeat.interval.ms"];

impl Config {
    /// A configuration of `pairs` over the defaults. Names may be dotted (`linger.ms`) or, as
    /// keyword arguments have to be, with underscores (`linger_ms`).
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Self> {
        let mut config = Self::default();
        let (mut delivery_timeout_set, mut idempotence_set) = (false, false);
        let (mut batch_size_set, mut batch_max_size_set) = (false, false);
        let mut classic_only = None;
        let mut given = GivenKeys::default();
        for (name, value) in pairs {
            let Some(key) = GivenKey::of(name, value)? else { continue };
            config.set_key(&key)?;
            let row = key.row.as_str();
            classic_only = classic_only.or(CLASSIC_ONLY.into_iter().find(|only| *only == row));
            delivery_timeout_set |= row == "delivery.timeout.ms";
            idempotence_set |= row == "enable.idempotence";
            batch_size_set |= row == "batch.size";
            batch_max_size_set |= row == "batch.max.size";
            given.add(key);
        }
        given.check()?;
        if !delivery_timeout_set {
            // The default gives way to what was set, as in Java.
            config.delivery_timeout = config.delivery_timeout.max(config.linger + config.request_timeout);
        }
        match (batch_size_set, batch_max_size_set) {
            (true, false) => config.batch_max_size = config.batch_size,
            (false, true) => config.batch_size = config.batch_size.min(config.batch_max_size),
            _ => {}
        }
        if !idempotence_set && let Some(why) = config.against_idempotence() {
            // As in Java, and said aloud: what was set wins over a default.
            tracing::info!(target: "ottla.config", why, "enable.idempotence is off");
            config.enable_idempotence = false;
        }
        if config.group_protocol == GroupProtocol::Consumer
            && let Some(only) = classic_only
        {
            let words = format!(
                "{only} cannot be set with group.protocol=consumer, where the brokers decide about it: leave it out, or set group.protocol=classic"
            );
            return Err(Error::new(Kind::Config, words));
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one key.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        GivenKey::of(name, value.clone())?.map_or(Ok(()), |key| self.set_key(&key))
    }

    /// The row that a key is for, by its dotted name; nothing, if it is for none.
    #[must_use]
    pub fn row_of(name: &str) -> Option<&'static str> {
        let dotted = name.replace('_', ".");
        let of_another = || foreign_keys::find(&dotted).and_then(ForeignKey::row);
        table::row_name(&dotted).or_else(of_another)
    }

    /// Refuses a key that no value could be given for, with what to write instead.
    pub fn check_key(name: &str) -> Result<()> {
        let dotted = name.replace('_', ".");
        let is_known = match foreign_keys::find(&dotted) {
            Some(key) => !matches!(key.meaning, Meaning::Instead(_)),
            None => table::is_inert(&dotted) || table::row_name(&dotted).is_some(),
        };
        if is_known { Ok(()) } else { Err(unknown(name, &dotted)) }
    }

    fn set_key(&mut self, key: &GivenKey) -> Result<()> {
        match self.set_row(&key.row, &key.value) {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => Err(key.wrong(&why)),
            None => Err(unknown(&key.name, &key.row)),
        }
    }

    /// What is set that idempotence cannot be had with.
    fn against_idempotence(&self) -> Option<&'static str> {
        if self.acks != Acks::All {
            return Some("it needs acks=all");
        }
        if self.retries == 0 {
            return Some("it needs retries above 0");
        }
        (self.max_in_flight > 5).then_some("it needs max.in.flight.requests.per.connection of at most 5")
    }

    /// What single rows cannot check.
    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::new(Kind::Config, message));
        if self.enable_idempotence
            && let Some(why) = self.against_idempotence()
        {
            return wrong(format!("enable.idempotence=true: {why}"));
        }
        if self.delivery_timeout < self.linger + self.request_timeout {
            return wrong(format!(
                "delivery.timeout.ms ({}) must be at least linger.ms + request.timeout.ms ({})",
                self.delivery_timeout.as_millis(),
                (self.linger + self.request_timeout).as_millis()
            ));
        }
        if self.batch_max_size < self.batch_size {
            return wrong(format!(
                "batch.max.size ({}) must be at least batch.size ({})",
                self.batch_max_size, self.batch_size
            ));
        }
        if self.partitioner_ignore_keys
            && self.partitioner != Partitioner::Default
            && self.partitioner.looks_at_keys()
        {
            return wrong(
                "partitioner.ignore.keys=true is for the default partitioner: leave partitioner.class out"
                    .to_owned(),
            );
        }
        if self.partitioner_rack_aware && self.client_rack.is_empty() {
            // As in Java, and said aloud: it has no effect.
            tracing::warn!(target: "ottla.config", "partitioner.rack.aware=true does nothing without client.rack");
        }
        self.warn_about_plaintext();
        Ok(())
    }

    /// Warns about credentials that anybody on the way to the brokers can read.
    fn warn_about_plaintext(&self) {
        let mechanism = self.sasl_mechanism.as_str();
        let is_readable = matches!(mechanism, "PLAIN" | "OAUTHBEARER");
        let leaves_host = self.bootstrap_servers.iter().any(|server| !is_loopback(server));
        if self.security_protocol == SecurityProtocol::SaslPlaintext && is_readable && leaves_host {
            tracing::warn!(
                target: "ottla.config",
                "sasl.mechanism={mechanism} sends credentials unencrypted over SASL_PLAINTEXT: use SASL_SSL"
            );
        }
    }
}

/// Whether an address, as `host:port`, is of this host.
fn is_loopback(server: &str) -> bool {
    let is_here =
        |host: &str| host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    server.parse().is_ok_and(|endpoint: Endpoint| is_here(&endpoint.host))
}

/// Whether the value of a key must never be shown.
fn is_secret(name: &str) -> bool {
    rows().iter().any(|row| row.name == name && row.secret)
}
