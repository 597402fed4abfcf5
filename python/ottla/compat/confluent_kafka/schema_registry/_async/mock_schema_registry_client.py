"""The asyncio client of ``mock://``: the client, on a registry in memory of its own."""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka.schema_registry._async.schema_registry_client import (
    AsyncSchemaRegistryClient,
)
from ottla.compat.confluent_kafka.schema_registry._mock_store import AsyncMockStore
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)


class AsyncMockSchemaRegistryClient(AsyncSchemaRegistryClient):
    """A client with a registry of its own in this process.

    Changes are seen at once: nothing that a change affects is kept in a cache.

    Args:
        conf: the configuration; its URL begins with ``mock://``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
        self._rest_client.session = AsyncMockStore()

    async def register_schema_full_response(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> RegisteredSchema:
        """Register a schema in a subject, and return it as it is registered."""
        self._forget_latest()
        return await super().register_schema_full_response(
            subject_name, schema, normalize_schemas=normalize_schemas
        )

    async def delete_subject(self, subject_name: str, permanent: bool = False) -> list[int]:
        """Delete a subject, and return its versions."""
        self._forget()
        return await super().delete_subject(subject_name, permanent)

    async def delete_version(self, subject_name: str, version: int, permanent: bool = False) -> int:
        """Delete a version, and return it."""
        self._forget()
        return await super().delete_version(subject_name, version, permanent)


AsyncSchemaRegistryClient._mock_class = AsyncMockSchemaRegistryClient
