//! A column of any type, into which the values of one field are read.
//!
//! Invariants: values are only read into the last row. The last value of a row wins, except that messages are merged.
//! After [`Column::truncate`] nothing is left of the later rows. The array has exactly the column's type.

pub(super) mod collections;
pub(super) mod message;

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::types::{
    BinaryType, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Utf8Type,
};
use arrow_schema::{ArrowError, DataType};

use collections::{ListColumn, MapColumn};
use message::MessageColumn;

use crate::protobuf::enumeration::Names;
use crate::protobuf::failure::{Failure, Limits};
use crate::protobuf::input::{BYTES, FIXED32, FIXED64, Input, START_GROUP, VARINT};
use crate::protobuf::json::JsonColumn;
use crate::protobuf::scalar::Encoding;
use crate::protobuf::storage::{Numbers, Texts};
use crate::protobuf::time::TimeColumn;

/// The largest number of decimal digits in an unsigned 64-bit integer.
pub(super) const U64_DIGITS: u8 = 20;

/// The largest number of bytes in JSON text for one byte of a string: an escape.
const JSON_BYTES: usize = 6;

/// The number of a field and the wire type of its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire: u8,
}

#[derive(Debug)]
pub(super) enum Column {
    Bool(Numbers<bool>),
    I32(Encoding, Numbers<i32>),
    /// Includes unsigned 32-bit numbers.
    I64(Encoding, Numbers<i64>),
    U64(Encoding, Numbers<i128>),
    F32(Numbers<f32>),
    F64(Numbers<f64>),
    Enum(Arc<Names>, Numbers<i32>),
    Text(Texts),
    Binary(Texts),
    Message {
        is_group: bool,
        message: Box<MessageColumn>,
    },
    List(Box<ListColumn>),
    Map(Box<MapColumn>),
    /// A wrapper: a message whose only field is this column's value.
    Wrapper(Box<Column>),
    Time(Box<TimeColumn>),
    Json(Box<JsonColumn>),
}

