# Made by tools/twins.py from ../_async/protobuf.py: change that file.
"""The blocking serializer and deserializer of Protobuf, and their builders."""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka.schema_registry._builders import (
    ProtobufDeserializerBuilderBase,
    ProtobufSerializerBuilderBase,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_deserializer import (
    ProtobufDeserializerSteps,
)
from ottla.compat.confluent_kafka.schema_registry._protobuf_serializer import (
    ProtobufSerializerSteps,
)
from ottla.compat.confluent_kafka.schema_registry._steps import run
from ottla.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    SchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._sync.serde import (
    BaseDeserializer,
    BaseSerializer,
    build_serde,
)
from ottla.compat.confluent_kafka.schema_registry.rule_registry import RuleRegistry

__all__ = [
    "ProtobufDeserializer",
    "ProtobufDeserializerBuilder",
    "ProtobufSerializer",
    "ProtobufSerializerBuilder",
]


class ProtobufSerializer(ProtobufSerializerSteps, BaseSerializer):
    """Serialize messages in Protobuf, with the id of their schema and their place in it.

    Args:
        msg_type: the generated class of the messages.
        schema_registry_client: the registry client.
        conf: the configuration, by the same keys as confluent-kafka's class.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
    """

    def __init__(
        self,
        msg_type: Any,
        schema_registry_client: SchemaRegistryClient,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
    ) -> None:
        run(self._set_up(msg_type, schema_registry_client, conf, rule_conf, rule_registry))


class ProtobufDeserializer(ProtobufDeserializerSteps, BaseDeserializer):
    """Deserialize payloads in Protobuf to messages of a generated class.

    Args:
        message_type: the generated class of the messages.
        conf: the configuration, by the same keys as confluent-kafka's class.
        schema_registry_client: the registry client. Default: schemas are not looked up.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
    """

    def __init__(
        self,
        message_type: Any,
        conf: dict[str, Any] | None = None,
        schema_registry_client: SchemaRegistryClient | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
    ) -> None:
        run(self._set_up(message_type, conf, schema_registry_client, rule_conf, rule_registry))


class ProtobufSerializerBuilder(ProtobufSerializerBuilderBase):
    """Makes the serializer of Protobuf for a producer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the serializer, and the configuration that is left for the client."""
        self._check()
        serializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: ProtobufSerializer(
                self._message_type,
                client,  # type: ignore[arg-type]
                self._serializer_config,
                self._rule_config,
                self._rule_registry,
            ),
            self._serializer_init,
        )
        return serializer, dict(conf)


class ProtobufDeserializerBuilder(ProtobufDeserializerBuilderBase):
    """Makes the deserializer of Protobuf for a consumer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the deserializer, and the configuration that is left for the client."""
        self._check()
        deserializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: ProtobufDeserializer(
                self._message_type,
                self._deserializer_config,
                client,
                self._rule_config,
                self._rule_registry,
            ),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
