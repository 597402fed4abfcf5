//! `encode_printed`: encodes the text that the command line prints for a value.

use ottla_schema::Header;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::column_format::ColumnFormat;
use super::encoding::encode_row;
use crate::convert::{arrow_builder, errors};

/// Encode the text that ``ottla consume`` prints for a key or a value.
///
/// Args:
///     format: the format.
///     topic: the topic, whose subject has the schema by default.
///     text: the text: JSON, in which a string that is the whole value has no quotes.
///     parse: returns the value of JSON text, with decimals for numbers with a point.
///     headers: the record's headers, to which the id is added if the format writes it there, and
///         from which others are removed.
///     key: whether it is a key.
///
/// Returns:
///     The bytes, with the id of the schema.
///
/// Raises:
///     KafkaError: as ``ColumnFormat.serialize``, and what ``parse`` raises.
#[pyfunction]
#[pyo3(signature = (format, topic, text, parse, headers=None, *, key=false))]
pub(crate) fn encode_printed<'py>(
    py: Python<'py>,
    format: &Bound<'py, ColumnFormat>,
    topic: &str,
    text: &Bound<'py, PyString>,
    parse: &Bound<'py, PyAny>,
    headers: Option<&Bound<'py, PyAny>>,
    key: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let header = if key { Header::Key } else { Header::Value };
    let encoder = format.get().topic_encoder(py, header, topic)?;
    let data_type = encoder.data_type().map_err(|error| errors::raise(py, &error))?;
    let value = match arrow_builder::is_text_in_json(data_type, text.to_str()?) {
        true => text.clone().into_any(),
        false => parse.call1((text,))?,
    };
    let array = arrow_builder::array_of_json(py, data_type, &value)?;
    let encoded = encode_row(py, &encoder, header, topic, &array)?;
    encoded.schema_id.apply_to(py, headers)?;
    Ok(encoded.bytes)
}
