# Made by tools/twins.py from ../_async/serde.py: change that file.
"""The blocking serializers and deserializers: their base classes, and how builders make them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ottla.compat.confluent_kafka.schema_registry._associated import (
    FALLBACK_TYPE,
    KAFKA_CLUSTER_ID,
    AssociatedSteps,
)
from ottla.compat.confluent_kafka.schema_registry._deserializer_core import DeserializerCore
from ottla.compat.confluent_kafka.schema_registry._serde_core import SerdeCore, keep_key
from ottla.compat.confluent_kafka.schema_registry._serializer_core import SerializerCore
from ottla.compat.confluent_kafka.schema_registry._steps import run
from ottla.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    SchemaRegistryClient,
)
from ottla.compat.confluent_kafka.serialization import (
    Deserializer,
    SerializationContext,
    Serializer,
)

__all__ = [
    "FALLBACK_TYPE",
    "KAFKA_CLUSTER_ID",
    "AssociatedNameStrategy",
    "BaseDeserializer",
    "BaseSerde",
    "BaseSerializer",
    "build_serde",
]

log = logging.getLogger(__name__)


class AssociatedNameStrategy(AssociatedSteps):
    """Name subjects by what the registry has associated with the topic.

    Args:
        cache_capacity: how many answers are kept.
    """

    def __call__(
        self,
        ctx: SerializationContext | None,
        record_name: str | None,
        schema_registry_client: Any,
        conf: dict[str, Any] | None = None,
    ) -> str | None:
        """Return the subject.

        Args:
            ctx: the topic, and whether it is the key or the value.
            record_name: the name of the record, for a fallback that uses it.
            schema_registry_client: the client.
            conf: ``subject.name.strategy.kafka.cluster.id`` and
                ``subject.name.strategy.fallback.type``.

        Raises:
            SerializationError: the topic has several subjects, or none and no fallback.
            ValueError: there is no context.
        """
        return run(self._subject(ctx, record_name, schema_registry_client, conf))

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a callable that returns the id of the Kafka cluster."""
        self._cluster_id_resolver = resolver

    def clear_cache(self) -> None:
        """Forget the answers."""
        self._cache.clear()


class BaseSerde(SerdeCore):
    """What serializers and deserializers have in common."""

    _associated = AssociatedNameStrategy

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a function that returns the id of the Kafka cluster, for associated subjects."""
        self._resolve_cluster_id(resolver)

    def close(self) -> None:
        """Close what belongs to this object alone: its rule registry's members, its own client."""
        run(self._close())


class BaseSerializer(BaseSerde, SerializerCore, Serializer):
    """The base of serializers."""

    _new_lock = threading.Lock

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """Return the bytes of an object, or None for None."""
        if ctx is not None and obj is not None:
            plain = self._plain.get((ctx.topic, ctx.field))
            if plain is not None:
                keep_key(ctx, obj)
                value = obj if self._to_dict is None else self._to_dict(obj, ctx)
                return plain[0] + plain[1](value)
        return run(self._serialize(obj, ctx))


class BaseDeserializer(BaseSerde, DeserializerCore, Deserializer):
    """The base of deserializers."""

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the object of some bytes, or None for None."""
        if value is not None:
            decode = self._plain_decoder(value, ctx)
            if decode is not None:
                keep_key(ctx, value)
                return self._from_object(self._from_dict, decode(value[self._prefix_length :]), ctx)
        return run(self._deserialize(value, ctx))


_S = TypeVar("_S", bound=Any)


def build_serde(
    schema_registry_client: SchemaRegistryClient | None,
    schema_registry_conf: dict[str, Any] | None,
    construct: Callable[[SchemaRegistryClient | None], Any],
    init: Callable[[_S], None] | None = None,
) -> _S:
    """Make a serializer or deserializer, with a client that it owns unless one is given.

    Args:
        schema_registry_client: the application's client.
        schema_registry_conf: the configuration of a client of its own.
        construct: returns the object for a client.
        init: called with the object.

    Raises:
        ValueError: there are both a client and a configuration.
    """
    if schema_registry_client is not None and schema_registry_conf is not None:
        raise ValueError(
            "Cannot specify both a Schema Registry client and a configuration; use one or the other"
        )
    client = schema_registry_client
    owned = client is None and schema_registry_conf is not None
    if schema_registry_conf is not None:
        client = SchemaRegistryClient.new_client(schema_registry_conf)
    try:
        serde: _S = construct(client)
    except BaseException:
        if owned and client is not None:
            _closed(client.close)
        raise
    if owned:
        serde.own_schema_registry_client()
    if init is not None:
        try:
            init(serde)
        except BaseException:
            _closed(serde.close)
            raise
    return serde


def _closed(close: Callable[[], Any]) -> None:
    # The error that brought it here is the one to raise.
    try:
        close()
    except Exception:
        log.warning("it could not be closed after an error", exc_info=True)
