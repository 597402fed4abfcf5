//! Keys as the caller passed them, resolved to rows and their values.
//!
//! Invariants: an unknown key is an error that names the closest key, or what to use instead; no message
//! contains the value of a secret.

use super::other_clients::{self, Mapping, OtherClientKey};
use super::{Config, Value, is_secret, nearest, rows, table};
use crate::error::{Error, Kind, Result};

/// A key from the caller, with the row and the value that it sets.
pub(super) struct ResolvedKey {
    /// The name: dotted, or as the other client spells it.
    pub(super) name: String,
    pub(super) row: String,
    /// The value of the row.
    pub(super) value: Value,
    /// The value from the caller.
    raw: Value,
}

impl ResolvedKey {
    /// Resolves a key; `None` if it is accepted without effect.
    pub(super) fn resolve(name: &str, raw: Value) -> Result<Option<Self>> {
        Config::check_key(name)?;
        let dotted = name.replace('_', ".");
        if table::is_ignored(&dotted) {
            tracing::debug!(target: "ottla.config", key = %dotted, "accepted for compatibility with Java's client; it has no effect");
            return Ok(None);
        }
        let Some(key) = other_clients::find(&dotted) else {
            let value = other_clients::translate(&dotted, &raw);
            return Ok(Some(Self { name: dotted.clone(), row: dotted, value, raw }));
        };
        if let Mapping::FixedTo(values, instead) = key.mapping {
            if other_clients::is_one_of(&raw, values) {
                tracing::debug!(target: "ottla.config", key = %dotted, "this client always behaves this way; the key has no effect");
                return Ok(None);
            }
            let message = format!("{}={}: {instead}", key.name, raw.display(false));
            return Err(Error::new(Kind::Config, message));
        }
        let row = key.row().unwrap_or(key.name).to_owned();
        let mut this = Self { name: key.name.to_owned(), row, value: raw.clone(), raw };
        this.value = key.convert(&this.raw).map_err(|why| this.invalid(&why))?;
        Ok(Some(this))
    }

    /// The error for a value that the row does not accept.
    pub(super) fn invalid(&self, why: &str) -> Error {
        let Self { name, row, raw, .. } = self;
        let shown = raw.display(is_secret(row));
        let message = match name == row {
            true => format!("{row}={shown}: {why}"),
            false => format!("{name}={shown} (here {row}): {why}"),
        };
        Error::new(Kind::Config, message)
    }
}

/// All keys from the caller, with the last value of each name.
#[derive(Default)]
pub(super) struct ResolvedKeys(Vec<ResolvedKey>);

impl ResolvedKeys {
    pub(super) fn add(&mut self, key: ResolvedKey) {
        match self.0.iter_mut().find(|known| known.name == key.name) {
            Some(known) => *known = key,
            None => self.0.push(key),
        }
    }

    /// Rejects two names of one row with different values.
    pub(super) fn check(&self) -> Result<()> {
        for (index, second) in self.0.iter().enumerate() {
            let mut before = self.0[..index].iter();
            let Some(first) = before.find(|first| first.row == second.row) else { continue };
            let value = |key: &ResolvedKey| {
                let mut config = Config::default();
                config.set_key(key).map(|()| config)
            };
            if value(first)? != value(second)? {
                let message = format!(
                    "{} and {} are two names of one key, and their values differ: set only one of them",
                    first.name, second.name
                );
                return Err(Error::new(Kind::Config, message));
            }
        }
        Ok(())
    }
}

/// The error for an unknown key.
pub(super) fn unknown(name: &str, dotted: &str) -> Error {
    let known: Vec<&str> =
        rows().into_iter().map(|row| row.name).chain(table::IGNORED.iter().copied()).collect();
    let hint = match other_clients::find(dotted) {
        Some(OtherClientKey { client, mapping: Mapping::Unsupported(instead), .. }) => {
            format!(", which is {client}'s: {instead}")
        }
        _ => nearest::nearest_key(dotted, known.iter().copied())
            .map_or_else(String::new, |near| format!("; did you mean {near}?")),
    };
    Error::new(Kind::Config, format!("unknown configuration key {name:?}{hint}"))
}
