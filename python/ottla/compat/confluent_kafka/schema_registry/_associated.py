"""The strategy that asks the registry which subject a topic is associated with.

Each answer is kept, as there is a request for it. The cluster's id narrows the search; it is the
configured one, or that of the client which the serializer belongs to, asked for at the first
request.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._caches import LatestCache
from ottla.compat.confluent_kafka.schema_registry._steps import Steps
from ottla.compat.confluent_kafka.schema_registry._strategies import (
    STRATEGY_TYPE_MAP,
    SubjectNameStrategyType,
    strategy_type,
)
from ottla.compat.confluent_kafka.schema_registry.error import SchemaRegistryError
from ottla.compat.confluent_kafka.serialization import (
    MessageField,
    SerializationContext,
    SerializationError,
)

KAFKA_CLUSTER_ID = "subject.name.strategy.kafka.cluster.id"
FALLBACK_TYPE = "subject.name.strategy.fallback.type"
_ANY_CLUSTER = "-"


class AssociatedSteps:
    """The strategy as steps, for both twins."""

    def __init__(self, cache_capacity: int = 1000) -> None:
        self._cache = LatestCache(cache_capacity)
        self._cluster_id_resolver: Callable[[], Any] | None = None

    def _known(self, ctx: SerializationContext, record_name: str | None) -> Any:
        return self._cache.get((ctx.topic, ctx.field, record_name))

    def _subject(
        self,
        ctx: SerializationContext | None,
        record_name: str | None,
        registry: Any,
        conf: dict[str, Any] | None,
    ) -> Steps[str | None]:
        if ctx is None:
            raise ValueError(
                "SerializationContext is required for AssociatedNameStrategy: pass one, or use"
                " another strategy"
            )
        known: str | None = self._known(ctx, record_name)
        if known is not None:
            return known
        subject = yield from self._find(ctx, record_name, registry, conf or {})
        if subject is not None:
            self._cache.set((ctx.topic, ctx.field, record_name), subject)
        return subject

    def _find(
        self,
        ctx: SerializationContext,
        record_name: str | None,
        registry: Any,
        conf: dict[str, Any],
    ) -> Steps[str | None]:
        if registry is None:
            return STRATEGY_TYPE_MAP[SubjectNameStrategyType.TOPIC](ctx, record_name)
        fallback = SubjectNameStrategyType.TOPIC
        if conf.get(FALLBACK_TYPE) is not None:
            fallback = strategy_type(conf[FALLBACK_TYPE], f"value for {FALLBACK_TYPE}")
        cluster = yield from self._cluster_id(conf)
        try:
            found = yield registry.get_associations_by_resource_name(
                resource_name=ctx.topic,
                resource_namespace=cluster,
                resource_type="topic",
                association_types=["key" if ctx.field == MessageField.KEY else "value"],
                offset=0,
                limit=-1,
            )
        except SchemaRegistryError as error:
            if error.http_status_code != 404:
                raise
            # Most registries have no associations.
            found = []
        if len(found) > 1:
            raise SerializationError(f"Multiple associated subjects found for topic {ctx.topic}")
        if found:
            subject: str | None = found[0].subject
            return subject
        if fallback == SubjectNameStrategyType.NONE:
            raise SerializationError(f"No associated subject found for topic {ctx.topic}")
        if fallback == SubjectNameStrategyType.ASSOCIATED:
            raise ValueError(f"Invalid value for {FALLBACK_TYPE}: it cannot be ASSOCIATED itself")
        return STRATEGY_TYPE_MAP[fallback](ctx, record_name)

    def _cluster_id(self, conf: dict[str, Any]) -> Steps[str]:
        configured: str | None = conf.get(KAFKA_CLUSTER_ID)
        if configured:
            return configured
        if self._cluster_id_resolver is None:
            return _ANY_CLUSTER
        try:
            resolved = self._cluster_id_resolver()
            if isawaitable(resolved):
                resolved = yield resolved
        except Exception as error:
            raise SerializationError(
                "the id of the Kafka cluster could not be obtained, probably because no broker has"
                f" responded yet; {KAFKA_CLUSTER_ID} sets it: {error}"
            ) from error
        if not resolved:
            raise SerializationError(
                f"the id of the Kafka cluster is empty; {KAFKA_CLUSTER_ID} sets it"
            )
        cluster: str = resolved
        return cluster
