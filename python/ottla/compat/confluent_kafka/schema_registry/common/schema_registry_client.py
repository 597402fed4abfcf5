"""The documents of the registry, under the names that programs import."""

from __future__ import annotations

from ottla.compat.confluent_kafka.schema_registry._association_documents import (
    Association,
    AssociationCreateOrUpdateInfo,
    AssociationCreateOrUpdateRequest,
    AssociationInfo,
    AssociationResponse,
)
from ottla.compat.confluent_kafka.schema_registry._backoff import (
    full_jitter,
    is_retriable,
    is_success,
)
from ottla.compat.confluent_kafka.schema_registry._caches import SchemaCache as _SchemaCache
from ottla.compat.confluent_kafka.schema_registry._rule_documents import (
    Metadata,
    MetadataProperties,
    MetadataTags,
    Rule,
    RuleKind,
    RuleMode,
    RuleParams,
    RulePhase,
    RuleSet,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    ConfigCompatibilityLevel,
    RegisteredSchema,
    Schema,
    SchemaReference,
    SchemaVersion,
    ServerConfig,
)
from ottla.compat.confluent_kafka.schema_registry.common._oauthbearer import (
    _AsyncBearerFieldProvider,
    _AsyncStaticFieldProvider,
    _BearerFieldProvider,
    _StaticFieldProvider,
    normalize_identity_pool,
)

VALID_AUTH_PROVIDERS = ["URL", "USER_INFO"]

__all__ = [
    "VALID_AUTH_PROVIDERS",
    "Association",
    "AssociationCreateOrUpdateInfo",
    "AssociationCreateOrUpdateRequest",
    "AssociationInfo",
    "AssociationResponse",
    "ConfigCompatibilityLevel",
    "Metadata",
    "MetadataProperties",
    "MetadataTags",
    "RegisteredSchema",
    "Rule",
    "RuleKind",
    "RuleMode",
    "RuleParams",
    "RulePhase",
    "RuleSet",
    "Schema",
    "SchemaReference",
    "SchemaVersion",
    "ServerConfig",
    "_AsyncBearerFieldProvider",
    "_AsyncStaticFieldProvider",
    "_BearerFieldProvider",
    "_SchemaCache",
    "_StaticFieldProvider",
    "full_jitter",
    "is_retriable",
    "is_success",
    "normalize_identity_pool",
]
