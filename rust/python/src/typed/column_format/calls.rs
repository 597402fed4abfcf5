//! The formats of a call: the arguments `key_format` and `value_format`.
//!
//! Invariant: a format of a column that is not asked for is an error.

use ottla_arrow::Column;
use ottla_client::typed::TypedColumns;
use ottla_schema::Header;
use pyo3::prelude::*;

use super::ColumnFormat;
use crate::convert::errors;
use crate::typed::encoding::BatchEncoders;

/// Converts the arguments `key_format` and `value_format` of a call that reads these columns.
pub(crate) fn typed_columns(
    py: Python<'_>,
    key: Option<&Bound<'_, ColumnFormat>>,
    value: Option<&Bound<'_, ColumnFormat>>,
    columns: &[Column],
) -> PyResult<TypedColumns> {
    for (format, column) in [(key, Column::Key), (value, Column::Value)] {
        if format.is_some() && !columns.contains(&column) {
            let name = column.name();
            let message = format!("{name}_format is given, but columns does not list {name:?}");
            return Err(errors::config(py, message));
        }
    }
    let typed = |format: Option<&Bound<'_, ColumnFormat>>, header| {
        let column = format.map(|format| format.get().column(py, header)).transpose()?;
        match column {
            Some(column) if column.is_as_written() => Err(errors::raise(py, &column.has_no_column())),
            column => Ok(column),
        }
    };
    Ok(TypedColumns { key: typed(key, Header::Key)?, value: typed(value, Header::Value)? })
}

/// Converts the arguments `key_format` and `value_format` of a call that encodes columns.
pub(crate) fn batch_encoders(
    py: Python<'_>,
    key: Option<&ColumnFormat>,
    value: Option<&ColumnFormat>,
) -> PyResult<BatchEncoders> {
    let encoder =
        |format: Option<&ColumnFormat>, header| format.map(|format| format.encoder(py, header)).transpose();
    Ok(BatchEncoders { key: encoder(key, Header::Key)?, value: encoder(value, Header::Value)? })
}
