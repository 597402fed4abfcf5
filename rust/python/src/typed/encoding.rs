//! Encoding with a format: one object, or the columns of Arrow batches.
//!
//! Invariant: a value that cannot be encoded is an error of the whole call, which names the row; nothing of the
//! call is sent.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, Field};
use ottla_client::typed::{TopicEncoder, TypedEncoder};
use ottla_client::{Error, Kind, Result};
use ottla_schema::Header;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{arrow_builder, errors};
use crate::runtime::wait_for;

/// Keys or values of one topic, and how they are encoded.
pub(crate) struct BatchEncoders {
    pub(crate) key: Option<Arc<TypedEncoder>>,
    pub(crate) value: Option<Arc<TypedEncoder>>,
}

/// Returns the encoder of a topic, which is looked up before the first value.
pub(super) fn topic_encoder(
    py: Python<'_>,
    encoder: &TypedEncoder,
    topic: &str,
) -> PyResult<Arc<TopicEncoder>> {
    match encoder.resolved(topic) {
        Some(encoder) => Ok(encoder),
        None => wait_for(py, encoder.resolve(topic)),
    }
}

/// Encodes an object that is not None.
pub(crate) fn encode_object<'py>(
    encoder: &TopicEncoder,
    header: Header,
    topic: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let array = arrow_builder::array(value.py(), encoder.data_type(), value)?;
    encode_row(value.py(), encoder, header, topic, &array)
}

/// Encodes an array with one row.
pub(super) fn encode_row<'py>(
    py: Python<'py>,
    encoder: &TopicEncoder,
    header: Header,
    topic: &str,
    array: &ArrayRef,
) -> PyResult<Bound<'py, PyBytes>> {
    let encoded = encode(encoder, array, header.column(), topic, 0);
    let encoded = encoded.map_err(|error| errors::raise(py, &error.as_kind(Kind::Serialization)))?;
    Ok(PyBytes::new(py, encoded.as_binary::<i32>().value(0)))
}

/// Encodes a column; `first` is the number of its first row in the call.
fn encode(
    encoder: &TopicEncoder,
    array: &ArrayRef,
    name: &str,
    topic: &str,
    first: usize,
) -> Result<ArrayRef> {
    let encoded = encoder.encode(array).map_err(|error| error.prefixed(name).topic(topic))?;
    match encoded.errors.into_iter().next() {
        Some(error) => {
            let row = first + error.row;
            let message = format!("the {name} in row {row} cannot be encoded: {}", error.reason);
            Err(Error::new(Kind::Serialization, message).topic(topic))
        }
        None => Ok(Arc::new(encoded.payloads)),
    }
}

impl BatchEncoders {
    /// Whether there is nothing to encode.
    pub(crate) fn are_none(&self) -> bool {
        self.key.is_none() && self.value.is_none()
    }

    /// Encodes the keys and values of chunks: arrays, or tables of a record's columns. With a format for values, a
    /// table without a column `value` is itself the values.
    pub(crate) async fn encode(
        &self,
        topic: &str,
        chunks: Vec<(Option<ArrayRef>, ArrayRef)>,
    ) -> Result<Vec<(Option<ArrayRef>, ArrayRef)>> {
        let resolve = async |encoder: &Option<Arc<TypedEncoder>>| match encoder {
            Some(encoder) => encoder.resolve(topic).await.map(Some),
            None => Ok(None),
        };
        let (key, value) = (resolve(&self.key).await?, resolve(&self.value).await?);
        let mut encoded = Vec::with_capacity(chunks.len());
        let mut first = 0;
        for (keys, values) in chunks {
            let rows = values.len();
            let is_table =
                values.as_struct_opt().is_some_and(|table| table.column_by_name("value").is_some());
            let field = |encoder: &Option<Arc<TopicEncoder>>, array: ArrayRef, name: &str| match encoder {
                Some(encoder) => self::encode(encoder, &array, name, topic, first),
                None => Ok(array),
            };
            encoded.push(match values.as_struct_opt() {
                Some(table) if is_table || value.is_none() => (
                    keys,
                    self::table(table, |name, array| match name {
                        "key" => field(&key, array, name),
                        "value" => field(&value, array, name),
                        _ => Ok(array),
                    })?,
                ),
                _ => {
                    let keys = keys.map(|keys| field(&key, keys, "key")).transpose()?;
                    (keys, field(&value, values, "value")?)
                }
            });
            first += rows;
        }
        Ok(encoded)
    }
}

/// A table with other columns.
fn table(table: &StructArray, convert: impl Fn(&str, ArrayRef) -> Result<ArrayRef>) -> Result<ArrayRef> {
    let mut fields = Vec::with_capacity(table.num_columns());
    let mut columns = Vec::with_capacity(table.num_columns());
    for (field, column) in table.fields().iter().zip(table.columns()) {
        let column = convert(field.name(), Arc::clone(column))?;
        fields.push(match column.data_type() == field.data_type() {
            true => Arc::clone(field),
            false => Arc::new(Field::new(field.name(), DataType::clone(column.data_type()), true)),
        });
        columns.push(column);
    }
    let table = StructArray::try_new_with_length(fields.into(), columns, table.nulls().cloned(), table.len());
    Ok(Arc::new(table.map_err(|error| Error::new(Kind::Internal, error.to_string()))?))
}
