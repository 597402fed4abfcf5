//! Logical types: those with a column type of their own.
//!
//! Invariant: an unknown or invalid logical type is ignored, as the specification requires.

use serde_json::{Map, Value};

/// The largest precision of a decimal in Arrow.
const MAX_PRECISION: u64 = 76;

/// A primitive or fixed type with its logical type, if that is valid and has a column type. A UUID stays the
/// text, or the bytes, that it is written as.
pub(super) fn with_logical_type(kind: &str, object: &Map<String, Value>, size: Option<u64>) -> Value {
    let mut out = Map::new();
    out.insert("type".into(), kind.into());
    let logical = object.get("logicalType").and_then(Value::as_str).unwrap_or_default();
    let number = |key: &str| object.get(key).and_then(Value::as_u64);
    let is_valid = match (kind, logical) {
        ("int", "date" | "time-millis")
        | (
            "long",
            "time-micros"
            | "timestamp-millis"
            | "timestamp-micros"
            | "timestamp-nanos"
            | "local-timestamp-millis"
            | "local-timestamp-micros"
            | "local-timestamp-nanos",
        ) => true,
        ("fixed", "duration") => size == Some(12),
        ("bytes" | "fixed", "decimal") => {
            let (precision, scale) = (number("precision").unwrap_or(0), number("scale").unwrap_or(0));
            let fits = size.is_none_or(|size| precision <= max_precision(size));
            (1..=MAX_PRECISION).contains(&precision) && scale <= precision && fits
        }
        _ => false,
    };
    if is_valid {
        out.insert("logicalType".into(), logical.into());
        for key in ["precision", "scale"] {
            if let Some(value) = object.get(key).filter(|_| logical == "decimal") {
                out.insert(key.into(), value.clone());
            }
        }
    } else if size.is_none() {
        return Value::String(kind.to_owned());
    }
    Value::Object(out)
}

/// The largest number of decimal digits that so many bytes hold.
fn max_precision(bytes: u64) -> u64 {
    let bits = bytes.saturating_mul(8).saturating_sub(1);
    // log10(2), rounded down; exact for the sizes that Arrow's decimals have.
    bits.saturating_mul(30_102) / 100_000
}
