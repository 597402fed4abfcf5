# Made by tools/twins.py from ../_async/mock_schema_registry_client.py: change that file.
"""The blocking client of ``mock://``: the client, on a registry in memory of its own."""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka.schema_registry._mock_store import MockStore
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)
from ottla.compat.confluent_kafka.schema_registry._sync.schema_registry_client import (
    SchemaRegistryClient,
)


class MockSchemaRegistryClient(SchemaRegistryClient):
    """A client with a registry of its own in this process.

    Changes are seen at once: nothing that a change affects is kept in a cache.

    Args:
        conf: the configuration; its URL begins with ``mock://``.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        super().__init__(conf)
        self._rest_client.session = MockStore()

    def register_schema_full_response(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> RegisteredSchema:
        """Register a schema in a subject, and return it as it is registered."""
        self._forget_latest()
        return super().register_schema_full_response(
            subject_name, schema, normalize_schemas=normalize_schemas
        )

    def delete_subject(self, subject_name: str, permanent: bool = False) -> list[int]:
        """Delete a subject, and return its versions."""
        self._forget()
        return super().delete_subject(subject_name, permanent)

    def delete_version(self, subject_name: str, version: int, permanent: bool = False) -> int:
        """Delete a version, and return it."""
        self._forget()
        return super().delete_version(subject_name, version, permanent)


SchemaRegistryClient._mock_class = MockSchemaRegistryClient
