//! Assembles a column from rows that several decoders have decoded.
//!
//! Invariant: a row without a decoded value is null.

use arrow_array::{Array, ArrayRef};
use arrow_schema::{ArrowError, DataType};

use crate::row_copies::{Place, copy_rows};

/// The decoded rows of a column.
pub(crate) struct ColumnAssembly {
    arrays: Vec<ArrayRef>,
    places: Vec<Place>,
}

impl ColumnAssembly {
    /// Starts a column of `rows` rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { arrays: Vec::new(), places: vec![None; rows] }
    }

    /// Adds an array that holds these rows of the column, in this order.
    pub(crate) fn add(&mut self, rows: &[usize], array: ArrayRef) {
        for (at, row) in rows.iter().take(array.len()).enumerate() {
            if let Some(place) = self.places.get_mut(*row) {
                *place = Some((self.arrays.len(), at));
            }
        }
        self.arrays.push(array);
    }

    /// Returns the column.
    pub(crate) fn finish(mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let all = self.arrays.iter().position(|array| array.len() == self.places.len());
        if let Some(all) = all
            && self.places.iter().enumerate().all(|(row, place)| *place == Some((all, row)))
        {
            return Ok(self.arrays.swap_remove(all));
        }
        copy_rows(data_type, &self.arrays, self.places.iter().copied())
    }
}
