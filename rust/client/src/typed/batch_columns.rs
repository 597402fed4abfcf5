//! The columns of a batch of bytes, by what they are.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch};
use ottla_arrow::Column;

/// A column of a batch that has these columns.
pub(super) fn column_of<'a>(
    columns: &[Column],
    batch: &'a RecordBatch,
    wanted: Column,
) -> Option<&'a ArrayRef> {
    batch.columns().get(columns.iter().position(|column| *column == wanted)?)
}

/// The offset of a row; −1 without the column.
pub(crate) fn offset(columns: &[Column], batch: &RecordBatch, row: usize) -> i64 {
    let offsets = column_of(columns, batch, Column::Offset);
    let offsets = offsets.and_then(|offsets| offsets.as_primitive_opt::<Int64Type>());
    offsets.filter(|offsets| row < offsets.len()).map_or(-1, |offsets| offsets.value(row))
}

/// The headers of the rows.
pub(super) fn headers<'a>(columns: &[Column], batch: &'a RecordBatch) -> Option<&'a ListArray> {
    column_of(columns, batch, Column::Headers)?.as_list_opt()
}
