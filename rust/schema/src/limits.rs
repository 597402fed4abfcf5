//! Limits of what a schema multiplies: its constants, which are copied into columns, types and messages, and the bytes of
//! a batch of columns. They are settings of whoever decodes or encodes.
//!
//! Invariants: an error about a limit names the key that raises it. No setting is beyond [`MAX_LIMIT`], half of what
//! an array of Arrow holds with offsets of 32 bits.

use crate::budget::DEFAULT_BATCH_BYTES;

/// The key of [`SchemaLimits::name_bytes`].
pub const NAME_KEY: &str = "schema.name.max.bytes";
/// The key of [`SchemaLimits::fixed_bytes`].
pub const FIXED_KEY: &str = "schema.fixed.max.bytes";
/// The key of [`SchemaLimits::default_bytes`].
pub const DEFAULT_KEY: &str = "schema.default.max.bytes";
/// The key of [`SchemaLimits::batch_bytes`].
pub const BATCH_KEY: &str = "schema.batch.max.bytes";

/// The largest limit: Arrow's arrays of texts hold 2 GiB, and one row may exceed the bytes of a batch.
pub const MAX_LIMIT: usize = 1 << 30;
/// The names that the columns of a type may have together, as if each had the most bytes.
const LONGEST_NAMES: usize = 256;
/// The largest limit of a name, so that all names together are within [`MAX_LIMIT`].
pub const MAX_NAME_LIMIT: usize = MAX_LIMIT / LONGEST_NAMES;
/// The bytes that all names of columns may have, whatever the limit of one is.
const LEAST_ALL_NAMES: usize = 16 << 20;
/// The most characters of an error's text, which is repeated for each of its rows.
const MAX_REASON_CHARS: usize = 1_000;

/// What a schema may multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaLimits {
    /// The most bytes of a name, and of a symbol of an enum. All names of columns, with names of types expanded, may have
    /// 256 times as many, or 16 MiB.
    pub name_bytes: usize,
    /// The most bytes of a fixed type of Avro.
    pub fixed_bytes: usize,
    /// The most bytes of a default, as Avro encodes it, and of all defaults that a reader's schema adds to a writer's.
    pub default_bytes: usize,
    /// The bytes that the decoded rows of a batch take, after which it ends. One row may exceed them, by at most as much
    /// and 16 for each of its own bytes; otherwise it is an error.
    pub batch_bytes: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            name_bytes: 64 << 10,
            fixed_bytes: 16 << 20,
            default_bytes: 1 << 20,
            batch_bytes: DEFAULT_BATCH_BYTES,
        }
    }
}

impl SchemaLimits {
    /// The same limits, none of which is beyond its bounds.
    pub(crate) fn bounded(self) -> Self {
        Self {
            name_bytes: self.name_bytes.clamp(1, MAX_NAME_LIMIT),
            fixed_bytes: self.fixed_bytes.clamp(1, MAX_LIMIT),
            default_bytes: self.default_bytes.clamp(1, MAX_LIMIT),
            batch_bytes: self.batch_bytes.clamp(1, MAX_LIMIT),
        }
    }

    /// Refuses a name that is too long.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), String> {
        let (length, limit) = (name.len(), self.name_bytes);
        if length <= limit {
            return Ok(());
        }
        let start: String = name.chars().take(40).collect();
        Err(format!(
            "the name {start:?}… has {length} bytes, and the limit of a name is {limit} bytes ({NAME_KEY})"
        ))
    }

    /// Refuses columns whose names are too long together.
    pub(crate) fn check_all_names(&self, bytes: usize) -> Result<(), String> {
        let limit = self.name_bytes.saturating_mul(LONGEST_NAMES).max(LEAST_ALL_NAMES);
        if bytes <= limit {
            return Ok(());
        }
        Err(format!(
            "the names of its columns have more than {limit} bytes, with all names of types expanded; the limit is \
             {LONGEST_NAMES} times that of a name ({NAME_KEY}), and at least {LEAST_ALL_NAMES}"
        ))
    }

    /// Refuses a fixed type that is too large.
    pub(crate) fn check_fixed(&self, name: &str, size: u64) -> Result<usize, String> {
        let limit = self.fixed_bytes;
        match usize::try_from(size) {
            Ok(size) if size <= limit => Ok(size),
            _ => Err(format!(
                "the fixed type {name} has {size} bytes, and the limit of a fixed type is {limit} bytes ({FIXED_KEY})"
            )),
        }
    }
}

/// Refuses a type whose rows take so many bytes, null or not, that no array holds one.
pub(crate) fn check_row_bytes(bytes: usize) -> Result<(), String> {
    match bytes {
        ..=MAX_LIMIT => Ok(()),
        _ => Err(format!("each row takes {bytes} bytes, null or not, and at most {MAX_LIMIT} are possible")),
    }
}

/// The text of an error, cut to a length that may be repeated for each row.
pub(crate) fn short_reason(reason: impl Into<String>) -> String {
    let mut reason = reason.into();
    if let Some((end, _)) = reason.char_indices().nth(MAX_REASON_CHARS) {
        reason.truncate(end);
        reason.push('…');
    }
    reason
}
