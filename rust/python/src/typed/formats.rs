//! The classes of formats.

use ottla_schema::SchemaType;
use pyo3::prelude::*;

use super::column_format::{ColumnFormat, FormatArgs};

use crate::convert::names::Names;
use crate::convert::number;

/// Keys or values in Avro.
///
/// Each record is read with the schema that it was written with, and converted to the reader's
/// schema by Avro's rules of schema resolution; values are encoded with that schema. Records
/// become structs, enums strings, and unions of several types structs with a field for each,
/// ``member0``, ``member1`` …, as in Spark.
///
/// Args:
///     source: the registry, or a type such as ``Order``: a dataclass, a pydantic model, an attrs
///         class, a msgspec Struct, a TypedDict, or ``list[Order]``. Records are then decoded to
///         objects of the type and encoded from them, and the schema is derived from it unless
///         ``schema`` or ``version`` is given. Default: dicts, and plain values.
///     registry: the schema registry. It may be left out if the schema is given and records carry
///         no ids, or AWS Glue's.
///     schema: the reader's schema, as its text, as its id in the registry, or as a ``Schema`` that
///         refers to others in the registry. Default: a version of the subject.
///     version: the version of the subject. Default: the latest one when the first record is read.
///     subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
///     subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
///         ``"record"``, by the full name of the record; ``"topic_record"``, by the topic,
///         a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
///         ``"value"``, and that name or None, and returns the subject. To read without a schema
///         then, pass ``convert=False``.
///     convert: whether records are converted to one schema. Otherwise each keeps the one that it
///         was written with, and is decoded to a ``TypedValue`` with the name of its type; there
///         are no columns then. Default: True.
///     wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
///         or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8
///         bytes before the value, or in headers; the registry needs ``apicurio_use_id``),
///         ``"glue"`` (to decode: pass the schema that all records were written with, and no
///         registry, as AWS Glue's is not called), or ``"none"``.
///     schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
///         or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
///         ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
///         registry must have GUIDs (Confluent Platform 8). Both are read in any case.
///     mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
///         ``SerializationError`` after the records before it were returned; the position stays
///         before it. ``"permissive"`` returns null, with the reason in the column ``_error``.
///         ``DeadLetters(…)`` writes them to a topic and leaves them out. Default: failfast.
///     fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
///         through arrays, the values of maps, and null; the types of a union are ``member0``,
///         ``member1`` …; a name with dots is in backquotes. Columns keep the order of the schema.
///         The other fields are passed over, which is faster: their values are not checked, and
///         they may be missing. Default: all.
///     register: when values are encoded, whether to register ``schema`` in the subject.
///         Otherwise it must be registered.
///     limits: what schemas may multiply, by configuration key, such as
///         ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.
///
/// Raises:
///     ConfigError: an argument is invalid, or the registry is missing.
#[pyclass(frozen, extends = ColumnFormat, module = "ottla.schema")]
pub(crate) struct Avro;

#[pymethods]
impl Avro {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (source=None, /, registry=None, *, schema=None, version=None, subject=None, subject_strategy=None, convert=true, wire_format="confluent", schema_id_serializer="prefix", mode=None, fields=None, register=false, limits=None))]
    fn new(
        py: Python<'_>,
        source: Option<&Bound<'_, PyAny>>,
        registry: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::version)] version: Option<i32>,
        subject: Option<String>,
        subject_strategy: Option<&Bound<'_, PyAny>>,
        convert: bool,
        wire_format: &str,
        schema_id_serializer: &str,
        mode: Option<&Bound<'_, PyAny>>,
        fields: Option<Names>,
        register: bool,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (schema_type, message) = (SchemaType::Avro, None);
        let args = FormatArgs {
            schema_type,
            source,
            registry,
            schema,
            version,
            message,
            subject,
            subject_strategy,
            convert,
            wire_format,
            schema_id_serializer,
            validate: false,
            mode,
            fields,
            register,
            limits,
        };
        Ok(PyClassInitializer::from(ColumnFormat::new(py, args)?).add_subclass(Self))
    }
}

