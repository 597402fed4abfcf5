# Made by tools/twins.py from ../_async/schema_registry_client.py: change that file.
"""The blocking client of schema registries. Its calls are the steps of ``_operations``."""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar, Literal

from ottla.compat.confluent_kafka.schema_registry._operations import (
    _urlencode,
    page_of,
)
from ottla.compat.confluent_kafka.schema_registry._rest import _BaseRestClient
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
    SchemaVersion,
)
from ottla.compat.confluent_kafka.schema_registry._steps import run
from ottla.compat.confluent_kafka.schema_registry._sync._management import Management
from ottla.compat.confluent_kafka.schema_registry._sync._rest_client import _RestClient
from ottla.compat.confluent_kafka.schema_registry._sync._tokens import (
    _CustomOAuthClient,
    _OAuthAzureIMDSClient,
    _OAuthClient,
)

__all__ = [
    "SchemaRegistryClient",
    "_BaseRestClient",
    "_CustomOAuthClient",
    "_OAuthAzureIMDSClient",
    "_OAuthClient",
    "_RestClient",
    "_urlencode",
]


class SchemaRegistryClient(Management):
    """The blocking client of a schema registry.

    Args:
        conf: the configuration: ``url`` with one address or several with commas, ``timeout`` in
            seconds, ``basic.auth.user.info``, ``bearer.auth.…``, ``ssl.…``, ``proxy``,
            ``cache.capacity``, ``cache.latest.ttl.sec``, ``max.retries``, ``retries.wait.ms`` and
            ``retries.max.wait.ms``.

    Raises:
        ValueError: a key is missing or not known.
        TypeError: a value is of another type.
    """

    _mock_class: ClassVar[type[SchemaRegistryClient]]

    def __init__(self, conf: dict[str, Any]) -> None:
        self._set_up(conf, _RestClient(conf))

    def __enter__(self) -> SchemaRegistryClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections. It may be called again."""
        self._rest_client.session.close()

    def clear_latest_caches(self) -> None:
        """Forget the latest schemas of all subjects."""
        self._forget_latest()

    def clear_caches(self) -> None:
        """Forget all schemas."""
        self._forget()

    @staticmethod
    def new_client(conf: dict[str, Any]) -> SchemaRegistryClient:
        """Return a client, or a mock one in this process if the URL begins with ``mock://``."""
        url = conf.get("url")
        if isinstance(url, str) and url.startswith("mock://"):
            return SchemaRegistryClient._mock_class(conf)
        return SchemaRegistryClient(conf)

    def register_schema(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> int:
        """Register a schema in a subject, and return its id."""
        registered = self.register_schema_full_response(
            subject_name, schema, normalize_schemas=normalize_schemas
        )
        return registered.schema_id  # type: ignore[return-value]

    def register_schema_full_response(
        self, subject_name: str, schema: Schema, normalize_schemas: bool = False
    ) -> RegisteredSchema:
        """Register a schema in a subject, and return it as it is registered."""
        return run(self._register(subject_name, schema, normalize_schemas))

    def get_schema(
        self,
        schema_id: int,
        subject_name: str | None = None,
        fmt: str | None = None,
        reference_format: str | None = None,
    ) -> Schema:
        """Return the schema with an id."""
        return run(self._schema(schema_id, subject_name, fmt, reference_format))

    def get_schema_by_guid(self, guid: str, fmt: str | None = None) -> Schema:
        """Return the schema with a GUID."""
        return run(self._schema_by_guid(guid, fmt))

    def get_schema_types(self) -> list[str]:
        """Return the types of schemas that the registry accepts."""
        types: list[str] = self._rest_client.get("schemas/types")
        return types

    def get_subjects_by_schema_id(
        self,
        schema_id: int,
        subject_name: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that have a schema."""
        query = page_of(offset, limit, subject=subject_name, deleted=deleted or None)
        path = f"schemas/ids/{schema_id}/subjects"
        subjects: list[str] = self._rest_client.get(path, query)
        return subjects

    def get_schema_versions(
        self,
        schema_id: int,
        subject_name: str | None = None,
        deleted: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[SchemaVersion]:
        """Return the subjects that have a schema, with the versions."""
        query = page_of(offset, limit, subject=subject_name, deleted=deleted or None)
        response = self._rest_client.get(f"schemas/ids/{schema_id}/versions", query)
        return [SchemaVersion.from_dict(item) for item in response]

    def lookup_schema(
        self,
        subject_name: str,
        schema: Schema,
        normalize_schemas: bool = False,
        fmt: str | None = None,
        deleted: bool = False,
    ) -> RegisteredSchema:
        """Return a schema as it is registered in a subject."""
        return run(self._lookup(subject_name, schema, normalize_schemas, fmt, deleted))

    def get_subjects(
        self,
        subject_prefix: str | None = None,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the names of all subjects, or of those with a prefix."""
        flags = {"deleted": deleted, "deleted_only": deleted_only}
        query = page_of(offset, limit, subjectPrefix=subject_prefix, **flags)
        subjects: list[str] = self._rest_client.get("subjects", query)
        return subjects

    def delete_subject(self, subject_name: str, permanent: bool = False) -> list[int]:
        """Delete a subject, softly or for good, and return its versions."""
        return run(self._delete_subject(subject_name, permanent))

    def get_latest_version(self, subject_name: str, fmt: str | None = None) -> RegisteredSchema:
        """Return the latest version of a subject."""
        return run(self._latest(subject_name, fmt))

    def get_latest_with_metadata(
        self,
        subject_name: str,
        metadata: dict[str, str],
        deleted: bool = False,
        fmt: str | None = None,
    ) -> RegisteredSchema:
        """Return the latest version of a subject that has some properties."""
        return run(self._latest_with_metadata(subject_name, metadata, deleted, fmt))

    def get_version(
        self,
        subject_name: str,
        version: int | Literal["latest"] = "latest",
        deleted: bool = False,
        fmt: str | None = None,
    ) -> RegisteredSchema:
        """Return a version of a subject."""
        return run(self._version(subject_name, version, deleted, fmt))

    def get_referenced_by(
        self,
        subject_name: str,
        version: int | Literal["latest"] = "latest",
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        path = f"subjects/{_urlencode(subject_name)}/versions/{version}/referencedby"
        ids: list[int] = self._rest_client.get(path, page_of(offset, limit))
        return ids

    def get_versions(
        self,
        subject_name: str,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the versions of a subject."""
        query = page_of(offset, limit, deleted=deleted, deleted_only=deleted_only)
        path = f"subjects/{_urlencode(subject_name)}/versions"
        versions: list[int] = self._rest_client.get(path, query)
        return versions

    def delete_version(self, subject_name: str, version: int, permanent: bool = False) -> int:
        """Delete a version, softly or for good, and return it."""
        return run(self._delete_version(subject_name, version, permanent))
