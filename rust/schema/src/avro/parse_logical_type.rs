//! Parses the logical type of a type.
//!
//! Invariant: an unknown or invalid logical type is ignored, as the specification requires.

use arrow_schema::TimeUnit;
use serde_json::{Map, Value};

use super::logical_type::LogicalType;
use super::schema::Kind;

/// The largest precision of a decimal in Arrow.
const MAX_PRECISION: u64 = 76;

/// Returns the logical type of a type, if it is valid and has a column type.
pub(super) fn logical_type(kind: &Kind, object: &Map<String, Value>) -> Option<LogicalType> {
    let timestamp = |unit, is_local| Some(LogicalType::Timestamp { unit, is_local });
    match (kind, object.get("logicalType")?.as_str()?) {
        (Kind::Int, "date") => Some(LogicalType::Date),
        (Kind::Int, "time-millis") => Some(LogicalType::TimeMillis),
        (Kind::Long, "time-micros") => Some(LogicalType::TimeMicros),
        (Kind::Long, "timestamp-millis") => timestamp(TimeUnit::Millisecond, false),
        (Kind::Long, "timestamp-micros") => timestamp(TimeUnit::Microsecond, false),
        (Kind::Long, "timestamp-nanos") => timestamp(TimeUnit::Nanosecond, false),
        (Kind::Long, "local-timestamp-millis") => timestamp(TimeUnit::Millisecond, true),
        (Kind::Long, "local-timestamp-micros") => timestamp(TimeUnit::Microsecond, true),
        (Kind::Long, "local-timestamp-nanos") => timestamp(TimeUnit::Nanosecond, true),
        (Kind::Fixed(fixed), "duration") => (fixed.size == 12).then_some(LogicalType::Duration),
        (Kind::Bytes, "decimal") => decimal(object, None),
        (Kind::Fixed(fixed), "decimal") => decimal(object, Some(fixed.size)),
        _ => None,
    }
}

fn decimal(object: &Map<String, Value>, size: Option<usize>) -> Option<LogicalType> {
    let precision = object.get("precision")?.as_u64()?;
    let scale = object.get("scale").map_or(Some(0), Value::as_u64)?;
    let fits = size.is_none_or(|size| precision <= max_precision(size));
    if !fits || !(1..=MAX_PRECISION).contains(&precision) || scale > precision {
        return None;
    }
    let (precision, scale) = (u8::try_from(precision).ok()?, i8::try_from(scale).ok()?);
    Some(LogicalType::Decimal { precision, scale })
}

/// Returns the largest number of decimal digits that `bytes` bytes can hold.
fn max_precision(bytes: usize) -> u64 {
    let bits = (bytes as u64).saturating_mul(8).saturating_sub(1);
    // log10(2), rounded down; exact for the sizes that Arrow's decimals have.
    bits.saturating_mul(30_102) / 100_000
}
