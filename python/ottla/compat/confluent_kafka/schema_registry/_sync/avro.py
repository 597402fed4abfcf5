# Made by tools/twins.py from ../_async/avro.py: change that file.
"""The blocking serializer and deserializer of Avro, and their builders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._avro_deserializer import AvroDeserializerSteps
from ottla.compat.confluent_kafka.schema_registry._avro_serializer import AvroSerializerSteps
from ottla.compat.confluent_kafka.schema_registry._builders import (
    AvroDeserializerBuilderBase,
    DictSerializerBuilder,
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
    "AvroDeserializer",
    "AvroDeserializerBuilder",
    "AvroSerializer",
    "AvroSerializerBuilder",
]


class AvroSerializer(AvroSerializerSteps, BaseSerializer):
    """Serialize objects in Avro, with the id of their schema.

    Args:
        schema_registry_client: the registry client.
        schema_str: the schema, as text or with references. Default: that of the registry.
        to_dict: returns the dict of an object. Default: the object is one.
        conf: the configuration, by the same keys as confluent-kafka's class.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
    """

    def __init__(
        self,
        schema_registry_client: SchemaRegistryClient,
        schema_str: str | Schema | None = None,
        to_dict: Callable[[Any, SerializationContext], dict[str, Any]] | None = None,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
    ) -> None:
        run(
            self._set_up(
                schema_registry_client, schema_str, to_dict, conf, rule_conf, rule_registry
            )
        )


class AvroDeserializer(AvroDeserializerSteps, BaseDeserializer):
    """Deserialize payloads in Avro; records are dicts.

    Args:
        schema_registry_client: the registry client.
        schema_str: the reader's schema. Default: the writer's.
        from_dict: returns an object for a dict. Default: the dict itself.
        return_record_name: whether records of unions are pairs of their name and the record.
        conf: the configuration, by the same keys as confluent-kafka's class.
        rule_conf: the configuration of rule executors and actions.
        rule_registry: the rule registry. Default: that of the process.
    """

    def __init__(
        self,
        schema_registry_client: SchemaRegistryClient,
        schema_str: str | Schema | None = None,
        from_dict: Callable[[dict[str, Any], SerializationContext], Any] | None = None,
        return_record_name: bool = False,
        conf: dict[str, Any] | None = None,
        rule_conf: dict[str, Any] | None = None,
        rule_registry: RuleRegistry | None = None,
    ) -> None:
        run(
            self._set_up(
                schema_registry_client,
                schema_str,
                from_dict,
                return_record_name,
                conf,
                rule_conf,
                rule_registry,
            )
        )


class AvroSerializerBuilder(DictSerializerBuilder):
    """Makes the serializer of Avro for a producer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the serializer, and the configuration that is left for the client."""
        serializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: AvroSerializer(
                client,  # type: ignore[arg-type]
                self._schema,
                self._to_dict,
                self._serializer_config,
                self._rule_config,
                self._rule_registry,
            ),
            self._serializer_init,
        )
        return serializer, dict(conf)


class AvroDeserializerBuilder(AvroDeserializerBuilderBase):
    """Makes the deserializer of Avro for a consumer. Each setter returns the builder."""

    def build(self, conf: dict[str, Any], is_key: bool) -> Any:
        """Return the deserializer, and the configuration that is left for the client."""
        deserializer = build_serde(
            self._schema_registry_client,
            self._schema_registry_config,
            lambda client: AvroDeserializer(
                client,  # type: ignore[arg-type]
                self._schema,
                self._from_dict,
                self._return_record_name,
                self._deserializer_config,
                self._rule_config,
                self._rule_registry,
            ),
            self._deserializer_init,
        )
        return deserializer, dict(conf)
