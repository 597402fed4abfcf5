//! An Arrow array to encode. It is downcast once, so reading a value costs no more than a match on an enum.
//!
//! Arrow has many representations of the same values: offsets of 32 and 64 bits, views, dictionaries, integers of any
//! width. This module reduces them to the few that matter to the formats.
//!
//! - `types` decides which Arrow types can be read, and finds the parts of lists and maps.
//! - `bytes`, `offsets` and `numbers` hold strings, lists and numbers; `conversion` converts units and scales.
//!
//! Invariants: no data is lost: a value that its target type cannot hold is a failure. A source costs as much as the
//! array's rows and the dictionaries that they refer to.

mod bytes;
mod conversion;
mod numbers;
mod offsets;
mod types;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{BooleanBuffer, IntervalMonthDayNano, NullBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType};

pub(crate) use self::bytes::Bytes;
pub(crate) use self::conversion::{DecimalConversion, Number, Rescale, is_time_of_day, per_second};
pub(crate) use self::offsets::Offsets;
pub(crate) use self::types::{
    check_fields, entries, is_binary, is_text, list_items, struct_field, value_type,
};
use crate::row_failure::RowFailure;

/// The values of an array.
#[derive(Debug)]
pub(crate) struct Source {
    nulls: Option<NullBuffer>,
    /// The index of each row's value in a dictionary.
    places: Option<Vec<usize>>,
    pub(crate) values: Values,
}

/// The values of an array. The value of a null row is arbitrary.
#[derive(Debug)]
pub(crate) enum Values {
    /// All are null.
    Null,
    Boolean(BooleanBuffer),
    /// Integers, dates, times, timestamps and durations.
    Integer(ScalarBuffer<i64>),
    Unsigned(ScalarBuffer<u64>),
    Float(ScalarBuffer<f32>),
    Double(ScalarBuffer<f64>),
    Decimal(ScalarBuffer<i128>),
    WideDecimal(ScalarBuffer<i256>),
    Interval(ScalarBuffer<IntervalMonthDayNano>),
    /// Text or bytes.
    Bytes(Bytes),
    /// Lists, and maps as lists of structs.
    List(Offsets, Box<Source>),
    Struct(Vec<Source>),
}

impl Source {
    /// Downcasts an array. Fails if no encoder can read its type.
    pub(crate) fn new(array: &dyn Array) -> Result<Self, ArrowError> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let Self { places, values, .. } = Self::new(dictionary.values())?;
            if places.is_some() {
                return Err(ArrowError::NotYetImplemented("a dictionary of dictionaries".to_owned()));
            }
            let places = match dictionary.values().is_empty() {
                // Then all keys are null.
                true => vec![0; array.len()],
                false => dictionary.normalized_keys(),
            };
            return Ok(Self { nulls: array.logical_nulls(), places: Some(places), values });
        }
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Boolean(array.as_boolean().values().clone()),
            DataType::Struct(_) => Values::Struct(columns(array.as_struct().columns())?),
            DataType::Map(..) => {
                let map = array.as_map();
                let (offsets, range) = Offsets::of(map.offsets());
                let entries = map.entries().slice(range.start, range.len());
                list(offsets, Self::new(&entries)?)
            }
            DataType::List(_) => {
                let array = array.as_list::<i32>();
                let (offsets, range) = Offsets::of(array.offsets());
                list(offsets, Self::new(&array.values().slice(range.start, range.len()))?)
            }
            DataType::LargeList(_) => {
                let array = array.as_list::<i64>();
                let (offsets, range) = Offsets::of_large(array.offsets());
                list(offsets, Self::new(&array.values().slice(range.start, range.len()))?)
            }
            DataType::FixedSizeList(_, size) => {
                list(Offsets::fixed(*size), Self::new(array.as_fixed_size_list().values())?)
            }
            other => match numbers::values(array).or_else(|| Bytes::new(array).map(Values::Bytes)) {
                Some(values) => values,
                None => return Err(ArrowError::NotYetImplemented(format!("to encode {other}"))),
            },
        };
        Ok(Self { nulls: array.nulls().cloned(), places: None, values })
    }

    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        match &self.nulls {
            Some(nulls) => nulls.is_null(row),
            None => matches!(self.values, Values::Null),
        }
    }

    /// Returns the index of a row's value.
    #[inline]
    pub(crate) fn place(&self, row: usize) -> usize {
        match &self.places {
            Some(places) => places.get(row).copied().unwrap_or_default(),
            None => row,
        }
    }
}

impl Source {
    /// Returns the columns of an entry's key and value, and the entry's index in them.
    #[inline]
    pub(crate) fn pair(
        &self,
        key: usize,
        value: usize,
        entry: usize,
    ) -> Result<(&Self, &Self, usize), RowFailure> {
        if self.is_null(entry) {
            return Err(RowFailure::new("an entry of a map is null"));
        }
        let Values::Struct(columns) = &self.values else { return Err(RowFailure::internal()) };
        match (columns.get(key), columns.get(value)) {
            (Some(key), Some(value)) => Ok((key, value, self.place(entry))),
            _ => Err(RowFailure::internal()),
        }
    }

    /// Returns the text of a key.
    #[inline]
    pub(crate) fn key(&self, row: usize) -> Result<&str, RowFailure> {
        match &self.values {
            _ if self.is_null(row) => Err(RowFailure::new("a key of a map is null")),
            Values::Bytes(values) => Ok(values.text(self.place(row))),
            _ => Err(RowFailure::internal()),
        }
    }
}

fn list(offsets: Offsets, items: Source) -> Values {
    Values::List(offsets, Box::new(items))
}

fn columns(columns: &[ArrayRef]) -> Result<Vec<Source>, ArrowError> {
    columns.iter().map(|column| Source::new(column)).collect()
}
