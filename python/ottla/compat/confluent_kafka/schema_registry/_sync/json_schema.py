# Made by tools/twins.py from ../_async/json_schema.py: change that file.
"""The blocking serializer and deserializer of JSON, and their builders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._builders import (
    JsonDeserializerBuilderBase,
    JsonSerializerBuilderBase,
)
from ottla.compat.confluent_kafka.schema_registry._json_serde import (
    JsonDeserializerSteps,
    JsonSerializerSteps,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
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
from ottla.compat.confluent_kafka.serialization import SerializationContext

__all__ = [
    "JSONDeserializer",
    "JSONDeserializerBuilder",
    "JSONSerializer",
    "JSONSerializerBuilder",
]


class JSONSerializer(JsonSerializerSteps, BaseSerializer):
    """Serialize objects in JSON, with the id of their schema.

    Args:
        schema_str: the schema, as text or with references. Default: that of the registry.
        schema_registry_client: the registry client.
        to_dict: returns the dict of an object. Default: the object is one.
        conf: the configuration, by the same keys as confluent-kafka's class.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
        json_encode: returns the text or the bytes of a value.
    """

    def __init__(
        self,
        schema_str: str | Schema | None,
        schema_registry_client: SchemaRegistryClient,
        to_dict: Callable[[Any, SerializationContext], dict[str, Any]] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
        json_encode: Callable[[Any], Any] | None = None,
    ) -> None:
        run(
            self._set_up(
                schema_str,
                schema_registry_client,
                to_dict,
                conf,
                rule_conf,
                rule_registry,
                json_encode,
            )
        )


class JSONDeserializer(JsonDeserializerSteps, BaseDeserializer):
    """Deserialize payloads in JSON, and validate them by their schema.

    Args:
        schema_str: the reader's schema. Default: the writer's, for which a client is needed.
        from_dict: returns an object for a value. Default: the value itself.
        schema_registry_client: the registry client.
        conf: the configuration, by the same keys as confluent-kafka's class.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
        json_decode: returns the value of a payload.
    """

    def __init__(
        self,
        schema_str: str | Schema | None,
        from_dict: Callable[[Any, SerializationContext], Any] | None = None,
        schema_registry_client: SchemaRegistryClient | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
        json_decode: Callable[[bytes], Any] | None = None,
    ) -> None:
        run(
            self._set_up(
                schema_str,
                from_dict,
                schema_registry_client,
                conf,
                rule_conf,
                rule_registry,
                json_decode,
            )
        )


class JSONSerializerBuilder(JsonSerializerBuilderBase):
    """Makes the serializer of JSON for a producer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the serializer, and the configuration that is left for the client."""
        serializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: JSONSerializer(
                self._schema,
                client,  # type: ignore[arg-type]
                self._to_dict,
                self._serializer_config,
                self._rule_config,
                self._rule_registry,
                self._json_encode,
            ),
            self._serializer_init,
        )
        return serializer, dict(conf)


class JSONDeserializerBuilder(JsonDeserializerBuilderBase):
    """Makes the deserializer of JSON for a consumer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the deserializer, and the configuration that is left for the client."""
        deserializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: JSONDeserializer(
                self._schema,
                self._from_dict,
                client,
                self._deserializer_config,
                self._rule_config,
                self._rule_registry,
                self._json_decode,
            ),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