/// Keys or values in Protobuf.
///
/// Records are read by the numbers of the reader's fields; fields that it does not have are
/// ignored. Messages become structs, enums the strings of their names, ``uint64`` a decimal of 20
/// digits, ``google.protobuf.Timestamp`` a timestamp in UTC, wrappers nullable values, and
/// ``google.protobuf.Struct`` JSON text. A field with presence that is not set is null.
///
/// Args:
///     source: the registry, or a generated class such as ``orders_pb2.Order``: records are then
///         decoded to its messages and encoded from them, with the schema of the class. Default:
///         dicts.
///     registry: the schema registry. It may be left out if the schema is given and records carry
///         no ids, or AWS Glue's.
///     schema: the reader's schema: the text of a ``.proto`` file, a serialized
///         ``FileDescriptorSet`` (bytes, from ``protoc --include_imports --descriptor_set_out``), a
///         generated class such as ``orders_pb2.Order``, its id in the registry, or a ``Schema``
///         that refers to others in the registry. Default: a version of the subject.
///     message: the full name of the message, with its package. Default: the generated class's, or
///         the first one of the schema.
///     version: the version of the subject. Default: the latest one when the first record is read.
///     subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
///     subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
///         ``"record"``, by the full name of the message; ``"topic_record"``, by the topic,
///         a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
///         ``"value"``, and that name or None, and returns the subject. To read without a schema
///         then, pass ``convert=False``.
///     convert: whether records are converted to one schema. Otherwise each keeps the one that it
///         was written with, and is decoded to a ``TypedValue`` with the name of its type; there
///         are no columns then. Default: True.
///     wire_format: where records carry the id of their schema, and which message they are:
///         ``"confluent"`` (the id and the indexes of the message before the value, or in the
///         headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8 bytes and
///         the message's name; the registry needs ``apicurio_use_id``), ``"glue"`` (to decode: the
///         id and the message's number; pass the schema, and no registry, as AWS Glue's is not
///         called), or ``"none"``.
///     schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
///         or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
///         ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
///         registry must have GUIDs (Confluent Platform 8). Both are read in any case.
///     mode: what happens to records that cannot be decoded, or that are another message.
///         ``"failfast"`` raises a ``SerializationError`` after the records before it were
///         returned; the position stays before it. ``"permissive"`` returns null, with the reason
///         in the column ``_error``. ``DeadLetters(…)`` writes them to a topic and leaves them out.
///         Default: failfast.
///     fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
///         through repeated fields and the values of maps. Columns keep the order of the schema.
///         The other fields are passed over, which is faster: their values are not checked, and
///         they may be missing, or recursive. Default: all.
///     register: when values are encoded, whether to register ``schema`` in the subject, and the
///         files that it imports in the subjects of their names, as Confluent's serializer does.
///         Otherwise they must be registered.
///     limits: what schemas may multiply, by configuration key, such as
///         ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.
///
/// Raises:
///     ConfigError: an argument is invalid, or the registry is missing.
///     SchemaError: descriptors are malformed or incomplete.
#[pyclass(frozen, extends = ColumnFormat, module = "ottla.schema")]
pub(crate) struct Protobuf;

#[pymethods]
impl Protobuf {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (source=None, /, registry=None, *, schema=None, message=None, version=None, subject=None, subject_strategy=None, convert=true, wire_format="confluent", schema_id_serializer="prefix", mode=None, fields=None, register=false, limits=None))]
    fn new(
        py: Python<'_>,
        source: Option<&Bound<'_, PyAny>>,
        registry: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        message: Option<String>,
        #[pyo3(from_py_with = number::version)] version: Option<i32>,
        subject: Option<String>,
        subject_strategy: Option<&Bound<'_, PyAny>>,
        convert: bool,
        wire_format: &str,
        schema_id_serializer: &str,
        mode: Option<&Bound<'_, PyAny>>,
        fields: Option<Names>,
        register: bool,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let schema_type = SchemaType::Protobuf;
        let args = FormatArgs {
            schema_type,
            source,
            registry,
            schema,
            version,
            message,
            subject,
            subject_strategy,
            convert,
            wire_format,
            schema_id_serializer,
            validate: false,
            mode,
            fields,
            register,
            limits,
        };
        Ok(PyClassInitializer::from(ColumnFormat::new(py, args)?).add_subclass(Self))
    }
}

