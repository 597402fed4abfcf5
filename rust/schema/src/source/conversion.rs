//! Lossless conversions of numbers: between units of time, and between scales of decimals.
//!
//! Invariant: a value that the target type cannot hold exactly is a failure.

use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

use super::Values;
use crate::row_failure::RowFailure;

/// Returns how many of a unit make a second.
pub(crate) fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Returns whether a number of units after midnight is within one day. Arrow's time types allow no other values,
/// although their integers could hold them.
#[inline]
pub(crate) fn is_time_of_day(value: i64, unit: TimeUnit) -> bool {
    (0..24 * 60 * 60 * per_second(unit)).contains(&value)
}

/// A conversion between units of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rescale {
    Same,
    Multiply(i64),
    Divide(i64),
    /// Converts a time of day from one unit to another.
    TimeOfDay(TimeUnit, TimeUnit),
}

impl Rescale {
    pub(crate) fn between(from: TimeUnit, to: TimeUnit) -> Self {
        match (per_second(from), per_second(to)) {
            (from, to) if from == to => Self::Same,
            (from, to) if from < to => Self::Multiply(to / from),
            (from, to) => Self::Divide(from / to),
        }
    }

    /// Converts dates to days.
    pub(crate) fn to_days(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Date32 => Some(Self::Same),
            DataType::Date64 => Some(Self::Divide(24 * 60 * 60 * 1_000)),
            _ => None,
        }
    }

    /// Converts times of day.
    pub(crate) fn of_time(data_type: &DataType, to: TimeUnit) -> Option<Self> {
        match data_type {
            DataType::Time32(unit) | DataType::Time64(unit) => Some(Self::TimeOfDay(*unit, to)),
            _ => None,
        }
    }

    /// Converts timestamps. Returns `None` if the type has a time zone and must not have one, or the other way round.
    pub(crate) fn of_timestamp(data_type: &DataType, to: TimeUnit, has_zone: bool) -> Option<Self> {
        match data_type {
            DataType::Timestamp(unit, zone) if zone.is_some() == has_zone => Some(Self::between(*unit, to)),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn apply(self, value: i64) -> Result<i64, RowFailure> {
        match self {
            Self::Same => Ok(value),
            Self::Multiply(factor) => value.checked_mul(factor).ok_or_else(RowFailure::range),
            Self::Divide(divisor) if value % divisor == 0 => Ok(value / divisor),
            Self::Divide(_) => Err(RowFailure::new("it is more precise than its type")),
            Self::TimeOfDay(unit, to) if is_time_of_day(value, unit) => Self::between(unit, to).apply(value),
            Self::TimeOfDay(..) => Err(RowFailure::new("it is not a time of day")),
        }
    }
}

/// The unscaled value of a decimal. It is short if all numbers of the decimal's precision fit into 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    Short(i128),
    Wide(i256),
}

/// A conversion of decimals and integers to a precision and a scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DecimalConversion {
    precision: u8,
    scale: i8,
    /// The number of digits to append, or, if negative, to remove.
    shift: i16,
    /// The smallest number with too many digits, or `None` if it exceeds 128 bits.
    bound: Option<i128>,
    wide_bound: i256,
}

impl DecimalConversion {
    /// Converts from a type of decimals or integers.
    pub(crate) fn new(from: &DataType, precision: u8, scale: i8) -> Option<Self> {
        let from = match from {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => *scale,
            integer if integer.is_integer() => 0,
            _ => return None,
        };
        Some(Self {
            precision,
            scale,
            shift: i16::from(scale) - i16::from(from),
            bound: 10_i128.checked_pow(precision.into()),
            wide_bound: i256::from_i128(10).checked_pow(precision.into()).unwrap_or(i256::MAX),
        })
    }

    #[inline]
    pub(crate) fn apply(&self, values: &Values, at: usize) -> Result<Number, RowFailure> {
        let short = match values {
            Values::Integer(values) => values.get(at).map(|value| i128::from(*value)),
            Values::Unsigned(values) => values.get(at).map(|value| i128::from(*value)),
            Values::Decimal(values) => values.get(at).copied(),
            _ => None,
        };
        match (short, self.bound, values) {
            (Some(value), Some(bound), _) => self.apply_short(value, bound).map(Number::Short),
            (Some(value), None, _) => self.apply_wide(i256::from_i128(value)).map(Number::Wide),
            (None, _, Values::WideDecimal(values)) => {
                let number = self.apply_wide(values.get(at).copied().unwrap_or_default())?;
                let short = number.to_i128().filter(|_| self.bound.is_some());
                Ok(short.map_or(Number::Wide(number), Number::Short))
            }
            _ => Err(RowFailure::internal()),
        }
    }

    #[inline]
    fn apply_short(&self, value: i128, bound: i128) -> Result<i128, RowFailure> {
        let factor = 10_i128.checked_pow(self.shift.unsigned_abs().into());
        let shifted = match (self.shift, factor) {
            (0, _) => value,
            _ if value == 0 => 0,
            (1.., factor) => factor.and_then(|it| value.checked_mul(it)).ok_or_else(|| self.too_large())?,
            (_, factor) => {
                factor.filter(|it| value % it == 0).map(|it| value / it).ok_or_else(|| self.too_precise())?
            }
        };
        match shifted.unsigned_abs() < bound.unsigned_abs() {
            true => Ok(shifted),
            false => Err(self.too_large()),
        }
    }

    fn apply_wide(&self, value: i256) -> Result<i256, RowFailure> {
        let factor = i256::from_i128(10).checked_pow(self.shift.unsigned_abs().into());
        let shifted = match (self.shift, factor) {
            (0, _) => value,
            _ if value == i256::ZERO => value,
            (1.., factor) => factor.and_then(|it| value.checked_mul(it)).ok_or_else(|| self.too_large())?,
            (_, factor) => {
                let factor = factor.filter(|it| value.checked_rem(*it) == Some(i256::ZERO));
                factor.and_then(|it| value.checked_div(it)).ok_or_else(|| self.too_precise())?
            }
        };
        match shifted < self.wide_bound && shifted > self.wide_bound.wrapping_neg() {
            true => Ok(shifted),
            false => Err(self.too_large()),
        }
    }

    #[cold]
    fn too_large(&self) -> RowFailure {
        let digits = i16::from(self.precision) - i16::from(self.scale);
        RowFailure::new(format!("it has more than {digits} digits before the decimal point"))
    }

    #[cold]
    fn too_precise(&self) -> RowFailure {
        RowFailure::new(format!("it has more than {} digits after the decimal point", self.scale))
    }
}
