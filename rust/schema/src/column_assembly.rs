//! Puts the rows of a column together, which several decoders have decoded.
//!
//! Invariant: a row that nothing was added for is null.

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::interleave::interleave;

/// The array that has the row for all that are null.
const NULL: (usize, usize) = (0, 0);

/// The decoded rows of a column.
pub(crate) struct ColumnAssembly {
    arrays: Vec<ArrayRef>,
    /// The number of a row's array, from 1 on, and the row in it.
    places: Vec<(usize, usize)>,
}

impl ColumnAssembly {
    /// Starts a column of so many rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { arrays: Vec::new(), places: vec![NULL; rows] }
    }

    /// Adds an array, which has these rows of the column, in order.
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
