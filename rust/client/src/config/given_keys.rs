//! Keys as they were given: which row each stands for, and with what value.
//!
//! Invariant: a key that is neither a row nor understood otherwise is an error that names the nearest
//! key, or what to write instead; a secret's value is in no message.

use super::foreign_keys::{self, ForeignKey, Meaning};
use super::{Config, Value, is_secret, nearest, rows, table};
use crate::error::{Error, Kind, Result};

/// A key as it was given, and the row and the value that it stands for.
pub(super) struct GivenKey {
    /// The name, with dots, or as its client has it.
    pub(super) name: String,
    pub(super) row: String,
    /// The value for the row.
    pub(super) value: Value,
    given: Value,
}

impl GivenKey {
    /// What a key sets; nothing, if it is accepted without effect.
    pub(super) fn of(name: &str, given: Value) -> Result<Option<Self>> {
        Config::check_key(name)?;
        let dotted = name.replace('_', ".");
        if table::is_inert(&dotted) {
            tracing::debug!(target: "ottla.config", key = %dotted, "accepted for Java's sake, without effect here");
            return Ok(None);
        }
        let Some(key) = foreign_keys::find(&dotted) else {
            let value = foreign_keys::translate(&dotted, &given);
            return Ok(Some(Self { name: dotted.clone(), row: dotted, value, given }));
        };
        if let Meaning::Always(values, instead) = key.meaning {
            if foreign_keys::is_one_of(&given, values) {
                tracing::debug!(target: "ottla.config", key = %dotted, "always so, without effect here");
                return Ok(None);
            }
            let message = format!("{}={}: {instead}", key.name, given.shown(false));
            return Err(Error::new(Kind::Config, message));
        }
        let row = key.row().unwrap_or(key.name).to_owned();
        let mut this = Self { name: key.name.to_owned(), row, value: given.clone(), given };
        this.value = key.value(&this.given).map_err(|why| this.wrong(&why))?;
        Ok(Some(this))
    }

    /// The error of a value that its row does not take.
    pub(super) fn wrong(&self, why: &str) -> Error {
        let Self { name, row, given, .. } = self;
        let shown = given.shown(is_secret(row));
        let message = match name == row {
            true => format!("{row}={shown}: {why}"),
            false => format!("{name}={shown} (here {row}): {why}"),
        };
        Error::new(Kind::Config, message)
    }
}

/// All that was given, the last value of each name.
#[derive(Default)]
pub(super) struct GivenKeys(Vec<GivenKey>);

impl GivenKeys {
    pub(super) fn add(&mut self, key: GivenKey) {
        match self.0.iter_mut().find(|known| known.name == key.name) {
            Some(known) => *known = key,
            None => self.0.push(key),
        }
    }

    /// Refuses two names of one row that do not agree.
    pub(super) fn check(&self) -> Result<()> {
        for (at, second) in self.0.iter().enumerate() {
            let mut before = self.0[..at].iter();
            let Some(first) = before.find(|first| first.row == second.row) else { continue };
            let value = |key: &GivenKey| {
                let mut config = Config::default();
                config.set_key(key).map(|()| config)
            };
            if value(first)? != value(second)? {
                let message = format!(
                    "{} and {} are two names of one setting, and their values differ: give one of them",
                    first.name, second.name
                );
                return Err(Error::new(Kind::Config, message));
            }
        }
        Ok(())
    }
}

/// The error of a key that no row has.
pub(super) fn unknown(name: &str, dotted: &str) -> Error {
    let known = || rows().into_iter().map(|row| row.name).chain(table::INERT.iter().copied());
    let hint = match foreign_keys::find(dotted) {
        Some(ForeignKey { client, meaning: Meaning::Instead(instead), .. }) => {
            format!(", which is {client}'s: {instead}")
        }
        _ => nearest::nearest(dotted, known())
            .map_or_else(String::new, |near| format!("; did you mean {near}?")),
    };
    Error::new(Kind::Config, format!("unknown configuration key {name:?}{hint}"))
}
