//! A column of timestamps of any unit, read as Kafka's milliseconds.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::ColumnsError;

const ACCEPTED: &str = "timestamp of any unit and time zone, int64 of milliseconds, or null";

#[derive(Debug, Clone)]
pub(super) struct TimestampsRef<'a> {
    values: &'a ScalarBuffer<i64>,
    nulls: Option<&'a NullBuffer>,
    unit: TimeUnit,
}

impl<'a> TimestampsRef<'a> {
    /// `None` for a column of type null.
    pub(super) fn try_new(array: &'a dyn Array) -> Result<Option<Self>, ColumnsError> {
        // The time zone affects only the display: the values are in UTC.
        let (unit, values) = match array.data_type() {
            DataType::Null => return Ok(None),
            DataType::Int64 => {
                (TimeUnit::Millisecond, array.as_primitive_opt::<Int64Type>().map(|array| array.values()))
            }
            DataType::Timestamp(unit, _) => (
                *unit,
                match unit {
                    TimeUnit::Second => array.as_primitive_opt::<TimestampSecondType>().map(|a| a.values()),
                    TimeUnit::Millisecond => {
                        array.as_primitive_opt::<TimestampMillisecondType>().map(|a| a.values())
                    }
                    TimeUnit::Microsecond => {
                        array.as_primitive_opt::<TimestampMicrosecondType>().map(|a| a.values())
                    }
                    TimeUnit::Nanosecond => {
                        array.as_primitive_opt::<TimestampNanosecondType>().map(|a| a.values())
                    }
                },
            ),
            _ => (TimeUnit::Second, None),
        };
        match values {
            Some(values) => {
                let timestamps = Self { values, nulls: array.nulls(), unit };
                timestamps.check_seconds()?;
                Ok(Some(timestamps))
            }
            None => Err(ColumnsError::Type {
                column: "timestamp",
                found: array.data_type().clone(),
                accepted: ACCEPTED,
            }),
        }
    }

    /// Refuses seconds whose milliseconds have more than 64 bits, after the year 292 million.
    fn check_seconds(&self) -> Result<(), ColumnsError> {
        if self.unit != TimeUnit::Second {
            return Ok(());
        }
        let is_beyond = |(row, value): (usize, &i64)| {
            value.checked_mul(1000).is_none() && self.nulls.is_none_or(|nulls| nulls.is_valid(row))
        };
        match self.values.iter().enumerate().position(is_beyond) {
            Some(row) => Err(ColumnsError::TimestampRange { row }),
            None => Ok(()),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let value = *self.values.get(row)?;
        Some(match self.unit {
            // In range: `check_seconds`.
            TimeUnit::Second => value.wrapping_mul(1000),
            TimeUnit::Millisecond => value,
            // Rounds down, so that times before 1970 keep their order.
            TimeUnit::Microsecond => value.div_euclid(1000),
            TimeUnit::Nanosecond => value.div_euclid(1_000_000),
        })
    }
}
