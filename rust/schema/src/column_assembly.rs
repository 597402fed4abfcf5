//! Assembles a column from rows that several decoders have decoded.
//!
//! Invariant: a row without a decoded value is null.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;

/// The position of the one null value that all null rows share.
const NULL: (usize, usize) = (0, 0);

/// The decoded rows of a column.
pub(crate) struct ColumnAssembly {
    arrays: Vec<ArrayRef>,
    /// For each row, the number of its array, counted from 1, and its index in that array.
    places: Vec<(usize, usize)>,
}

impl ColumnAssembly {
    /// Starts a column of `rows` rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { arrays: Vec::new(), places: vec![NULL; rows] }
    }

    /// Adds an array that holds these rows of the column, in this order.
    pub(crate) fn add(&mut self, rows: &[usize], array: ArrayRef) {
        for (at, row) in rows.iter().take(array.len()).enumerate() {
            if let Some(place) = self.places.get_mut(*row) {
                *place = (self.arrays.len() + 1, at);
            }
        }
        self.arrays.push(array);
    }

    /// Returns the column.
    pub(crate) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let all = self.arrays.iter().position(|array| array.len() == self.places.len());
        if let Some(all) = all
            && self.places.iter().enumerate().all(|(row, place)| *place == (all + 1, row))
        {
            return Ok(self.arrays.swap_remove(all));
        }
        let null = new_null_array(data_type, 1);
        let arrays = std::iter::once(&null).chain(&self.arrays);
        let arrays: Vec<&dyn Array> = arrays.map(AsRef::as_ref).collect();
        interleave(&arrays, &self.places)
    }
}
