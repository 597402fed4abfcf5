"""The client's caches: schemas by id, GUID, subject and version, and the latest ones of subjects.

Any thread may use them. Schemas by id never change, so they stay until they are deleted through
this client; only ids that the registry has confirmed get in. The latest schemas are bounded in
number, and in time if the configuration has a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Any

from ottla.compat.confluent_kafka.schema_registry._schema_documents import (
    RegisteredSchema,
    Schema,
)


class LatestCache:
    """The least recently used values go first, and those that are older than ``ttl`` seconds."""

    def __init__(
        self, capacity: int, ttl: float | None = None, clock: Callable[[], float] = monotonic
    ) -> None:
        self._capacity = max(capacity, 0)
        self._ttl = ttl
        self._clock = clock
        self._lock = Lock()
        self._values: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """Return the value of a key, or None."""
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            if self._ttl is not None and self._clock() - found[0] >= self._ttl:
                del self._values[key]
                return None
            self._values.move_to_end(key)
            return found[1]

    def set(self, key: Hashable, value: Any) -> None:
        """Keep a value."""
        with self._lock:
            self._values[key] = (self._clock(), value)
            self._values.move_to_end(key)
            while len(self._values) > self._capacity:
                self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()


class SchemaCache:
    """Schemas that the registry has confirmed, by subject."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_id: dict[tuple[str | None, int], tuple[str | None, Schema]] = {}
        self._by_guid: dict[str, Schema] = {}
        self._ids: dict[tuple[str | None, Schema], int] = {}
        self._registered_by_id: dict[tuple[str | None, int], RegisteredSchema] = {}
        self._registered_by_version: dict[tuple[str | None, int], RegisteredSchema] = {}
        self._registered_by_schema: dict[tuple[str | None, Schema], RegisteredSchema] = {}

    def set_schema(
        self, subject: str | None, schema_id: int | None, guid: str | None, schema: Schema
    ) -> None:
        """Keep a schema with its id, as seen in a subject, or without one."""
        with self._lock:
            self._set(subject, schema_id, guid, schema)

    def _set(
        self, subject: str | None, schema_id: int | None, guid: str | None, schema: Schema
    ) -> None:
        if schema_id is not None:
            self._by_id[subject, schema_id] = (guid, schema)
            self._ids[subject, schema] = schema_id
        if guid is not None:
            self._by_guid[guid] = schema

    def set_schema_alias(self, subject: str, schema_id: int, schema: Schema) -> None:
        """Keep another text under which an id is known, such as one before normalization."""
        with self._lock:
            self._ids[subject, schema] = schema_id

    def set_registered_schema(self, schema: Schema, registered_schema: RegisteredSchema) -> None:
        """Keep a version of a subject."""
        subject = registered_schema.subject
        schema_id = registered_schema.schema_id
        version = registered_schema.version
        with self._lock:
            self._set(subject, schema_id, registered_schema.guid, schema)
            if schema_id is not None:
                self._registered_by_id[subject, schema_id] = registered_schema
            if version is not None:
                self._registered_by_version[subject, version] = registered_schema
            self._registered_by_schema[subject, schema] = registered_schema

    # Reads of one entry need no lock: a dict's own operations are atomic.

    def get_schema_by_id(
        self, subject: str | None, schema_id: int
    ) -> tuple[str | None, Schema] | None:
        """Return the GUID and the schema of an id."""
        return self._by_id.get((subject, schema_id))

    def get_schema_by_guid(self, guid: str) -> Schema | None:
        """Return the schema of a GUID."""
        return self._by_guid.get(guid)

    def get_id_by_schema(self, subject: str, schema: Schema) -> int | None:
        """Return the id of a schema."""
        return self._ids.get((subject, schema))

    def get_registered_by_subject_schema(
        self, subject: str, schema: Schema
    ) -> RegisteredSchema | None:
        """Return the version of a subject that has a schema."""
        return self._registered_by_schema.get((subject, schema))

    def get_registered_by_subject_id(self, subject: str, schema_id: int) -> RegisteredSchema | None:
        """Return the version of a subject that has an id."""
        return self._registered_by_id.get((subject, schema_id))

    def get_registered_by_subject_version(
        self, subject: str, version: int
    ) -> RegisteredSchema | None:
        """Return a version of a subject."""
        return self._registered_by_version.get((subject, version))

    def _tables(self) -> list[dict[Any, Any]]:
        registered = [self._registered_by_id, self._registered_by_version]
        return [self._by_id, self._ids, *registered, self._registered_by_schema]

    def remove_by_subject(self, subject: str) -> None:
        """Forget a subject."""
        with self._lock:
            for table in self._tables():
                for key in [key for key in table if key[0] == subject]:
                    del table[key]

    def remove_by_subject_version(self, subject: str, version: int) -> None:
        """Forget a version of a subject."""
        with self._lock:
            found = self._registered_by_version.pop((subject, version), None)
            if found is None:
                return
            self._registered_by_schema.pop((subject, found.schema), None)
            self._ids.pop((subject, found.schema), None)
            if found.schema_id is not None:
                self._registered_by_id.pop((subject, found.schema_id), None)
                self._by_id.pop((subject, found.schema_id), None)

    def clear(self) -> None:
        """Forget all schemas."""
        with self._lock:
            self._by_guid.clear()
            for table in self._tables():
                table.clear()
