"""The calls of a registry client as steps without I/O: paths, queries, and what the caches keep.

Both clients run these steps; see ``_steps``. What the registry has confirmed is kept, so that a
serializer asks once for each schema.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ottla.compat.confluent_kafka.schema_registry._caches import LatestCache, SchemaCache
from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
    ServerConfig,
)
from ottla.compat.confluent_kafka.schema_registry._steps import Steps


def _urlencode(value: str) -> str:
    return quote(value, safe="")


def query_of(**values: Any) -> dict[str, Any]:
    """Return a query without the parameters that are None."""
    return {key: value for key, value in values.items() if value is not None}


def page_of(offset: int, limit: int, **values: Any) -> dict[str, Any]:
    """Return a query of a page of results."""
    return {"offset": offset, "limit": limit, **query_of(**values)}


class Operations:
    """The state of a client, and its calls as steps."""

    _rest_client: Any

    def _set_up(self, conf: dict[str, Any], rest_client: Any) -> None:
        self._conf = conf
        self._rest_client = rest_client
        self._cache = SchemaCache()
        capacity, ttl = rest_client.cache_capacity, rest_client.cache_latest_ttl_sec
        self._latest_version_cache = LatestCache(capacity, ttl)
        self._latest_with_metadata_cache = LatestCache(capacity, ttl)

    def config(self) -> dict[str, Any]:
        """Return the configuration, as it was given."""
        return self._conf

    def _forget_latest(self) -> None:
        self._latest_version_cache.clear()
        self._latest_with_metadata_cache.clear()

    def _forget(self) -> None:
        self._forget_latest()
        self._cache.clear()

    def _register(self, subject: str, schema: Schema, normalize: bool) -> Steps[RegisteredSchema]:
        known = self._cache.get_id_by_schema(subject, schema)
        found = None if known is None else self._cache.get_schema_by_id(subject, known)
        if found is not None:
            return RegisteredSchema(subject, None, known, found[0], found[1])
        path = f"subjects/{_urlencode(subject)}/versions"
        response = yield self._rest_client.post(path, schema.to_dict(), {"normalize": normalize})
        answer = RegisteredSchema.from_dict(response)
        registered = RegisteredSchema(
            subject=answer.subject or subject,
            version=answer.version,
            schema_id=answer.schema_id,
            guid=answer.guid,
            schema=answer.schema,
        )
        # Older registries return the id alone.
        complete = schema if answer.schema.schema_str is None else answer.schema
        self._cache.set_schema(subject, registered.schema_id, registered.guid, complete)
        if complete != schema and registered.schema_id is not None:
            # The registry may normalize the text; the caller's own is asked for next time.
            self._cache.set_schema_alias(subject, registered.schema_id, schema)
        return registered

    def _schema(
        self, schema_id: int, subject: str | None, fmt: str | None, reference_format: str | None
    ) -> Steps[Schema]:
        found = self._cache.get_schema_by_id(subject, schema_id)
        if found is not None:
            return found[1]
        query = query_of(subject=subject, format=fmt, reference_format=reference_format)
        response = yield self._rest_client.get(f"schemas/ids/{schema_id}", query)
        registered = RegisteredSchema.from_dict(response)
        self._cache.set_schema(subject, schema_id, registered.guid, registered.schema)
        if subject is not None and registered.subject is not None:
            self._cache.set_registered_schema(registered.schema, registered)
        return registered.schema

    def _schema_by_guid(self, guid: str, fmt: str | None) -> Steps[Schema]:
        known = self._cache.get_schema_by_guid(guid)
        if known is not None:
            return known
        response = yield self._rest_client.get(f"schemas/guids/{guid}", query_of(format=fmt))
        registered = RegisteredSchema.from_dict(response)
        self._cache.set_schema(None, registered.schema_id, guid, registered.schema)
        return registered.schema

    def _lookup(
        self, subject: str, schema: Schema, normalize: bool, fmt: str | None, deleted: bool
    ) -> Steps[RegisteredSchema]:
        known = self._cache.get_registered_by_subject_schema(subject, schema)
        if known is not None:
            return known
        query = query_of(normalize=normalize, deleted=deleted, format=fmt)
        path = f"subjects/{_urlencode(subject)}"
        response = yield self._rest_client.post(path, schema.to_dict(), query)
        answer = RegisteredSchema.from_dict(response)
        registered = RegisteredSchema(
            answer.subject, answer.version, answer.schema_id, answer.guid, schema
        )
        self._cache.set_registered_schema(schema, registered)
        return registered

    def _latest(self, subject: str, fmt: str | None) -> Steps[RegisteredSchema]:
        known: RegisteredSchema | None = self._latest_version_cache.get(subject)
        if known is not None:
            return known
        path = f"subjects/{_urlencode(subject)}/versions/latest"
        registered = RegisteredSchema.from_dict(
            (yield self._rest_client.get(path, query_of(format=fmt)))
        )
        self._latest_version_cache.set(subject, registered)
        return registered

    def _latest_with_metadata(
        self, subject: str, metadata: dict[str, str], deleted: bool, fmt: str | None
    ) -> Steps[RegisteredSchema]:
        key = (subject, frozenset(metadata.items()), deleted)
        known: RegisteredSchema | None = self._latest_with_metadata_cache.get(key)
        if known is not None:
            return known
        query = query_of(deleted=deleted, format=fmt)
        if metadata:
            query |= {"key": list(metadata), "value": list(metadata.values())}
        path = f"subjects/{_urlencode(subject)}/metadata"
        registered = RegisteredSchema.from_dict((yield self._rest_client.get(path, query)))
        self._latest_with_metadata_cache.set(key, registered)
        return registered

    def _version(
        self, subject: str, version: int | str, deleted: bool, fmt: str | None
    ) -> Steps[RegisteredSchema]:
        if isinstance(version, int):
            known = self._cache.get_registered_by_subject_version(subject, version)
            if known is not None:
                return known
        path = f"subjects/{_urlencode(subject)}/versions/{version}"
        query = query_of(deleted=deleted, format=fmt)
        registered = RegisteredSchema.from_dict((yield self._rest_client.get(path, query)))
        self._cache.set_registered_schema(registered.schema, registered)
        return registered

    def _delete_subject(self, subject: str, permanent: bool) -> Steps[list[int]]:
        query = {"permanent": True} if permanent else None
        path = f"subjects/{_urlencode(subject)}"
        versions: list[int] = yield self._rest_client.delete(path, query)
        if permanent:
            self._cache.remove_by_subject(subject)
        return versions

    def _delete_version(self, subject: str, version: int, permanent: bool) -> Steps[int]:
        query = {"permanent": True} if permanent else None
        path = f"subjects/{_urlencode(subject)}/versions/{version}"
        response: int = yield self._rest_client.delete(path, query)
        self._cache.remove_by_subject_version(subject, version)
        return response

    def _put_config(self, subject: str | None, config: ServerConfig | None) -> Any:
        if config is None:
            raise ValueError("config must be set")
        return self._rest_client.put(_config_path(subject), config.to_dict())

    def _put_compatibility(self, subject: str | None, level: str | None) -> Any:
        if level is None:
            raise ValueError("level must be set")
        return self._rest_client.put(_config_path(subject), {"compatibility": level.upper()})

    def _check(
        self, subject: str, schema: Schema, version: str, normalize: bool, verbose: bool
    ) -> Any:
        path = f"compatibility/subjects/{_urlencode(subject)}/versions{version}"
        query = {"normalize": normalize, "verbose": verbose}
        return self._rest_client.post(path, schema.to_dict(), query)

    def _resource_associations(
        self, name: str, namespace: str, kind: str | None, types: list[str] | None, *page: int
    ) -> Any:
        offset, limit = page
        query = query_of(
            resourceType=kind,
            associationType=types,
            offset=offset if offset > 0 else None,
            limit=limit if limit >= 1 else None,
        )
        path = f"associations/resources/{_urlencode(namespace)}/{_urlencode(name)}"
        return self._rest_client.get(path, query)

    def _remove_associations(
        self, resource_id: str, kind: str | None, types: list[str] | None, cascade: bool
    ) -> Any:
        query = query_of(cascadeLifecycle=cascade, resourceType=kind, associationType=types)
        path = f"associations/resources/{_urlencode(resource_id)}"
        return self._rest_client.delete(path, query)


def _config_path(subject: str | None) -> str:
    return "config" if subject is None else f"config/{_urlencode(subject)}"


def _mode_path(subject: str | None) -> str:
    return "mode" if subject is None else f"mode/{_urlencode(subject)}"
