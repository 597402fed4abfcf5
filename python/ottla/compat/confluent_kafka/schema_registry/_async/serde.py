"""The asyncio serializers and deserializers: their base classes, and how builders make them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ottla.compat.confluent_kafka.schema_registry._associated import (
    FALLBACK_TYPE,
    KAFKA_CLUSTER_ID,
    AssociatedSteps,
)
from ottla.compat.confluent_kafka.schema_registry._async.schema_registry_client import (
    AsyncSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._deserializer_core import DeserializerCore
from ottla.compat.confluent_kafka.schema_registry._serde_core import SerdeCore, keep_key
from ottla.compat.confluent_kafka.schema_registry._serializer_core import SerializerCore
from ottla.compat.confluent_kafka.schema_registry._steps import AwaitableInit, run_async
from ottla.compat.confluent_kafka.serialization import (
    Deserializer,
    SerializationContext,
    Serializer,
)

__all__ = [
    "FALLBACK_TYPE",
    "KAFKA_CLUSTER_ID",
    "AsyncAssociatedNameStrategy",
    "AsyncBaseDeserializer",
    "AsyncBaseSerde",
    "AsyncBaseSerializer",
    "async_build_serde",
]

log = logging.getLogger(__name__)


class AsyncAssociatedNameStrategy(AssociatedSteps):
    """Name subjects by what the registry has associated with the topic.

    Args:
        cache_capacity: how many answers are kept.
    """

    async def __call__(
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
        return await run_async(self._subject(ctx, record_name, schema_registry_client, conf))

    def set_async_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a callable that returns the id of the Kafka cluster."""
        self._cluster_id_resolver = resolver

    async def clear_cache(self) -> None:
        """Forget the answers."""
        self._cache.clear()


class AsyncBaseSerde(SerdeCore):
    """What serializers and deserializers have in common."""

    _associated = AsyncAssociatedNameStrategy

    def set_async_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Take a function that returns the id of the Kafka cluster, for associated subjects."""
        self._resolve_cluster_id(resolver)

    async def aclose(self) -> None:
        """Close what belongs to this object alone: its rule registry's members, its own client."""
        await run_async(self._close())


class AsyncBaseSerializer(AsyncBaseSerde, SerializerCore, Serializer, metaclass=AwaitableInit):
    """The base of serializers."""

    _new_lock = asyncio.Lock

    async def __call__(  # type: ignore[override]
        self, obj: Any, ctx: SerializationContext | None = None
    ) -> bytes | None:
        """Return the bytes of an object, or None for None."""
        if ctx is not None and obj is not None:
            plain = self._plain.get((ctx.topic, ctx.field))
            if plain is not None:
                keep_key(ctx, obj)
                value = obj if self._to_dict is None else self._to_dict(obj, ctx)
                return plain[0] + plain[1](value)
        return await run_async(self._serialize(obj, ctx))


class AsyncBaseDeserializer(
    AsyncBaseSerde, DeserializerCore, Deserializer, metaclass=AwaitableInit
):
    """The base of deserializers."""

    async def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """Return the object of some bytes, or None for None."""
        if value is not None:
            decode = self._plain_decoder(value, ctx)
            if decode is not None:
                keep_key(ctx, value)
                return self._from_object(self._from_dict, decode(value[self._prefix_length :]), ctx)
        return await run_async(self._deserialize(value, ctx))


_S = TypeVar("_S", bound=Any)


async def async_build_serde(
    schema_registry_client: AsyncSchemaRegistryClient | None,
    schema_registry_conf: dict[str, Any] | None,
    construct: Callable[[AsyncSchemaRegistryClient | None], Any],
    init: Callable[[_S], Awaitable[None]] | None = None,
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
        client = AsyncSchemaRegistryClient.new_client(schema_registry_conf)
    try:
        serde: _S = await construct(client)
    except BaseException:
        if owned and client is not None:
            await _closed(client.aclose)
        raise
    if owned:
        serde.own_schema_registry_client()
    if init is not None:
        try:
            await init(serde)
        except BaseException:
            await _closed(serde.aclose)
            raise
    return serde


async def _closed(close: Callable[[], Any]) -> None:
    # The error that brought it here is the one to raise.
    try:
        await close()
    except Exception:
        log.warning("it could not be closed after an error", exc_info=True)
