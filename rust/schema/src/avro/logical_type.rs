//! Logical types: those with a column type of their own. A UUID stays the text, or the bytes, that it is written as.
//!
//! Invariant: an unknown or invalid logical type is ignored, as the specification requires.

use std::fmt;

use arrow_schema::TimeUnit;
use serde_json::{Map, Value};

use super::schema::Kind;

/// The largest precision of a decimal in Arrow.
const MAX_PRECISION: u64 = 76;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogicalType {
    Date,
    TimeMillis,
    TimeMicros,
    Timestamp { unit: TimeUnit, is_local: bool },
    Duration,
    Decimal { precision: u8, scale: i8 },
}

impl LogicalType {
    /// The logical type of a type, if it is valid and has a column type.
    pub(super) fn of(kind: &Kind, object: &Map<String, Value>) -> Option<Self> {
        let timestamp = |unit, is_local| Some(Self::Timestamp { unit, is_local });
        match (kind, object.get("logicalType")?.as_str()?) {
            (Kind::Int, "date") => Some(Self::Date),
            (Kind::Int, "time-millis") => Some(Self::TimeMillis),
            (Kind::Long, "time-micros") => Some(Self::TimeMicros),
            (Kind::Long, "timestamp-millis") => timestamp(TimeUnit::Millisecond, false),
            (Kind::Long, "timestamp-micros") => timestamp(TimeUnit::Microsecond, false),
            (Kind::Long, "timestamp-nanos") => timestamp(TimeUnit::Nanosecond, false),
            (Kind::Long, "local-timestamp-millis") => timestamp(TimeUnit::Millisecond, true),
            (Kind::Long, "local-timestamp-micros") => timestamp(TimeUnit::Microsecond, true),
            (Kind::Long, "local-timestamp-nanos") => timestamp(TimeUnit::Nanosecond, true),
            (Kind::Fixed(fixed), "duration") => (fixed.size == 12).then_some(Self::Duration),
            (Kind::Bytes, "decimal") => decimal(object, None),
            (Kind::Fixed(fixed), "decimal") => decimal(object, Some(fixed.size)),
            _ => None,
        }
    }

    /// Whether the same number means the same in both types.
    pub(super) fn has_same_scale(self, other: Self) -> bool {
        match (self, other) {
            (Self::Decimal { scale, .. }, Self::Decimal { scale: other, .. }) => scale == other,
            (Self::Timestamp { unit, .. }, Self::Timestamp { unit: other, .. }) => unit == other,
            (one, other) => one == other,
        }
    }
}

impl fmt::Display for LogicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Date => f.write_str("date"),
            Self::TimeMillis => f.write_str("time-millis"),
            Self::TimeMicros => f.write_str("time-micros"),
            Self::Duration => f.write_str("duration"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision}, {scale})"),
            Self::Timestamp { unit, is_local } => {
                let local = if *is_local { "local-" } else { "" };
                let unit = match unit {
                    TimeUnit::Second => "seconds",
                    TimeUnit::Millisecond => "millis",
                    TimeUnit::Microsecond => "micros",
                    TimeUnit::Nanosecond => "nanos",
                };
                write!(f, "{local}timestamp-{unit}")
            }
        }
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

/// The largest number of decimal digits that so many bytes hold.
fn max_precision(bytes: usize) -> u64 {
    let bits = (bytes as u64).saturating_mul(8).saturating_sub(1);
    // log10(2), rounded down; exact for the sizes that Arrow's decimals have.
    bits.saturating_mul(30_102) / 100_000
}
