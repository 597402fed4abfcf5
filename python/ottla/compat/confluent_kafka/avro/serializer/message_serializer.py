"""Records of Avro with the id of their schema before them, as the deprecated classes write them."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.avro.error import ClientError
from ottla.compat.confluent_kafka.avro.serializer import (
    KeySerializerError,
    SerializerError,
    ValueSerializerError,
)
from ottla.compat.confluent_kafka.schema_registry._avro_codec import decoder, encoder
from ottla.compat.confluent_kafka.schema_registry._avro_schema import parse

MAGIC_BYTE = 0
_PREFIX = struct.Struct(">bI")


class MessageSerializer:
    """Encodes and decodes records with the schemas of a registry.

    Args:
        registry_client: the registry's client.
        reader_key_schema: the schema to read keys with. Default: the writer's.
        reader_value_schema: the schema to read values with. Default: the writer's.
    """

    def __init__(
        self,
        registry_client: Any,
        reader_key_schema: Any = None,
        reader_value_schema: Any = None,
    ) -> None:
        self.registry_client = registry_client
        self.id_to_decoder_func: dict[tuple[int, bool], Callable[[bytes], Any]] = {}
        self.id_to_writers: dict[int, Callable[[Any, io.BytesIO], Any]] = {}
        self.reader_key_schema = reader_key_schema
        self.reader_value_schema = reader_value_schema

    def encode_record_with_schema(
        self, topic: str, schema: Any, record: Any, is_key: bool = False
    ) -> bytes:
        """Register a schema in the topic's subject, or look it up, and encode a record.

        Args:
            topic: the topic.
            schema: the schema, of the avro library.
            record: the value.
            is_key: whether it is a key.
        """
        subject = topic + ("-key" if is_key else "-value")
        client = self.registry_client
        register = client.register if client.auto_register_schemas else client.check_registration
        schema_id = register(subject, schema)
        if not schema_id:
            error = KeySerializerError if is_key else ValueSerializerError
            raise error(f"Unable to retrieve schema id for subject {subject}")
        if schema_id not in self.id_to_writers:
            self.id_to_writers[schema_id] = self._get_encoder_func(schema)
        return self.encode_record_with_schema_id(schema_id, record, is_key=is_key)

    def encode_record_with_schema_id(
        self, schema_id: int, record: Any, is_key: bool = False
    ) -> bytes:
        """Encode a record with the schema of an id."""
        error = KeySerializerError if is_key else ValueSerializerError
        if schema_id not in self.id_to_writers:
            try:
                schema = self.registry_client.get_by_id(schema_id)
            except ClientError as failure:
                raise error(f"the schema {schema_id} cannot be had: {failure}") from failure
            if not schema:
                raise error("Schema does not exist")
            self.id_to_writers[schema_id] = self._get_encoder_func(schema)
        stream = io.BytesIO()
        stream.write(_PREFIX.pack(MAGIC_BYTE, schema_id))
        self.id_to_writers[schema_id](record, stream)
        return stream.getvalue()

    def _get_encoder_func(self, writer_schema: Any) -> Callable[[Any, io.BytesIO], Any]:
        text = str(writer_schema)
        encode = encoder(parse(text, {}), text, False, False, raw_bytes=False)
        return lambda record, stream: stream.write(encode(record))

    def decode_message(self, message: bytes | None, is_key: bool = False) -> Any:
        """Decode a key or a value."""
        if message is None:
            return None
        if len(message) <= 5:
            raise SerializerError("message is too small to decode")
        magic, schema_id = _PREFIX.unpack(message[:5])
        if magic != MAGIC_BYTE:
            raise SerializerError("message does not start with magic byte")
        decode = self.id_to_decoder_func.get((schema_id, is_key))
        if decode is None:
            decode = self._reader(schema_id, is_key)
            self.id_to_decoder_func[schema_id, is_key] = decode
        return decode(message[5:])

    def _reader(self, schema_id: int, is_key: bool) -> Callable[[bytes], Any]:
        try:
            writer = self.registry_client.get_by_id(schema_id)
        except ClientError as error:
            raise SerializerError(f"unable to fetch schema with id {schema_id}: {error}") from error
        if writer is None:
            raise SerializerError(f"unable to fetch schema with id {schema_id}")
        reader = self.reader_key_schema if is_key else self.reader_value_schema
        other = None if reader is None else parse(str(reader), {})
        return decoder(parse(str(writer), {}), other, str(writer), False, raw_bytes=False)