impl Column {
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Bool(_) => DataType::Boolean,
            Self::I32(..) => DataType::Int32,
            Self::I64(..) => DataType::Int64,
            Self::U64(..) => DataType::Decimal128(U64_DIGITS, 0),
            Self::F32(_) => DataType::Float32,
            Self::F64(_) => DataType::Float64,
            Self::Enum(..) | Self::Text(_) | Self::Json(_) => DataType::Utf8,
            Self::Binary(_) => DataType::Binary,
            Self::Message { message, .. } => message.data_type(),
            Self::List(list) => list.data_type(),
            Self::Map(map) => map.data_type(),
            Self::Wrapper(value) => value.data_type(),
            Self::Time(time) => time.data_type(),
        }
    }

    pub(super) fn is_nullable(&self) -> bool {
        match self {
            Self::Bool(numbers) => numbers.is_nullable(),
            Self::I32(_, numbers) | Self::Enum(_, numbers) => numbers.is_nullable(),
            Self::I64(_, numbers) => numbers.is_nullable(),
            Self::U64(_, numbers) => numbers.is_nullable(),
            Self::F32(numbers) => numbers.is_nullable(),
            Self::F64(numbers) => numbers.is_nullable(),
            Self::Text(texts) | Self::Binary(texts) => texts.is_nullable(),
            Self::Message { message, .. } => message.is_nullable(),
            Self::List(_) | Self::Map(_) => false,
            Self::Wrapper(value) => value.is_nullable(),
            Self::Time(time) => time.micros.is_nullable(),
            Self::Json(json) => json.texts.is_nullable(),
        }
    }

    /// Returns the bytes of each value, set or not, without the bytes of strings and items.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Bool(_) => 1,
            Self::I32(..) | Self::F32(_) => 4,
            Self::I64(..) | Self::F64(_) | Self::Time(_) => 8,
            Self::U64(..) => 16,
            // A number, and a string because the names are copied when the array is finished.
            Self::Enum(names, _) => 8 + names.longest(),
            Self::Text(texts) | Self::Binary(texts) => texts.width(),
            Self::Json(json) => json.texts.width(),
            Self::Message { message, .. } => message.width(),
            Self::List(_) | Self::Map(_) => 4,
            Self::Wrapper(value) => value.width(),
        }
    }

    /// Returns the wire types that a value may have, as a bit set.
    pub(super) fn wires(&self) -> u8 {
        let wire = match self {
            Self::Bool(_) | Self::Enum(..) => VARINT,
            Self::I32(encoding, _) => encoding.wire(4),
            Self::I64(encoding, _) => encoding.wire(8),
            Self::U64(encoding, _) => encoding.wire(8),
            Self::F32(_) => FIXED32,
            Self::F64(_) => FIXED64,
            Self::Message { is_group: true, .. } => START_GROUP,
            Self::List(list) if list.is_packable() => return list.items.wires() | 1 << BYTES,
            Self::List(list) => return list.items.wires(),
            _ => BYTES,
        };
        1 << wire
    }

    /// Returns whether several values may be packed into one field without tags.
    pub(super) fn is_packable(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::I32(..)
                | Self::I64(..)
                | Self::U64(..)
                | Self::F32(_)
                | Self::F64(_)
                | Self::Enum(..)
        )
    }

    /// Returns whether [`Column::end_row`] does anything.
    pub(super) fn needs_end(&self) -> bool {
        match self {
            Self::Message { message, .. } => message.needs_end(),
            Self::Json(_) => true,
            _ => false,
        }
    }

    /// Reads a value with one of the column's wire types.
    #[inline]
    pub(super) fn read(
        &mut self,
        row: usize,
        tag: Tag,
        input: &mut Input<'_>,
        limits: &mut Limits,
    ) -> Result<(), Failure> {
        match self {
            Self::Bool(numbers) => numbers.set(row, input.varint()? != 0),
            Self::I32(encoding, numbers) => numbers.set(row, encoding.read_i32(input)?),
            Self::I64(encoding, numbers) => numbers.set(row, encoding.read_i64(input)?),
            Self::U64(encoding, numbers) => numbers.set(row, encoding.read_u64(input)?),
            Self::F32(numbers) => numbers.set(row, f32::from_le_bytes(input.fixed()?)),
            Self::F64(numbers) => numbers.set(row, f64::from_le_bytes(input.fixed()?)),
            Self::Enum(_, numbers) => numbers.set(row, input.varint()? as i32),
            Self::Text(texts) => {
                let text = input.bytes()?;
                if limits.checks_text && std::str::from_utf8(text).is_err() {
                    return Err(Failure::malformed("a text is not UTF-8"));
                }
                limits.take(text.len())?;
                texts.set(row, text)?;
            }
            Self::Binary(texts) => {
                let bytes = input.bytes()?;
                limits.take(bytes.len())?;
                texts.set(row, bytes)?;
            }
            Self::Message { is_group: true, message } => message.read(row, tag.number, input, limits)?,
            Self::Message { message, .. } => message.read(row, 0, &mut Input::new(input.bytes()?), limits)?,
            Self::List(list) => list.read(row, tag, input, limits)?,
            Self::Map(map) => map.read(row, Input::new(input.bytes()?), limits)?,
            Self::Wrapper(value) => value.read_wrapper(row, Input::new(input.bytes()?), limits)?,
            Self::Time(time) => time.read(row, Input::new(input.bytes()?))?,
            Self::Json(json) => {
                let bytes = input.bytes()?;
                limits.take(bytes.len().saturating_mul(JSON_BYTES))?;
                json.read(Input::new(bytes))?;
            }
        }
        Ok(())
    }

    fn read_wrapper(&mut self, row: usize, mut input: Input<'_>, limits: &mut Limits) -> Result<(), Failure> {
        if !self.has(row) {
            self.set_default(row)?;
        }
        while !input.is_empty() {
            let (number, wire) = input.tag()?;
            match number == 1 && self.wires() & 1 << wire != 0 {
                true => self.read(row, Tag { number, wire }, &mut input, limits)?,
                false => input.skip(number, wire)?,
            }
        }
        Ok(())
    }

    /// Reads the values of a packed field as rows from `row` on. Returns the number of values.
    pub(super) fn read_packed(&mut self, row: usize, bytes: &[u8]) -> Result<usize, Failure> {
        match self {
            Self::Bool(numbers) => numbers.extend(row, bytes, |input| Ok(input.varint()? != 0)),
            Self::I32(encoding, numbers) => numbers.extend(row, bytes, |input| encoding.read_i32(input)),
            Self::I64(encoding, numbers) => numbers.extend(row, bytes, |input| encoding.read_i64(input)),
            Self::U64(encoding, numbers) => numbers.extend(row, bytes, |input| encoding.read_u64(input)),
            Self::F32(numbers) => numbers.extend(row, bytes, |input| input.fixed().map(f32::from_le_bytes)),
            Self::F64(numbers) => numbers.extend(row, bytes, |input| input.fixed().map(f64::from_le_bytes)),
            Self::Enum(_, numbers) => numbers.extend(row, bytes, |input| Ok(input.varint()? as i32)),
            _ => Err(Failure::malformed("a packed field has values that cannot be packed")),
        }
    }

    /// Returns whether this row, which is the last one, has a value.
    pub(super) fn has(&self, row: usize) -> bool {
        match self {
            Self::Bool(numbers) => numbers.has(row),
            Self::I32(_, numbers) | Self::Enum(_, numbers) => numbers.has(row),
            Self::I64(_, numbers) => numbers.has(row),
            Self::U64(_, numbers) => numbers.has(row),
            Self::F32(numbers) => numbers.has(row),
            Self::F64(numbers) => numbers.has(row),
            Self::Text(texts) | Self::Binary(texts) => texts.has(row),
            Self::Message { message, .. } => message.has(row),
            // Lists and maps have no presence.
            Self::List(_) | Self::Map(_) => true,
            Self::Wrapper(value) => value.has(row),
            Self::Time(time) => time.micros.has(row),
            Self::Json(json) => json.has(row),
        }
    }

    /// Gives a scalar its default.
    fn set_default(&mut self, row: usize) -> Result<(), Failure> {
        match self {
            Self::Bool(numbers) => numbers.set_default(row),
            Self::I32(_, numbers) | Self::Enum(_, numbers) => numbers.set_default(row),
            Self::I64(_, numbers) => numbers.set_default(row),
            Self::U64(_, numbers) => numbers.set_default(row),
            Self::F32(numbers) => numbers.set_default(row),
            Self::F64(numbers) => numbers.set_default(row),
            Self::Text(texts) | Self::Binary(texts) => texts.set_default(row)?,
            _ => {}
        }
        Ok(())
    }

    /// Completes a row whose fields have all been read.
    pub(super) fn end_row(&mut self, row: usize) -> Result<(), Failure> {
        match self {
            Self::Message { message, .. } => message.end_row(row),
            Self::Json(json) => json.end_row(row),
            _ => Ok(()),
        }
    }

    /// Removes all rows from this one on.
    pub(super) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Bool(numbers) => numbers.truncate(rows),
            Self::I32(_, numbers) | Self::Enum(_, numbers) => numbers.truncate(rows),
            Self::I64(_, numbers) => numbers.truncate(rows),
            Self::U64(_, numbers) => numbers.truncate(rows),
            Self::F32(numbers) => numbers.truncate(rows),
            Self::F64(numbers) => numbers.truncate(rows),
            Self::Text(texts) | Self::Binary(texts) => texts.truncate(rows),
            Self::Message { message, .. } => message.truncate(rows),
            Self::List(list) => list.truncate(rows),
            Self::Map(map) => map.truncate(rows),
            Self::Wrapper(value) => value.truncate(rows),
            Self::Time(time) => time.micros.truncate(rows),
            Self::Json(json) => json.truncate(rows),
        }
    }

    /// Takes the rows out of the column, as an array of `rows` values.
    pub(super) fn finish(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Bool(numbers) => Arc::new(numbers.finish_booleans(rows)),
            Self::I32(_, numbers) => Arc::new(numbers.finish::<Int32Type>(rows)?),
            Self::I64(_, numbers) => Arc::new(numbers.finish::<Int64Type>(rows)?),
            Self::U64(_, numbers) => {
                let array = numbers.finish::<Decimal128Type>(rows)?;
                Arc::new(array.with_precision_and_scale(U64_DIGITS, 0)?)
            }
            Self::F32(numbers) => Arc::new(numbers.finish::<Float32Type>(rows)?),
            Self::F64(numbers) => Arc::new(numbers.finish::<Float64Type>(rows)?),
            Self::Enum(names, numbers) => Arc::new(names.finish(numbers, rows)?),
            Self::Text(texts) => Arc::new(texts.finish::<Utf8Type>(rows)?),
            Self::Binary(texts) => Arc::new(texts.finish::<BinaryType>(rows)?),
            Self::Message { message, .. } => message.finish(rows)?,
            Self::List(list) => Arc::new(list.finish(rows)?),
            Self::Map(map) => Arc::new(map.finish(rows)?),
            Self::Wrapper(value) => value.finish(rows)?,
            Self::Time(time) => time.finish(rows)?,
            Self::Json(json) => Arc::new(json.texts.finish::<Utf8Type>(rows)?),
        })
    }
}
