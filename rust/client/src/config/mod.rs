//! The configuration: Kafka's dotted names, one row per key (`table.rs`), values of any source.
//!
//! Invariant: an unknown or ill-typed key is an error that names the nearest key; nothing is
//! ignored silently.

mod nearest;
mod security;
mod table;
mod value;

pub use security::SecurityProtocol;
pub use table::{Acks, Config, MetadataRecovery, Row, rows};
pub use value::Value;

use crate::error::{Error, Kind, Result};

impl Config {
    /// A configuration of `pairs` over the defaults. Names may be dotted (`linger.ms`) or, as
    /// keyword arguments have to be, with underscores (`linger_ms`).
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Self> {
        let mut config = Self::default();
        let mut delivery_timeout_set = false;
        for (name, value) in pairs {
            config.set(name, &value)?;
            delivery_timeout_set |= name.replace('_', ".") == "delivery.timeout.ms";
        }
        if !delivery_timeout_set {
            // The default gives way to what was set, as in Java.
            config.delivery_timeout = config.delivery_timeout.max(config.linger + config.request_timeout);
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one key.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let dotted = name.replace('_', ".");
        match self.set_row(&dotted, value) {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => {
                Err(Error::new(Kind::Config, format!("{dotted}={}: {why}", value.shown(is_secret(&dotted)))))
            }
            None if table::is_inert(&dotted) => {
                tracing::debug!(target: "ottla.config", key = %dotted, "accepted for Java's sake, without effect here");
                Ok(())
            }
            None => {
                let known = rows().into_iter().map(|row| row.name).chain(table::INERT.iter().copied());
                let elsewhere = table::ELSEWHERE.iter().find(|(theirs, _)| *theirs == dotted);
                let hint = match elsewhere.map(|(_, ours)| *ours).or_else(|| nearest::nearest(&dotted, known))
                {
                    Some(near) => format!("; did you mean {near}?"),
                    None => String::new(),
                };
                Err(Error::new(Kind::Config, format!("unknown configuration key {name:?}{hint}")))
            }
        }
    }

    /// What single rows cannot check.
    fn check(&self) -> Result<()> {
        let wrong = |message: String| Err(Error::new(Kind::Config, message));
        if self.delivery_timeout < self.linger + self.request_timeout {
            return wrong(format!(
                "delivery.timeout.ms ({}) must be at least linger.ms + request.timeout.ms ({})",
                self.delivery_timeout.as_millis(),
                (self.linger + self.request_timeout).as_millis()
            ));
        }
        Ok(())
    }
}

/// Whether the value of a key must never be shown.
fn is_secret(name: &str) -> bool {
    rows().iter().any(|row| row.name == name && row.secret)
}
