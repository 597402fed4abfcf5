"""The values of builders, and their setters. A builder makes its object when the client is
created.

All values may be left out, and each has a setter that returns the builder, so that calls can be
chained. A registry client that a builder makes is closed with the object.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ottla.compat.confluent_kafka.serialization import DeserializerBuilder, SerializerBuilder

if TYPE_CHECKING:
    from typing_extensions import Self


class _RegistryBuilder:
    """The values that all builders have."""

    _schema_registry_config: dict[str, Any] | None = None
    _schema_registry_client: Any = None
    _rule_config: dict[str, Any] | None = None
    _rule_registry: Any = None

    def set_schema_registry_config(self, schema_registry_conf: dict[str, Any]) -> Self:
        """Set the configuration of a registry client of its own."""
        self._schema_registry_config = schema_registry_conf
        return self

    def set_schema_registry_client(self, schema_registry_client: Any) -> Self:
        """Set the application's registry client."""
        self._schema_registry_client = schema_registry_client
        return self

    def set_rule_config(self, rule_conf: dict[str, Any]) -> Self:
        """Set the configuration of rule executors and actions."""
        self._rule_config = rule_conf
        return self

    def set_rule_registry(self, rule_registry: Any) -> Self:
        """Set the rule registry."""
        self._rule_registry = rule_registry
        return self


class _SerializerValues(_RegistryBuilder, SerializerBuilder):
    """The values of all serializers."""

    _serializer_config: dict[str, Any] | None = None
    _serializer_init: Callable[[Any], Any] | None = None

    def set_serializer_config(self, serializer_conf: dict[str, Any]) -> Self:
        """Set the configuration of the serializer."""
        self._serializer_config = serializer_conf
        return self

    def set_serializer_init(self, serializer_init: Callable[[Any], Any]) -> Self:
        """Set a function that is called with the serializer."""
        self._serializer_init = serializer_init
        return self


class _DeserializerValues(_RegistryBuilder, DeserializerBuilder):
    """The values of all deserializers."""

    _deserializer_config: dict[str, Any] | None = None
    _deserializer_init: Callable[[Any], Any] | None = None

    def set_deserializer_config(self, deserializer_conf: dict[str, Any]) -> Self:
        """Set the configuration of the deserializer."""
        self._deserializer_config = deserializer_conf
        return self

    def set_deserializer_init(self, deserializer_init: Callable[[Any], Any]) -> Self:
        """Set a function that is called with the deserializer."""
        self._deserializer_init = deserializer_init
        return self


class _SchemaValue:
    """A schema."""

    _schema: Any = None

    def set_schema(self, schema_str: Any) -> Self:
        """Set the schema, as text or with references."""
        self._schema = schema_str
        return self


class _MessageTypeValue:
    """A generated class."""

    _message_type: Any = None

    def set_message_type(self, msg_type: Any) -> Self:
        """Set the generated class of the messages, which is required."""
        self._message_type = msg_type
        return self

    def _check(self) -> None:
        if self._message_type is None:
            raise ValueError("a Protobuf builder requires a message type; call set_message_type()")


class DictSerializerBuilder(_SerializerValues, _SchemaValue):
    """The values of a serializer of dicts."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        to_dict: Callable[..., Any] | None = None,
        serializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._schema_registry_config = schema_registry_config
        self._schema_registry_client = schema_registry_client
        self._schema = schema
        self._to_dict = to_dict
        self._serializer_config = serializer_config
        self._rule_config = rule_config
        self._rule_registry = rule_registry
        self._serializer_init = serializer_init

    def set_to_dict(self, to_dict: Callable[..., Any]) -> Self:
        """Set the function that returns the dict of an object."""
        self._to_dict = to_dict
        return self


class JsonSerializerBuilderBase(DictSerializerBuilder):
    """The values of a serializer of JSON."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        to_dict: Callable[..., Any] | None = None,
        serializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_encode: Callable[[Any], Any] | None = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(
            schema_registry_config,
            schema_registry_client,
            schema,
            to_dict,
            serializer_config,
            rule_config,
            rule_registry,
            serializer_init,
        )
        self._json_encode = json_encode

    def set_json_encode(self, json_encode: Callable[[Any], Any]) -> Self:
        """Set the function that returns the text or the bytes of a value."""
        self._json_encode = json_encode
        return self


class _DictDeserializerBuilder(_DeserializerValues, _SchemaValue):
    _from_dict: Callable[..., Any] | None = None

    def set_from_dict(self, from_dict: Callable[..., Any]) -> Self:
        """Set the function that returns an object for a value."""
        self._from_dict = from_dict
        return self


class AvroDeserializerBuilderBase(_DictDeserializerBuilder):
    """The values of a deserializer of Avro."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        from_dict: Callable[..., Any] | None = None,
        return_record_name: bool = False,
        deserializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._schema_registry_config = schema_registry_config
        self._schema_registry_client = schema_registry_client
        self._schema = schema
        self._from_dict = from_dict
        self._return_record_name = return_record_name
        self._deserializer_config = deserializer_config
        self._rule_config = rule_config
        self._rule_registry = rule_registry
        self._deserializer_init = deserializer_init

    def set_return_record_name(self, return_record_name: bool) -> Self:
        """Set whether records of unions are pairs of their name and the record."""
        self._return_record_name = return_record_name
        return self


class JsonDeserializerBuilderBase(_DictDeserializerBuilder):
    """The values of a deserializer of JSON."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        schema: Any = None,
        from_dict: Callable[..., Any] | None = None,
        deserializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        json_decode: Callable[[bytes], Any] | None = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._schema_registry_config = schema_registry_config
        self._schema_registry_client = schema_registry_client
        self._schema = schema
        self._from_dict = from_dict
        self._deserializer_config = deserializer_config
        self._rule_config = rule_config
        self._rule_registry = rule_registry
        self._json_decode = json_decode
        self._deserializer_init = deserializer_init

    def set_json_decode(self, json_decode: Callable[[bytes], Any]) -> Self:
        """Set the function that returns the value of a payload."""
        self._json_decode = json_decode
        return self


class ProtobufSerializerBuilderBase(_SerializerValues, _MessageTypeValue):
    """The values of a serializer of Protobuf."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        message_type: Any = None,
        serializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        serializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._schema_registry_config = schema_registry_config
        self._schema_registry_client = schema_registry_client
        self._message_type = message_type
        self._serializer_config = serializer_config
        self._rule_config = rule_config
        self._rule_registry = rule_registry
        self._serializer_init = serializer_init


class ProtobufDeserializerBuilderBase(_DeserializerValues, _MessageTypeValue):
    """The values of a deserializer of Protobuf."""

    def __init__(
        self,
        schema_registry_config: dict[str, Any] | None = None,
        schema_registry_client: Any = None,
        message_type: Any = None,
        deserializer_config: dict[str, Any] | None = None,
        rule_config: dict[str, Any] | None = None,
        rule_registry: Any = None,
        deserializer_init: Callable[[Any], Any] | None = None,
    ) -> None:
        self._schema_registry_config = schema_registry_config
        self._schema_registry_client = schema_registry_client
        self._message_type = message_type
        self._deserializer_config = deserializer_config
        self._rule_config = rule_config
        self._rule_registry = rule_registry
        self._deserializer_init = deserializer_init