/// Keys or values in JSON.
///
/// Each record is one value of JSON. Objects with known keys become structs, those with other keys
/// maps, and values of several types their JSON text. A value of another type than the schema's, a
/// missing one that is required, and a number that does not fit are errors; unknown keys are
/// ignored. Constraints of a JSON Schema, such as ``maximum``, are checked with ``validate=True``.
///
/// Args:
///     source: the registry, or a type such as ``Order``: a dataclass, a pydantic model, an attrs
///         class, a msgspec Struct, a TypedDict, or ``list[Order]``. Records are then decoded to
///         objects of the type and encoded from them, and the schema is derived from it unless
///         ``schema`` or ``version`` is given. Default: dicts, and plain values.
///     registry: the schema registry. It may be left out if the schema is given and records carry
///         no ids, or AWS Glue's.
///     schema: the text of a JSON Schema, its id in the registry, a ``Schema`` that refers to
///         others in the registry, or an Arrow type: a schema, field or type of pyarrow, polars or
///         another library with ``__arrow_c_schema__``, or the result of ``infer_json``. With an
///         Arrow type, timestamps and dates are text of RFC 3339, and decimals exact. Default: a
///         version of the subject.
///     version: the version of the subject. Default: the latest one when the first record is read.
///     subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
///     subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
///         ``"record"``, by the title of the schema; ``"topic_record"``, by the topic,
///         a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
///         ``"value"``, and that name or None, and returns the subject. To read without a schema
///         then, pass ``convert=False``.
///     convert: whether records are converted to one schema. Otherwise each keeps the one that it
///         was written with, and is decoded to a ``TypedValue`` with the name of its type; there
///         are no columns then. Default: True.
///     wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
///         or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8
///         bytes before the value, or in headers; the registry needs ``apicurio_use_id``),
///         ``"glue"`` (to decode: pass the schema, and no registry, as AWS Glue's is not called),
///         or ``"none"``.
///     schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
///         or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
///         ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
///         registry must have GUIDs (Confluent Platform 8). Both are read in any case.
///     validate: whether the constraints of the JSON Schema are checked, too, when records are read
///         and when they are written: one that breaks a rule is an error of its record. Needs
///         ``pip install 'ottla[json-validation]'``. Default: False.
///     mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
///         ``SerializationError`` after the records before it were returned; the position stays
///         before it. ``"permissive"`` returns null, with the reason in the column ``_error``.
///         ``DeadLetters(…)`` writes them to a topic and leaves them out. Default: failfast.
///     fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
///         through arrays and the values of maps; a key with dots is in backquotes, such as
///         ``"`http.method`"``. Columns keep the order of the schema. The other keys are passed
///         over, which is faster: they must be JSON, but may be of any type, or missing. Default:
///         all.
///     register: when values are encoded, whether to register ``schema`` in the subject.
///         Otherwise it must be registered.
///     limits: what schemas may multiply, by configuration key, such as
///         ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.
///
/// Raises:
///     ConfigError: an argument is invalid, or the registry is missing.
#[pyclass(frozen, extends = ColumnFormat, module = "ottla.schema")]
pub(crate) struct Json;

#[pymethods]
impl Json {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (source=None, /, registry=None, *, schema=None, version=None, subject=None, subject_strategy=None, convert=true, wire_format="confluent", schema_id_serializer="prefix", validate=false, mode=None, fields=None, register=false, limits=None))]
    fn new(
        py: Python<'_>,
        source: Option<&Bound<'_, PyAny>>,
        registry: Option<&Bound<'_, PyAny>>,
        schema: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = number::version)] version: Option<i32>,
        subject: Option<String>,
        subject_strategy: Option<&Bound<'_, PyAny>>,
        convert: bool,
        wire_format: &str,
        schema_id_serializer: &str,
        validate: bool,
        mode: Option<&Bound<'_, PyAny>>,
        fields: Option<Names>,
        register: bool,
        limits: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (schema_type, message) = (SchemaType::Json, None);
        let args = FormatArgs {
            schema_type,
            source,
            registry,
            schema,
            version,
            message,
            subject,
            subject_strategy,
            convert,
            wire_format,
            schema_id_serializer,
            validate,
            mode,
            fields,
            register,
            limits,
        };
        Ok(PyClassInitializer::from(ColumnFormat::new(py, args)?).add_subclass(Self))
    }
}
