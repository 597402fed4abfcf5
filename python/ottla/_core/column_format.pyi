"""Formats of keys and values with a schema."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import GenericAlias
from typing import Any, Generic, Literal, TypeAlias, final, overload

from typing_extensions import TypeVar, Unpack, disjoint_base

from ottla._core.client import AsyncClient, Client
from ottla._core.schema_registry import AsyncRegistry, Registry, Schema
from ottla.config_types import ProducerConfig

_WireFormat: TypeAlias = Literal["confluent", "apicurio", "glue", "none"]
# Called with the topic, "key" or "value", and the name of the type, if it has one.
_SubjectStrategy: TypeAlias = (
    Literal["topic", "record", "topic_record"] | Callable[[str, str, str | None], str]
)
_SchemaIdSerializer: TypeAlias = Literal["prefix", "header"]
_Mode: TypeAlias = Literal["failfast", "permissive"]
_T = TypeVar("_T")
# Of a format: its objects, or Any for dicts and other plain values.
_Object = TypeVar("_Object", covariant=True, default=Any)

@final
class DeadLetters:
    """A topic for records that cannot be decoded, as the ``mode`` of a format.

    Before a batch is returned without such records, each is written to the topic, and was
    acknowledged: with its key, value, headers and timestamp, and with the headers
    ``__ottla.errors.message``, ``__ottla.errors.topic``, ``__ottla.errors.partition`` and
    ``__ottla.errors.offset``. If it cannot be written, the poll or the scan raises the error, and
    the position stays before it. A batch that is read again is written again.

    Args:
        topic: the topic, which must not be one that is read.
        bootstrap: a client whose connections the producer uses, or addresses as ``host:port``
            (``bootstrap.servers``).
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence.

    Raises:
        ConfigError: a key or a value is invalid, or the configuration has a transactional id.
    """
    def __new__(
        cls,
        topic: str,
        bootstrap: str | Sequence[str] | Client | AsyncClient | None = None,
        config: Mapping[str, Any] | None = None,
        **kwargs: Unpack[ProducerConfig],
    ) -> DeadLetters: ...
    @property
    def topic(self) -> str:
        """The topic."""

@disjoint_base
class ColumnFormat(Generic[_Object]):
    """How keys or values with a schema are decoded. Create one of its classes."""

    def __class_getitem__(cls, key: Any) -> GenericAlias: ...
    @property
    def mode(self) -> Literal["failfast", "permissive", "dead-letters"]:
        """What happens to records that cannot be decoded: ``"failfast"``, ``"permissive"``, or
        ``"dead-letters"`` for ``DeadLetters(…)``.
        """
    def arrow_type(self, topic: str | None = None, *, key: bool = False) -> ArrowType:
        """Return the type of the column, and look up the reader's schema for it.

        Args:
            topic: the topic, if the reader's schema is that of the topic's subject.
            key: whether to return the type of keys, not of values.

        Returns:
            The Arrow type, for any library that supports Arrow's PyCapsule interface.

        Raises:
            ConfigError: the topic is needed.
            SchemaError: there is no schema to read with, or it cannot be used.
            KafkaError: the errors of the schema registry.
        """
    def serialize(
        self,
        topic: str,
        value: Any,
        headers: Any = None,
        *,
        key: bool = False,
    ) -> bytes | None:
        """Encode one value, with the id of its schema.

        To encode many, pass the format to a producer as a serializer, or to ``send_batch``.

        Args:
            topic: the topic, whose subject has the schema by default.
            value: the value: a dict for a struct, and otherwise what ``deserialize`` returns. A
                value of a union may be given as itself, or as ``{"member1": value}``. None is a
                tombstone.
            headers: the record's headers, a list or a dict, to which
                ``schema_id_serializer="header"`` adds the id of the schema. Headers that name the
                schema of other bytes are removed from it. Default: none.
            key: whether it is a key.

        Returns:
            The bytes, or None.

        Raises:
            SerializationError: the value does not fit the schema.
            SchemaError: the schema is invalid, is not registered, or was refused.
            TypeError: a field is of another type.
            ValueError: a field does not fit its type.
            KafkaError: the errors of the schema registry.
        """
    def deserialize(
        self,
        topic: str,
        data: bytes,
        headers: Sequence[tuple[str, bytes | None]] = ...,
        *,
        key: bool = False,
    ) -> _Object:
        """Decode one value, or one key, to plain Python objects: structs and maps are dicts.

        To decode many, pass the format to a consumer or a scan, which decode them together.

        Args:
            topic: the topic, whose subject has the reader's schema by default.
            data: the bytes of the value or the key.
            headers: the record's headers, in which the id of the schema may be.
            key: whether it is a key.

        Returns:
            The value.

        Raises:
            SchemaError: there is no schema to read with, or it cannot be used.
            SerializationError: the value cannot be decoded.
            KafkaError: the errors of the schema registry.
        """

@final
class Avro(ColumnFormat[_Object]):
    """Keys or values in Avro.

    Each record is read with the schema that it was written with, and converted to the reader's
    schema by Avro's rules of schema resolution; values are encoded with that schema. Records
    become structs, enums strings, and unions of several types structs with a field for each,
    ``member0``, ``member1`` …, as in Spark.

    Args:
        source: the registry, or a type such as ``Order``: a dataclass, a pydantic model, an attrs
            class, a msgspec Struct, a TypedDict, or ``list[Order]``. Records are then decoded to
            objects of the type and encoded from them, and the schema is derived from it unless
            ``schema`` or ``version`` is given. Default: dicts, and plain values.
        registry: the schema registry. It may be left out if the schema is given and records carry
            no ids, or AWS Glue's.
        schema: the reader's schema, as its text, as its id in the registry, or as a ``Schema`` that
            refers to others in the registry. Default: a version of the subject.
        version: the version of the subject. Default: the latest one when the first record is read.
        subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
        subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
            ``"record"``, by the full name of the record; ``"topic_record"``, by the topic,
            a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
            ``"value"``, and that name or None, and returns the subject. To read without a schema
            then, pass ``convert=False``.
        convert: whether records are converted to one schema. Otherwise each keeps the one that it
            was written with, and is decoded to a ``TypedValue`` with the name of its type; there
            are no columns then. Default: True.
        wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
            or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8
            bytes before the value, or in headers; the registry needs ``apicurio_use_id``),
            ``"glue"`` (to decode: pass the schema that all records were written with, and no
            registry, as AWS Glue's is not called), or ``"none"``.
        schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
            or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
            ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
            registry must have GUIDs (Confluent Platform 8). Both are read in any case.
        mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
            ``SerializationError`` after the records before it were returned; the position stays
            before it. ``"permissive"`` returns null, with the reason in the column ``_error``.
            ``DeadLetters(…)`` writes them to a topic and leaves them out. Default: failfast.
        fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
            through arrays, the values of maps, and null; the types of a union are ``member0``,
            ``member1`` …; a name with dots is in backquotes. Columns keep the order of the schema.
            The other fields are passed over, which is faster: their values are not checked, and
            they may be missing. Default: all.
        register: when values are encoded, whether to register ``schema`` in the subject.
            Otherwise it must be registered.
        limits: what schemas may multiply, by configuration key, such as
            ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.

    Raises:
        ConfigError: an argument is invalid, or the registry is missing.
    """

    @overload
    def __new__(
        cls,
        source: type[_T],
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | int | Schema | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Avro[_T]: ...
    @overload
    def __new__(
        cls,
        source: Registry | AsyncRegistry | None = None,
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | int | Schema | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Avro[Any]: ...

@final
class Protobuf(ColumnFormat[_Object]):
    """Keys or values in Protobuf.

    Records are read by the numbers of the reader's fields; fields that it does not have are
    ignored. Messages become structs, enums the strings of their names, ``uint64`` a decimal of 20
    digits, ``google.protobuf.Timestamp`` a timestamp in UTC, wrappers nullable values, and
    ``google.protobuf.Struct`` JSON text. A field with presence that is not set is null.

    Args:
        source: the registry, or a generated class such as ``orders_pb2.Order``: records are then
            decoded to its messages and encoded from them, with the schema of the class. Default:
            dicts.
        registry: the schema registry. It may be left out if the schema is given and records carry
            no ids, or AWS Glue's.
        schema: the reader's schema: the text of a ``.proto`` file, a serialized
            ``FileDescriptorSet`` (bytes, from ``protoc --include_imports --descriptor_set_out``), a
            generated class such as ``orders_pb2.Order``, its id in the registry, or a ``Schema``
            that refers to others in the registry. Default: a version of the subject.
        message: the full name of the message, with its package. Default: the generated class's, or
            the first one of the schema.
        version: the version of the subject. Default: the latest one when the first record is read.
        subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
        subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
            ``"record"``, by the full name of the message; ``"topic_record"``, by the topic,
            a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
            ``"value"``, and that name or None, and returns the subject. To read without a schema
            then, pass ``convert=False``.
        convert: whether records are converted to one schema. Otherwise each keeps the one that it
            was written with, and is decoded to a ``TypedValue`` with the name of its type; there
            are no columns then. Default: True.
        wire_format: where records carry the id of their schema, and which message they are:
            ``"confluent"`` (the id and the indexes of the message before the value, or in the
            headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8 bytes and
            the message's name; the registry needs ``apicurio_use_id``), ``"glue"`` (to decode: the
            id and the message's number; pass the schema, and no registry, as AWS Glue's is not
            called), or ``"none"``.
        schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
            or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
            ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
            registry must have GUIDs (Confluent Platform 8). Both are read in any case.
        mode: what happens to records that cannot be decoded, or that are another message.
            ``"failfast"`` raises a ``SerializationError`` after the records before it were
            returned; the position stays before it. ``"permissive"`` returns null, with the reason
            in the column ``_error``. ``DeadLetters(…)`` writes them to a topic and leaves them out.
            Default: failfast.
        fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
            through repeated fields and the values of maps. Columns keep the order of the schema.
            The other fields are passed over, which is faster: their values are not checked, and
            they may be missing, or recursive. Default: all.
        register: when values are encoded, whether to register ``schema`` in the subject, and the
            files that it imports in the subjects of their names, as Confluent's serializer does.
            Otherwise they must be registered.
        limits: what schemas may multiply, by configuration key, such as
            ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.

    Raises:
        ConfigError: an argument is invalid, or the registry is missing.
        SchemaError: descriptors are malformed or incomplete.
    """
    @overload
    def __new__(
        cls,
        source: type[_T],
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | bytes | int | Schema | Any | None = None,
        message: str | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Protobuf[_T]: ...
    @overload
    def __new__(
        cls,
        source: Registry | AsyncRegistry | None = None,
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | bytes | int | Schema | Any | None = None,
        message: str | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Protobuf[Any]: ...

@final
class Json(ColumnFormat[_Object]):
    """Keys or values in JSON.

    Each record is one value of JSON. Objects with known keys become structs, those with other keys
    maps, and values of several types their JSON text. A value of another type than the schema's, a
    missing one that is required, and a number that does not fit are errors; unknown keys are
    ignored. Constraints of a JSON Schema, such as ``maximum``, are checked with ``validate=True``.

    Args:
        source: the registry, or a type such as ``Order``: a dataclass, a pydantic model, an attrs
            class, a msgspec Struct, a TypedDict, or ``list[Order]``. Records are then decoded to
            objects of the type and encoded from them, and the schema is derived from it unless
            ``schema`` or ``version`` is given. Default: dicts, and plain values.
        registry: the schema registry. It may be left out if the schema is given and records carry
            no ids, or AWS Glue's.
        schema: the text of a JSON Schema, its id in the registry, a ``Schema`` that refers to
            others in the registry, or an Arrow type: a schema, field or type of pyarrow, polars or
            another library with ``__arrow_c_schema__``, or the result of ``infer_json``. With an
            Arrow type, timestamps and dates are text of RFC 3339, and decimals exact. Default: a
            version of the subject.
        version: the version of the subject. Default: the latest one when the first record is read.
        subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
        subject_strategy: how the subject of ``schema`` is named: ``"topic"``, as by default;
            ``"record"``, by the title of the schema; ``"topic_record"``, by the topic,
            a hyphen and that name; or a callable that is passed the topic, ``"key"`` or
            ``"value"``, and that name or None, and returns the subject. To read without a schema
            then, pass ``convert=False``.
        convert: whether records are converted to one schema. Otherwise each keeps the one that it
            was written with, and is decoded to a ``TypedValue`` with the name of its type; there
            are no columns then. Default: True.
        wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
            or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (4 or 8
            bytes before the value, or in headers; the registry needs ``apicurio_use_id``),
            ``"glue"`` (to decode: pass the schema, and no registry, as AWS Glue's is not called),
            or ``"none"``.
        schema_id_serializer: where the id of the schema is written: ``"prefix"``, before the value,
            or ``"header"``: the GUID of the schema in the record's header ``__key_schema_id`` or
            ``__value_schema_id``, as Confluent's ``HeaderSchemaIdSerializer`` writes it. The
            registry must have GUIDs (Confluent Platform 8). Both are read in any case.
        validate: whether the constraints of the JSON Schema are checked, too, when records are read
            and when they are written: one that breaks a rule is an error of its record. Needs
            ``pip install 'ottla[json-validation]'``. Default: False.
        mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
            ``SerializationError`` after the records before it were returned; the position stays
            before it. ``"permissive"`` returns null, with the reason in the column ``_error``.
            ``DeadLetters(…)`` writes them to a topic and leaves them out. Default: failfast.
        fields: the fields to decode, such as ``["id", "customer.address.city"]``. A path goes
            through arrays and the values of maps; a key with dots is in backquotes, such as
            ``"`http.method`"``. Columns keep the order of the schema. The other keys are passed
            over, which is faster: they must be JSON, but may be of any type, or missing. Default:
            all.
        register: when values are encoded, whether to register ``schema`` in the subject.
            Otherwise it must be registered.
        limits: what schemas may multiply, by configuration key, such as
            ``{"schema.fixed.max.bytes": 33554432}``. Default: the defaults of the keys.

    Raises:
        ConfigError: an argument is invalid, or the registry is missing.
    """
    @overload
    def __new__(
        cls,
        source: type[_T],
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | int | Schema | Any | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        validate: bool = False,
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Json[_T]: ...
    @overload
    def __new__(
        cls,
        source: Registry | AsyncRegistry | None = None,
        /,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | int | Schema | Any | None = None,
        version: int | None = None,
        subject: str | None = None,
        subject_strategy: _SubjectStrategy | None = None,
        convert: bool = True,
        wire_format: _WireFormat = "confluent",
        schema_id_serializer: _SchemaIdSerializer = "prefix",
        validate: bool = False,
        mode: _Mode | DeadLetters | None = None,
        fields: Sequence[str] | None = None,
        register: bool = False,
        limits: Mapping[str, str | int] | None = None,
    ) -> Json[Any]: ...

@final
class ArrowType:
    """An Arrow type, for any library that supports Arrow's PyCapsule interface.

    ``pyarrow.field(arrow_type)`` imports it, and ``pyarrow.schema(arrow_type)`` if it is a struct.
    """
    def __arrow_c_schema__(self) -> object: ...
    def __eq__(self, value: object, /) -> bool: ...

def encode_printed(
    format: ColumnFormat,
    topic: str,
    text: str,
    parse: Callable[[str], Any],
    headers: Any = None,
    *,
    key: bool = False,
) -> bytes:
    """Encode the text that ``ottla consume`` prints for a key or a value.

    Args:
        format: the format.
        topic: the topic, whose subject has the schema by default.
        text: the text: JSON, in which a string that is the whole value has no quotes.
        parse: returns the value of JSON text, with decimals for numbers with a point.
        headers: the record's headers, to which the id is added if the format writes it there, and
            from which others are removed.
        key: whether it is a key.

    Returns:
        The bytes, with the id of the schema.

    Raises:
        KafkaError: as ``ColumnFormat.serialize``, and what ``parse`` raises.
    """

def infer_json(
    values: Iterable[bytes | bytearray | str | None] | Any,
    *,
    column: str = "value",
    wire_format: _WireFormat = "none",
) -> ArrowType:
    """Infer the Arrow type of values in JSON, for ``Json(schema=...)``.

    Every value fits the type, so give it enough of them, such as the first batch of a topic. The
    keys of objects are fields in the order in which they come. Integers together with other numbers
    become doubles; values of several types, integers beyond 64 bits, empty objects, and what is
    always null become JSON text. Everything may be null. Values that are not JSON are ignored.

    Args:
        values: bytes or strings in any iterable, or an Arrow array of them. A table, such as the
            result of ``poll_arrow``, stands for one of its columns. Nulls are ignored.
        column: the column of a table.
        wire_format: what the values begin with, as for ``Json``. Default: with the JSON.

    Returns:
        The type.

    Raises:
        SchemaError: no value is JSON, or the type is too large.
        ConfigError: an argument is invalid.
    """
