//! Limits on the sizes that a schema multiplies: its constants, which are copied into columns, types and messages, and
//! the bytes of a batch of columns. The caller that decodes or encodes sets them.
//!
//! Invariants: an error about a limit names the configuration key that raises it. No setting exceeds [`MAX_LIMIT`],
//! half of the bytes that an Arrow array with 32-bit offsets can hold.

use crate::budget::DEFAULT_BATCH_BYTES;

/// The configuration key of [`SchemaLimits::name_bytes`].
pub const NAME_KEY: &str = "schema.name.max.bytes";
/// The configuration key of [`SchemaLimits::fixed_bytes`].
pub const FIXED_KEY: &str = "schema.fixed.max.bytes";
/// The configuration key of [`SchemaLimits::default_bytes`].
pub const DEFAULT_KEY: &str = "schema.default.max.bytes";
/// The configuration key of [`SchemaLimits::batch_bytes`].
pub const BATCH_KEY: &str = "schema.batch.max.bytes";

/// The largest value of a limit. An Arrow string array holds 2 GiB, and one row may exceed the budget of a batch.
pub const MAX_LIMIT: usize = 1 << 30;
/// The number of names of the maximum length that all columns of a type may have in total.
const LONGEST_NAMES: usize = 256;
/// The largest limit for one name. It keeps all names together within [`MAX_LIMIT`].
pub const MAX_NAME_LIMIT: usize = MAX_LIMIT / LONGEST_NAMES;
/// The bytes that all column names may always have in total, however small the limit for one name is.
const LEAST_ALL_NAMES: usize = 16 << 20;
/// The largest number of characters in an error message, which is repeated for each failed row.
const MAX_REASON_CHARS: usize = 1_000;

/// The limits on what a schema multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaLimits {
    /// The maximum bytes of a name or an enum symbol. All column names, with named types expanded, may take 256 times
    /// as many bytes, or 16 MiB if that is more.
    pub name_bytes: usize,
    /// The maximum bytes of an Avro fixed type.
    pub fixed_bytes: usize,
    /// The maximum bytes of one default, as Avro encodes it, and of all defaults that a reader's schema adds to the
    /// writer's data.
    pub default_bytes: usize,
    /// The bytes of decoded rows after which a batch ends. The last row may exceed them by as many bytes again and 16
    /// for each byte of its payload; a row that takes more is an error.
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
    /// Returns the same limits, each reduced to its upper bound if necessary.
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
            "the name {start:?}… has {length} bytes, but the limit of a name is {limit} bytes ({NAME_KEY})"
        ))
    }

    /// Refuses columns whose names take too many bytes in total.
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
                "the fixed type {name} has {size} bytes, but the limit of a fixed type is {limit} bytes ({FIXED_KEY})"
            )),
        }
    }
}

/// Refuses a type whose rows are so large, even if they are null, that no array can hold one.
pub(crate) fn check_row_bytes(bytes: usize) -> Result<(), String> {
    match bytes {
        ..=MAX_LIMIT => Ok(()),
        _ => Err(format!("each row takes {bytes} bytes, null or not, and at most {MAX_LIMIT} are possible")),
    }
}

/// Shortens an error message to a length that may be repeated for each row.
pub(crate) fn short_reason(reason: impl Into<String>) -> String {
    let mut reason = reason.into();
    if let Some((end, _)) = reason.char_indices().nth(MAX_REASON_CHARS) {
        reason.truncate(end);
        reason.push('…');
    }
    reason
}
