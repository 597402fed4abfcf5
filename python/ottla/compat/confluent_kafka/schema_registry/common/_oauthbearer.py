"""The providers of the registry's tokens, under the names that programs import."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._async._tokens import (
    _AsyncBearerFieldProvider,
    _AsyncStaticFieldProvider,
)
from ottla.compat.confluent_kafka.schema_registry._sync._tokens import (
    _BearerFieldProvider,
    _StaticFieldProvider,
)
from ottla.compat.confluent_kafka.schema_registry._token_config import normalize_identity_pool

__all__ = [
    "_AsyncBearerFieldProvider",
    "_AsyncStaticFieldProvider",
    "_BearerFieldProvider",
    "_StaticFieldProvider",
    "normalize_identity_pool",
]
