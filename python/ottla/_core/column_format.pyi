"""Formats of keys and values with a schema."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, final

from typing_extensions import disjoint_base

from ottla._core.schema_registry import AsyncRegistry, Registry

_WireFormat: TypeAlias = Literal["confluent", "apicurio", "glue", "none"]
_Mode: TypeAlias = Literal["failfast", "permissive"]

@disjoint_base
class ColumnFormat:
    """How keys or values with a schema are decoded. Create one of its classes."""

    def deserialize(
        self, topic: str, data: bytes, headers: Sequence[tuple[str, bytes | None]] = ...
    ) -> Any:
        """Decode one value, to plain Python objects: structs and maps are dicts.

        To decode many, pass the format to a consumer or a scan, which decode them together.

        Args:
            topic: the topic, whose subject has the reader's schema by default.
            data: the bytes of the value.
            headers: the record's headers, in which the id of the schema may be.

        Returns:
            The value.

        Raises:
            SchemaError: there is no schema to read with, or it cannot be used.
            SerializationError: the value cannot be decoded.
            KafkaError: the errors of the schema registry.
        """

@final
class Avro(ColumnFormat):
    """Keys or values in Avro.

    Each record is read with the schema that it was written with, and converted to the reader's
    schema by Avro's rules of schema resolution. Records become structs, enums strings, and unions
    of several types structs with a field for each, ``member0``, ``member1`` …, as in Spark.

    Args:
        registry: the schema registry. It may be left out if the schema is given and records carry
            no ids.
        schema: the reader's schema, as its text, or as its id in the registry. Default: a version
            of the subject.
        version: the version of the subject. Default: the latest one when the first record is read.
        subject: the subject. Default: the topic's name followed by ``-key`` or ``-value``.
        wire_format: where records carry the id of their schema: ``"confluent"`` (before the value,
            or in the headers ``__key_schema_id`` and ``__value_schema_id``), ``"apicurio"`` (8
            bytes), ``"glue"``, or ``"none"``.
        mode: what happens to records that cannot be decoded. ``"failfast"`` raises a
            ``SerializationError`` after the records before it were returned; the position stays
            before it. ``"permissive"`` returns null, with the reason in the column ``_error``.

    Raises:
        ConfigError: an argument is invalid, or the registry is missing.
    """

    def __new__(
        cls,
        registry: Registry | AsyncRegistry | None = None,
        *,
        schema: str | int | None = None,
        version: int | None = None,
        subject: str | None = None,
        wire_format: _WireFormat = "confluent",
        mode: _Mode = "failfast",
    ) -> Avro: ...
