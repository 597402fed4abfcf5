//! The limits of what schemas may multiply, as keys `schema.…` in a table of their own: they belong to a format of keys or
//! values, which may have no registry.
//!
//! Invariants: an unknown key is an error that names the closest key. The bounds of each key are those within which
//! Arrow's offsets do not overflow.

use ottla_schema::{MAX_LIMIT, MAX_NAME_LIMIT, SchemaLimits};

use super::Value;
use super::nearest::nearest_key;
use super::rows::config_table;
use crate::error::{Error, Kind, Result};

/// The prefix of the keys.
const PREFIX: &str = "schema.";

config_table! {
    /// The limits of schemas, as a configuration.
    SchemaLimitsConfig, ROW_NAMES;

    name_bytes: usize = SchemaLimits::default().name_bytes, "schema.name.max.bytes", (1, MAX_NAME_LIMIT as i64), "Largest name of a type or field, and largest symbol of an enum. All names of columns, with the names of types expanded, may take 256 times as much, and at least 16 MiB.";
    fixed_bytes: usize = SchemaLimits::default().fixed_bytes, "schema.fixed.max.bytes", (1, MAX_LIMIT as i64), "Largest `fixed` type of Avro. Each row of its column takes that many bytes, even null.";
    default_bytes: usize = SchemaLimits::default().default_bytes, "schema.default.max.bytes", (1, MAX_LIMIT as i64), "Largest default in Avro, as it is encoded, and limit of all defaults that a reader's schema adds to a record together.";
    batch_bytes: usize = SchemaLimits::default().batch_bytes, "schema.batch.max.bytes", (1, MAX_LIMIT as i64), "Bytes of decoded columns after which a batch ends; the next read goes on from there. A record that takes more than this, and 16 bytes for each of its own, is an error.";
}

impl SchemaLimitsConfig {
    /// Sets one key. Names are dotted or have underscores, with or without `schema.`.
    ///
    /// # Errors
    /// An unknown key, with the closest one, or an invalid value.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<()> {
        let dotted = name.replace('_', ".");
        let row = match dotted.starts_with(PREFIX) {
            true => dotted,
            false => format!("{PREFIX}{dotted}"),
        };
        match self.set_row(&row, value) {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => Err(invalid(format!("{row}={}: {why}", value.display(false)))),
            None => {
                let near = nearest_key(&row, ROW_NAMES.iter().copied());
                let hint = near.map_or_else(
                    || format!("; the limits are {}", ROW_NAMES.join(", ")),
                    |near| format!("; did you mean {near}?"),
                );
                Err(invalid(format!("unknown limit {name:?} of schemas{hint}")))
            }
        }
    }

    /// The limits.
    #[must_use]
    pub fn limits(&self) -> SchemaLimits {
        let Self { name_bytes, fixed_bytes, default_bytes, batch_bytes } = *self;
        SchemaLimits { name_bytes, fixed_bytes, default_bytes, batch_bytes }
    }
}

fn invalid(message: String) -> Error {
    Error::new(Kind::Config, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use ottla_schema::{BATCH_KEY, DEFAULT_KEY, FIXED_KEY, NAME_KEY};

    use super::*;

    fn set(name: &str, value: &str) -> Result<SchemaLimits> {
        let mut config = SchemaLimitsConfig::default();
        config.set(name, &Value::from(value)).map(|()| config.limits())
    }

    #[test]
    fn the_keys_that_errors_name_are_rows() {
        assert_eq!(ROW_NAMES, [NAME_KEY, FIXED_KEY, DEFAULT_KEY, BATCH_KEY]);
        assert_eq!(SchemaLimitsConfig::default().limits(), SchemaLimits::default());
    }

    #[test]
    fn each_key_sets_its_limit_within_its_bounds() {
        for name in [FIXED_KEY, "fixed.max.bytes", "schema_fixed_max_bytes", "fixed_max_bytes"] {
            assert_eq!(set(name, "1073741824").unwrap().fixed_bytes, 1 << 30);
        }
        assert_eq!(set(NAME_KEY, "4194304").unwrap().name_bytes, 4 << 20);
        assert_eq!(set(DEFAULT_KEY, "7").unwrap().default_bytes, 7);
        assert_eq!(set(BATCH_KEY, "7").unwrap().batch_bytes, 7);
        for (name, most) in
            [(FIXED_KEY, 1 << 30), (NAME_KEY, 4 << 20), (DEFAULT_KEY, 1 << 30), (BATCH_KEY, 1 << 30)]
        {
            for value in [0, -1, most + 1, i64::MAX] {
                let error = set(name, &value.to_string()).unwrap_err();
                assert!(error.message().contains(&format!("must be between 1 and {most}")), "{error}");
                assert!(error.message().starts_with(name), "{error}");
            }
        }
    }

    #[test]
    fn an_unknown_limit_names_the_closest() {
        let error = set("schema.fixd.max.bytes", "1").unwrap_err();
        assert!(error.message().contains("did you mean schema.fixed.max.bytes?"), "{error}");
        let error = set("linger.ms", "1").unwrap_err();
        assert!(error.message().contains("schema.name.max.bytes, schema.fixed.max.bytes"), "{error}");
    }
}
