//! Limits of the constants in a schema, which are copied into columns, types and messages.
//!
//! Invariant: an error names the limit.

/// The most bytes of a name, and of a symbol of an enum.
const MAX_NAME_BYTES: usize = 64 << 10;
/// The most bytes of all names of columns, with names of types expanded.
const MAX_ALL_NAMES_BYTES: usize = 16 << 20;
/// The most bytes of a fixed type of Avro.
const MAX_FIXED_BYTES: usize = 16 << 20;
/// The most bytes of a default, as Avro encodes it, and of all defaults that a reader's schema adds to a writer's.
pub(crate) const MAX_DEFAULT_BYTES: usize = 1 << 20;
/// The most characters of an error's text, which is repeated for each of its rows.
const MAX_REASON_CHARS: usize = 1_000;

/// Refuses a name that is too long.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    match name.len() {
        ..=MAX_NAME_BYTES => Ok(()),
        length => {
            let start: String = name.chars().take(40).collect();
            Err(format!(
                "the name {start:?}… has {length} bytes, and the limit of a name is {MAX_NAME_BYTES} bytes"
            ))
        }
    }
}

/// Refuses columns whose names are too long together.
pub(crate) fn check_all_names(bytes: usize) -> Result<(), String> {
    match bytes {
        ..=MAX_ALL_NAMES_BYTES => Ok(()),
        _ => Err(format!(
            "the names of its columns have more than {MAX_ALL_NAMES_BYTES} bytes, with all names of types expanded"
        )),
    }
}

/// Refuses a fixed type that is too large.
pub(crate) fn check_fixed(name: &str, size: u64) -> Result<usize, String> {
    match usize::try_from(size) {
        Ok(size @ ..=MAX_FIXED_BYTES) => Ok(size),
        _ => Err(format!(
            "the fixed type {name} has {size} bytes, and the limit of a fixed type is {MAX_FIXED_BYTES} bytes"
        )),
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
