"""Payloads of Avro to Python values, and back: the one place that decodes and encodes them.

Values are those of the Avro library that confluent-kafka uses, fastavro. ottla's decoder is used
where it yields the same ones, and fastavro, if it is installed, for all others: unions of several
types, recursive records, schemas that differ between writer and reader, and logical types that
ottla has not.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import ottla
from ottla.compat.confluent_kafka.schema_registry._avro_schema import is_same_in_ottla
from ottla.compat.confluent_kafka.serialization import SerializationError


def _missing() -> SerializationError:
    return SerializationError(
        "this Avro schema needs the fastavro library, which confluent-kafka[avro] installs"
    )


def _converted(error: ottla.errors.SerializationError) -> SerializationError:
    # The codec is asked without a topic, so its name is not shown.
    return SerializationError(str(error).removesuffix(" [topic ]"))


def _ottla_format(text: str | None) -> ottla.schema.Avro | None:
    """Return ottla's format of a schema, or None if its values or limits are others."""
    if text is None or not is_same_in_ottla(json.loads(text)):
        return None
    try:
        avro = ottla.schema.Avro(schema=text, wire_format="none")
        avro.arrow_type()
    except ottla.errors.KafkaError:
        return None
    return avro


def decoder(
    writer: Any,
    reader: Any,
    text: str | None,
    return_record_name: bool,
    raw_bytes: bool = True,
) -> Callable[[bytes], Any]:
    """Return a function that decodes payloads.

    Args:
        writer: the parsed schema of the writer.
        reader: that of the reader, or None if it is the writer's.
        text: the text of the writer's schema, if it has no references.
        return_record_name: whether records of unions are pairs of their name and the record.
        raw_bytes: whether the payload of plain bytes is the value itself.
    """
    if raw_bytes and _is_bytes(writer):
        return bytes
    other = _fastavro_decoder(writer, reader, return_record_name)
    same = None if reader is not None or return_record_name else _ottla_format(text)
    if same is None:
        if other is None:
            raise _missing()
        return other
    decode = same.deserialize

    def with_ottla(payload: bytes) -> Any:
        try:
            return decode("", payload)
        except ottla.errors.SerializationError as error:
            if other is None:
                raise _converted(error) from error
        # Programs know fastavro's exceptions, and what it lets pass.
        return other(payload)

    return with_ottla


def _fastavro_decoder(
    writer: Any, reader: Any, return_record_name: bool
) -> Callable[[bytes], Any] | None:
    try:
        from fastavro import schemaless_reader
    except ImportError:
        return None
    return lambda payload: schemaless_reader(
        io.BytesIO(payload), writer, reader, return_record_name
    )


def encoder(
    schema: Any,
    text: str | None,
    strict: bool,
    strict_allow_default: bool,
    raw_bytes: bool = True,
) -> Callable[[Any], bytes]:
    """Return a function that encodes values.

    Args:
        schema: the parsed schema.
        text: its text, if it has no references.
        strict: whether a record must have exactly the fields of the schema.
        strict_allow_default: the same, apart from fields with a default.
        raw_bytes: whether the payload of plain bytes is the value itself.
    """
    if raw_bytes and _is_bytes(schema):
        return lambda value: value if isinstance(value, bytes) else value.encode()
    try:
        from fastavro import schemaless_writer
    except ImportError:
        return _ottla_encoder(text)

    def with_fastavro(value: Any) -> bytes:
        stream = io.BytesIO()
        schemaless_writer(
            stream, schema, value, strict=strict, strict_allow_default=strict_allow_default
        )
        return stream.getvalue()

    return with_fastavro


def _ottla_encoder(text: str | None) -> Callable[[Any], bytes]:
    same = _ottla_format(text)
    if same is None:
        raise _missing()
    encode = same.serialize

    def with_ottla(value: Any) -> bytes:
        try:
            return encode("", value) or b""
        except ottla.errors.SerializationError as error:
            raise _converted(error) from error

    return with_ottla


def _is_bytes(schema: Any) -> bool:
    # Plain bytes are the payload itself, without a length.
    return schema == "bytes" or (isinstance(schema, dict) and schema.get("type") == "bytes")
