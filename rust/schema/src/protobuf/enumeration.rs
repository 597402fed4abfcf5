//! Enums: a column collects numbers, and its finished array has strings.
//!
//! A number without a name becomes its decimal text, whether the enum is open (proto3) or closed (proto2). If a number
//! has several names, the first one is used.

use std::io::Write;

use arrow_array::StringArray;
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::ArrowError;
use prost_reflect::EnumDescriptor;

use super::storage::Numbers;

/// The highest number whose name is looked up without a search.
const DENSE: usize = 1_024;

/// The names of an enum.
#[derive(Debug)]
pub(super) struct Names {
    /// For each small number, the index of its name plus one, or 0 if it has none.
    dense: Vec<u32>,
    /// The names, sorted by number.
    names: Vec<(i32, String)>,
    longest: usize,
}

/// The length of the longest number as text.
const NUMBER_BYTES: usize = 11;

impl Names {
    pub(super) fn new(descriptor: &EnumDescriptor) -> Self {
        // The values are in the order of the file. The sort is stable, so the first name of a number is kept.
        let values = descriptor.enum_descriptor_proto().value.iter();
        let mut names: Vec<_> = values.map(|value| (value.number(), value.name().to_owned())).collect();
        names.sort_by_key(|(number, _)| *number);
        names.dedup_by_key(|(number, _)| *number);
        let mut dense = Vec::new();
        for ((number, _), place) in names.iter().zip(1..) {
            if let Some(number) = usize::try_from(*number).ok().filter(|number| *number < DENSE) {
                dense.resize(number, 0);
                dense.push(place);
            }
        }
        let longest = names.iter().map(|(_, name)| name.len()).max().unwrap_or(0).max(NUMBER_BYTES);
        Self { dense, names, longest }
    }

    /// Returns the bytes of the longest text.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn get(&self, number: i32) -> Option<&str> {
        let dense = usize::try_from(number).ok().and_then(|number| self.dense.get(number));
        let place = match dense {
            Some(place) => usize::try_from(*place).ok()?.checked_sub(1)?,
            None => self.names.binary_search_by_key(&number, |(number, _)| *number).ok()?,
        };
        self.names.get(place).map(|(_, name)| name.as_str())
    }

    /// Finishes the strings of a column.
    pub(super) fn finish(&self, numbers: &mut Numbers<i32>, rows: usize) -> Result<StringArray, ArrowError> {
        let (numbers, nulls) = numbers.take(rows);
        let mut offsets = Vec::with_capacity(rows + 1);
        let mut bytes = Vec::with_capacity(rows * self.names.first().map_or(0, |(_, name)| name.len()));
        offsets.push(0);
        for (row, number) in numbers.iter().enumerate() {
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                match self.get(*number) {
                    Some(name) => bytes.extend_from_slice(name.as_bytes()),
                    None => write!(bytes, "{number}")?,
                }
            }
            let end = i32::try_from(bytes.len());
            offsets.push(end.map_err(|_| ArrowError::OffsetOverflowError(bytes.len()))?);
        }
        StringArray::try_new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes), nulls)
    }
}
