"""A schema registry in memory, behind ``mock://``: it responds to the client's requests.

It is a session of the client instead of the network, so that the mock client is the client. It
keeps schemas with metadata and rules, references, configurations, modes and associations. It
accepts every schema as compatible, as confluent-kafka's own mock does.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema
from ottla.compat.confluent_kafka.schema_registry._transport import Response


class _Refusal(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        self.status = status
        self.body = {"error_code": code, "message": message}


def _no_subject() -> _Refusal:
    return _Refusal(404, 40401, "Subject not found")


def _no_version() -> _Refusal:
    return _Refusal(404, 40402, "Version not found")


def _no_schema() -> _Refusal:
    return _Refusal(404, 40403, "Schema not found")


class MockStore:
    """The registry. Any thread may use it."""

    def __init__(self) -> None:
        self.auth = None
        self._lock = Lock()
        self._next_id = 1
        self._schemas: dict[int, tuple[str, dict[str, Any]]] = {}
        self._subjects: dict[str, dict[int, int]] = {}
        self._next_version: dict[str, int] = {}
        self._configs: dict[str | None, dict[str, Any]] = {}
        self._modes: dict[str | None, str] = {}
        self._associations: dict[str, list[dict[str, Any]]] = {}

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        content: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Response:
        """Return the response of a request."""
        parts = urlsplit(url)
        path = [unquote(part) for part in parts.path.split("/") if part]
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        query.update(params or {})
        body = json.loads(content) if content else {}
        try:
            with self._lock:
                status, result = 200, self._respond(method, path, query, body)
        except _Refusal as refusal:
            status, result = refusal.status, refusal.body
        return Response(status, b"" if result is None else json.dumps(result).encode())

    def close(self) -> None:
        """Do nothing: there are no connections."""

    def _respond(
        self, method: str, path: list[str], query: dict[str, Any], body: dict[str, Any]
    ) -> Any:
        match (method, path):
            case "GET", ["schemas", "types"]:
                return ["AVRO", "JSON", "PROTOBUF"]
            case "GET", ["schemas", "ids", text]:
                return self._document(int(text))
            case "GET", ["schemas", "guids", guid]:
                return self._document(self._id_of_guid(guid))
            case "GET", ["schemas", "ids", text, "subjects"]:
                return [subject for subject, _ in self._places(int(text))]
            case "GET", ["schemas", "ids", text, "versions"]:
                places = self._places(int(text))
                return [{"subject": subject, "version": version} for subject, version in places]
            case "GET", ["subjects"]:
                prefix = query.get("subjectPrefix", "")
                return _page([name for name in self._subjects if name.startswith(prefix)], query)
            case "POST", ["subjects", subject]:
                return self._lookup(subject, body)
            case "DELETE", ["subjects", subject]:
                versions = list(self._versions(subject))
                del self._subjects[subject]
                return versions
            case _, ["subjects", subject, "versions" | "metadata", *_]:
                return self._respond_versions(method, path[2:], subject, query, body)
            case "POST", ["compatibility", "subjects", *_]:
                return {"is_compatible": True}
            case _, ["config", *rest]:
                return self._respond_config(method, rest[0] if rest else None, body)
            case _, ["mode", *rest]:
                return self._respond_mode(method, rest[0] if rest else None, body)
            case "GET", ["contexts"]:
                return ["."]
            case "POST", ["associations"]:
                return self._associate(body)
            case "GET", ["associations", "resources", namespace, name]:
                return self._find_associations(namespace, name, query)
            case "DELETE", ["associations", "resources", resource_id]:
                return self._delete_associations(resource_id, query)
        raise _Refusal(404, 404, "HTTP 404 Not Found")

    def _respond_versions(
        self,
        method: str,
        path: list[str],
        subject: str,
        query: dict[str, Any],
        body: dict[str, Any],
    ) -> Any:
        match (method, path):
            case "GET", ["versions"]:
                return _page(list(self._versions(subject)), query)
            case "POST", ["versions"]:
                return self._register(subject, body)
            case "GET", ["versions", version]:
                return self._registered(subject, self._number(subject, version))
            case "GET", ["versions", version, "referencedby"]:
                number = self._number(subject, version)
                return [
                    schema_id
                    for schema_id, (_, schema) in self._schemas.items()
                    if _refers(schema, subject, number)
                ]
            case "DELETE", ["versions", version]:
                number = self._number(subject, version)
                del self._subjects[subject][number]
                return number
            case "GET", ["metadata"]:
                return self._with_metadata(subject, query)
        raise _Refusal(404, 404, "HTTP 404 Not Found")

    def _document(self, schema_id: int) -> dict[str, Any]:
        if schema_id not in self._schemas:
            raise _no_schema()
        guid, schema = self._schemas[schema_id]
        return {**schema, "id": schema_id, "guid": guid}

    def _id_of_guid(self, guid: str) -> int:
        for schema_id, (known, _) in self._schemas.items():
            if known == guid:
                return schema_id
        raise _no_schema()

    def _places(self, schema_id: int) -> list[tuple[str, int]]:
        return [
            (subject, version)
            for subject, versions in self._subjects.items()
            for version, known in versions.items()
            if known == schema_id
        ]

    def _versions(self, subject: str) -> dict[int, int]:
        versions = self._subjects.get(subject)
        if not versions:
            raise _no_subject()
        return versions

    def _number(self, subject: str, version: str) -> int:
        versions = self._versions(subject)
        number = max(versions) if version in ("latest", "-1") else int(version)
        if number not in versions:
            raise _no_version()
        return number

    def _registered(self, subject: str, version: int) -> dict[str, Any]:
        schema_id = self._versions(subject)[version]
        return {**self._document(schema_id), "subject": subject, "version": version}

    def _find(self, subject: str, schema: dict[str, Any]) -> int | None:
        for version, schema_id in self._subjects.get(subject, {}).items():
            if self._schemas[schema_id][1] == schema:
                return version
        return None

    def _lookup(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        self._versions(subject)
        version = self._find(subject, _normal(body))
        if version is None:
            raise _no_schema()
        return self._registered(subject, version)

    def _register(self, subject: str, body: dict[str, Any]) -> dict[str, Any]:
        schema = _normal(body)
        version = self._find(subject, schema)
        if version is None:
            same = (key for key, (_, known) in self._schemas.items() if known == schema)
            schema_id = next(same, None)
            if schema_id is None:
                schema_id, self._next_id = self._next_id, self._next_id + 1
                self._schemas[schema_id] = (str(uuid.uuid4()), schema)
            version = self._next_version.get(subject, 1)
            self._next_version[subject] = version + 1
            self._subjects.setdefault(subject, {})[version] = schema_id
        return self._registered(subject, version)

    def _with_metadata(self, subject: str, query: dict[str, Any]) -> dict[str, Any]:
        wanted = dict(zip(query.get("key", []), query.get("value", []), strict=True))
        for version in sorted(self._versions(subject), reverse=True):
            document = self._registered(subject, version)
            properties = (document.get("metadata") or {}).get("properties") or {}
            if wanted.items() <= properties.items():
                return document
        raise _no_schema()

    def _respond_config(self, method: str, subject: str | None, body: dict[str, Any]) -> Any:
        default = {"compatibilityLevel": "BACKWARD"}
        if method == "PUT":
            level = body.get("compatibility")
            kept = {key: value for key, value in body.items() if key != "compatibility"}
            self._configs[subject] = kept | ({"compatibilityLevel": level} if level else {})
            return body
        if method == "DELETE":
            return self._configs.pop(subject, default)
        return self._configs.get(subject, self._configs.get(None, default))

    def _respond_mode(self, method: str, subject: str | None, body: dict[str, Any]) -> Any:
        if method == "PUT":
            self._modes[subject] = body["mode"]
            return body
        if method == "DELETE":
            return {"mode": self._modes.pop(subject, "READWRITE")}
        return {"mode": self._modes.get(subject, self._modes.get(None, "READWRITE"))}

    def _associate(self, body: dict[str, Any]) -> dict[str, Any]:
        resource = {key: value for key, value in body.items() if key != "associations"}
        known = self._associations.setdefault(resource.get("resourceId") or "", [])
        created = [{"frozen": False, **item} for item in body.get("associations") or []]
        known.extend({**resource, **item} for item in created)
        return {**resource, "associations": created}

    def _find_associations(
        self, namespace: str, name: str, query: dict[str, Any]
    ) -> list[dict[str, Any]]:
        return [
            item
            for known in self._associations.values()
            for item in known
            if item.get("resourceName") == name
            and namespace in ("-", item.get("resourceNamespace"))
            and _chosen(item, query)
        ]

    def _delete_associations(self, resource_id: str, query: dict[str, Any]) -> None:
        known = self._associations.get(resource_id, [])
        self._associations[resource_id] = [item for item in known if not _chosen(item, query)]


class AsyncMockStore(MockStore):
    """The registry of an asyncio client: the same, awaited."""

    async def request(self, method: str, url: str, **arguments: Any) -> Response:  # type: ignore[override]
        """Return the response of a request."""
        return super().request(method, url, **arguments)

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


def _normal(body: dict[str, Any]) -> dict[str, Any]:
    # A client may leave out what another one sends empty.
    return Schema.from_dict(body).to_dict()


def _refers(schema: dict[str, Any], subject: str, version: int) -> bool:
    references = schema.get("references") or []
    return any((item["subject"], item["version"]) == (subject, version) for item in references)


def _chosen(item: dict[str, Any], query: dict[str, Any]) -> bool:
    kind, types = query.get("resourceType"), query.get("associationType")
    if kind is not None and item.get("resourceType") != kind:
        return False
    return types is None or item.get("associationType") in types


def _page(items: list[Any], query: dict[str, Any]) -> list[Any]:
    offset, limit = int(query.get("offset", 0)), int(query.get("limit", -1))
    rest = items[offset:]
    return rest if limit < 0 else rest[:limit]
