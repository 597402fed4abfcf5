//! Copies rows of arrays to a new array.
//!
//! Invariants: rows that follow each other in an array are copied at once. Any type is copied without changing it.

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array, new_null_array};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType};

/// A row: the number of its array and its index there, or a null.
pub type Place = Option<(usize, usize)>;

/// Copies rows of arrays of this type, in this order.
///
/// # Errors
/// The rows do not fit into one array.
pub fn copy_rows<'a>(
    data_type: &DataType,
    arrays: impl IntoIterator<Item = &'a ArrayRef>,
    places: impl ExactSizeIterator<Item = Place>,
) -> Result<ArrayRef, ArrowError> {
    let arrays: Vec<ArrayData> = arrays.into_iter().map(|array| array.to_data()).collect();
    let rows = places.len();
    if arrays.is_empty() {
        return Ok(new_null_array(data_type, rows));
    }
    let mut copies = MutableArrayData::new(arrays.iter().collect(), true, rows);
    let mut append = |(first, count): (Place, usize)| match first {
        Some((array, start)) => copies.try_extend(array, start, start + count),
        None => copies.try_extend_nulls(count),
    };
    let mut run: Option<(Place, usize)> = None;
    for place in places {
        match &mut run {
            Some((first, count)) if place == first.map(|(array, start)| (array, start + *count)) => {
                *count += 1
            }
            _ => run.replace((place, 1)).map_or(Ok(()), &mut append)?,
        }
    }
    run.map_or(Ok(()), append)?;
    Ok(make_array(copies.freeze()))
}

/// Copies the rows of a batch whose indexes are given, in this order.
///
/// # Errors
/// The rows do not fit into one batch.
pub fn select_rows(
    batch: &RecordBatch,
    rows: impl ExactSizeIterator<Item = usize> + Clone,
) -> Result<RecordBatch, ArrowError> {
    let copy =
        |column: &ArrayRef| copy_rows(column.data_type(), [column], rows.clone().map(|row| Some((0, row))));
    let columns = batch.columns().iter().map(copy).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}
