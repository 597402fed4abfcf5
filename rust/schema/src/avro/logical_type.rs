//! The logical types that have their own column type. A UUID does not: it stays a string or bytes, as it was written.
//!
//! Invariant: each logical type has one column type.

use std::fmt;

use arrow_schema::TimeUnit;

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
    /// Returns whether a number has the same meaning in both types.
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
