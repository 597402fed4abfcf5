//! The classes of formats.

use ottla_schema::SchemaType;
use pyo3::prelude::*;

use super::column_format::{ColumnFormat, FormatArgs};

/// Keys or values in Avro.
///
/// Each record is read with the schema that it was written with, and converted to the reader's
/// schema by Avro's rules of schema resolution. Records become structs, enums strings, and unions
/// of several types structs with a field for each, ``member0``, ``member1`` …, as in Spark.
///
/// Args:
///     registry: the schema registry. It may be left out if the schema is given and records carry
///         no ids.
///     schema: the reader's schema, as its text, or as its id in the registry. Default: a version
///         of the subject.
///     version: the version of the subject. Default: the latest one when the first record is read.
///     subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
///     wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
///         or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (8
///         bytes), ``"glue"``, or ``"none"``.
///     mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
///         ``SerializationError`` after the records before it were returned; the position stays
///         before it. ``"permissive"`` returns null, with the reason in the column ``_error``.
///
/// Raises:
///     ConfigError: an argument is invalid, or the registry is missing.
#[pyclass(frozen, extends = ColumnFormat, module = "ottla.schema")]
pub(crate) struct Avro;

#[pymethods]
impl Avro {
    #[new]
    #[pyo3(signature = (registry=None, *, schema=None, version=None, subject=None, wire_format="confluent", mode="failfast"))]
    fn new(
        py: Python<'_>,
        registry: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        version: Option<i32>,
        subject: Option<String>,
        wire_format: &str,
        mode: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        let schema_type = SchemaType::Avro;
        let args = FormatArgs { schema_type, registry, schema, version, subject, wire_format, mode };
        Ok(PyClassInitializer::from(ColumnFormat::new(py, args)?).add_subclass(Self))
    }
}
