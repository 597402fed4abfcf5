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
use crate::typed::schema_id_header::{SchemaIdHeader, SchemaIdHeaders};

/// An encoded key or value.
pub(crate) struct Encoded<'py> {
    pub(crate) bytes: Bound<'py, PyBytes>,
    pub(crate) schema_id: SchemaIdHeader,
}

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
) -> PyResult<Encoded<'py>> {
    let data_type = encoder.data_type().map_err(|error| errors::raise(value.py(), &error))?;
    let array = arrow_builder::array(value.py(), data_type, value)?;
    encode_row(value.py(), encoder, header, topic, &array)
}

/// Encodes an array with one row.
pub(super) fn encode_row<'py>(
    py: Python<'py>,
    encoder: &TopicEncoder,
    header: Header,
    topic: &str,
    array: &ArrayRef,
) -> PyResult<Encoded<'py>> {
    let encoded = encode(encoder, array, header, topic, 0);
    let (encoded, schema_id) =
        encoded.map_err(|error| errors::raise(py, &error.as_kind(Kind::Serialization)))?;
    Ok(Encoded { bytes: PyBytes::new(py, encoded.as_binary::<i32>().value(0)), schema_id })
}

/// Encodes a column; `first` is the number of its first row in the call.
fn encode(
    encoder: &TopicEncoder,
    array: &ArrayRef,
    header: Header,
    topic: &str,
    first: usize,
) -> Result<(ArrayRef, SchemaIdHeader)> {
    let name = header.column();
    let encoded = encoder.encode(array).map_err(|error| error.prefixed(name).topic(topic))?;
    match encoded.column.errors.into_iter().next() {
        Some(error) => {
            let row = first + error.row;
            let message = format!("the {name} in row {row} cannot be encoded: {}", error.reason);
            Err(Error::new(Kind::Serialization, message).topic(topic))
        }
        None => Ok((
            Arc::new(encoded.column.payloads),
            SchemaIdHeader::of(encoder.wire_format(), header, encoded.schema_id),
        )),
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
    ) -> Result<(Vec<(Option<ArrayRef>, ArrayRef)>, SchemaIdHeaders)> {
        let resolve = async |encoder: &Option<Arc<TypedEncoder>>| match encoder {
            Some(encoder) => encoder.resolve(topic).await.map(Some),
            None => Ok(None),
        };
        let (key, value) = (resolve(&self.key).await?, resolve(&self.value).await?);
        let mut encoded = Vec::with_capacity(chunks.len());
        let mut schema_ids = SchemaIdHeaders::default();
        let mut first = 0;
        for (keys, values) in chunks {
            let rows = values.len();
            let is_table =
                values.as_struct_opt().is_some_and(|table| table.column_by_name("value").is_some());
            let mut field = |header: Header, array: ArrayRef| {
                let (encoder, schema_id) = match header {
                    Header::Key => (&key, &mut schema_ids.key),
                    Header::Value => (&value, &mut schema_ids.value),
                };
                let Some(encoder) = encoder else { return Ok(array) };
                // The same for all chunks: it depends on the format and the topic alone.
                let (array, id) = self::encode(encoder, &array, header, topic, first)?;
                *schema_id = id;
                Ok(array)
            };
            encoded.push(match values.as_struct_opt() {
                Some(table) if is_table || value.is_none() => (
                    keys,
                    self::table(table, |name, array| match name {
                        "key" => field(Header::Key, array),
                        "value" => field(Header::Value, array),
                        _ => Ok(array),
                    })?,
                ),
                _ => {
                    let keys = keys.map(|keys| field(Header::Key, keys)).transpose()?;
                    (keys, field(Header::Value, values)?)
                }
            });
            first += rows;
        }
        Ok((encoded, schema_ids))
    }
}

/// A table with other columns.
fn table(
    table: &StructArray,
    mut convert: impl FnMut(&str, ArrayRef) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
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
