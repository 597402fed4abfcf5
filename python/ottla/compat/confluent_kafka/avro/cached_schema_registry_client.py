"""The registry's client of the deprecated classes. It keeps ids, schemas and versions.

Schemas are those of the avro library. A refusal is a ``ClientError``, or None where the caller
asked whether something exists.
"""

from __future__ import annotations

import logging
import warnings
from collections import defaultdict
from types import TracebackType
from typing import Any

from ottla.compat.confluent_kafka.avro._registry_connection import (
    VALID_AUTH_PROVIDERS,
    RegistryConnection,
)
from ottla.compat.confluent_kafka.avro.error import ClientError
from ottla.compat.confluent_kafka.avro.load import loads
from ottla.compat.confluent_kafka.schema_registry._backoff import is_success

VALID_LEVELS = ["NONE", "FULL", "FORWARD", "BACKWARD"]
VALID_METHODS = ["GET", "POST", "PUT", "DELETE"]

__all__ = [
    "VALID_AUTH_PROVIDERS",
    "VALID_LEVELS",
    "VALID_METHODS",
    "CachedSchemaRegistryClient",
]

log = logging.getLogger(__name__)


class CachedSchemaRegistryClient:
    """A client of a schema registry.

    Args:
        url: the configuration: ``url``, ``ssl.…``, ``basic.auth.…``, ``auto.register.schemas``. A
            URL alone is deprecated, and so are the other arguments.
        max_schemas_per_subject: ignored.
        ca_location: the authorities' certificates.
        cert_location: the client's certificate.
        key_location: the client's key.

    Raises:
        ValueError: a key or a value is invalid.
        TypeError: the URL is not a text.
    """

    def __init__(
        self,
        url: str | dict[str, Any],
        max_schemas_per_subject: int = 1000,
        ca_location: str | None = None,
        cert_location: str | None = None,
        key_location: str | None = None,
    ) -> None:
        if isinstance(url, dict):
            conf = dict(url)
        else:
            warnings.warn(
                "a URL and locations are deprecated: pass a dict with url, ssl.ca.location,"
                " ssl.certificate.location and ssl.key.location",
                category=DeprecationWarning,
                stacklevel=2,
            )
            conf = {
                "url": url,
                "ssl.ca.location": ca_location,
                "ssl.certificate.location": cert_location,
                "ssl.key.location": key_location,
            }
        self._session = RegistryConnection(conf)
        self.url = self._session.url
        self.auto_register_schemas = conf.pop("auto.register.schemas", True)
        if conf:
            raise ValueError(f"Unrecognized configuration properties: {', '.join(conf)}")
        self.subject_to_schema_ids: dict[str, dict[Any, int]] = defaultdict(dict)
        self.id_to_schema: dict[int, Any] = {}
        self.subject_to_schema_versions: dict[str, dict[Any, int]] = defaultdict(dict)

    def __enter__(self) -> CachedSchemaRegistryClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the idle connections."""
        self._session.close()

    def _request(
        self, method: str, *path: str, body: dict[str, Any] | None = None
    ) -> tuple[Any, int]:
        if method not in VALID_METHODS:
            raise ClientError(f"Method {method} is invalid; valid methods: {VALID_METHODS}")
        return self._session.request(method, *path, body=body)

    def _keep(
        self, schema: Any, schema_id: int, subject: str | None = None, version: int | None = None
    ) -> None:
        schema = self.id_to_schema.setdefault(schema_id, schema)
        if subject:
            self.subject_to_schema_ids[subject][schema] = schema_id
            if version:
                self.subject_to_schema_versions[subject][schema] = version

    def register(self, subject: str, avro_schema: Any) -> int:
        """Register a schema in a subject, and return its id."""
        known = self.subject_to_schema_ids[subject].get(avro_schema)
        if known is not None:
            return known
        body = {"schema": str(avro_schema)}
        result, code = self._request("POST", "subjects", subject, "versions", body=body)
        if not is_success(code):
            reasons = {401: "Unauthorized access", 403: "Unauthorized access"}
            reasons |= {409: "Incompatible Avro schema", 422: "Invalid Avro schema"}
            reason = reasons.get(code, "Unable to register schema")
            raise ClientError(f"{reason}. Error code:{code} message:{result}", code)
        schema_id: int = result["id"]
        self._keep(avro_schema, schema_id, subject)
        return schema_id

    def check_registration(self, subject: str, avro_schema: Any) -> int:
        """Return the id of a schema that a subject has."""
        known = self.subject_to_schema_ids[subject].get(avro_schema)
        if known is not None:
            return known
        body = {"schema": str(avro_schema)}
        result, code = self._request("POST", "subjects", subject, body=body)
        if not is_success(code):
            reasons = {401: "Unauthorized access", 403: "Unauthorized access"}
            reasons |= {404: "Schema or subject not found"}
            reason = reasons.get(code, "Unable to check schema registration")
            raise ClientError(f"{reason}. Error code:{code}", code)
        schema_id: int = result["id"]
        self._keep(avro_schema, schema_id, subject)
        return schema_id

    def delete_subject(self, subject: str) -> Any:
        """Delete a subject, and return its versions."""
        result, code = self._request("DELETE", "subjects", subject)
        if not is_success(code):
            raise ClientError(f"Unable to delete subject: {result}", code)
        return result

    def get_by_id(self, schema_id: int) -> Any:
        """Return the schema of an id, or None."""
        if schema_id in self.id_to_schema:
            return self.id_to_schema[schema_id]
        result, code = self._request("GET", "schemas", "ids", str(schema_id))
        if not is_success(code):
            log.error("the registry does not return the schema %d: status %d", schema_id, code)
            return None
        try:
            schema = loads(result.get("schema"))
        except ClientError as error:
            raise ClientError(
                f"Received bad schema (id {schema_id}) from registry: {error}"
            ) from error
        self._keep(schema, schema_id)
        return schema

    def get_latest_schema(self, subject: str) -> tuple[Any, Any, Any]:
        """Return id, schema and version of a subject's latest one; three Nones if there is none."""
        return self.get_by_version(subject, "latest")

    def get_by_version(self, subject: str, version: int | str) -> tuple[Any, Any, Any]:
        """Return id, schema and version of a version; three Nones if there is none."""
        path = ("subjects", subject, "versions", str(version))
        result, code = self._request("GET", *path)
        if not is_success(code):
            log.error("the registry does not return version %s: status %d", version, code)
            return (None, None, None)
        schema_id, number = result["id"], result["version"]
        schema = self.id_to_schema.get(schema_id)
        if schema is None:
            schema = loads(result["schema"])
        self._keep(schema, schema_id, subject, number)
        return (schema_id, schema, number)

    def get_version(self, subject: str, avro_schema: Any) -> int | None:
        """Return the version of a schema in a subject, or None."""
        known = self.subject_to_schema_versions[subject].get(avro_schema)
        if known is not None:
            return known
        body = {"schema": str(avro_schema)}
        result, code = self._request("POST", "subjects", subject, body=body)
        if not is_success(code):
            log.error("the registry does not know the schema: status %d", code)
            return None
        version: int = result["version"]
        self._keep(avro_schema, result["id"], subject, version)
        return version

    def test_compatibility(
        self, subject: str, avro_schema: Any, version: int | str = "latest"
    ) -> bool:
        """Return whether a subject would accept a schema. Any failure is False."""
        path = ("compatibility", "subjects", subject, "versions", str(version))
        try:
            result, code = self._request("POST", *path, body={"schema": str(avro_schema)})
        except Exception:
            log.exception("the registry was not asked whether a schema is compatible")
            return False
        if not is_success(code):
            log.error("the registry does not say whether a schema is compatible: status %d", code)
            return False
        return bool(result.get("is_compatible"))

    def update_compatibility(self, level: str, subject: str | None = None) -> str:
        """Set which changes a subject accepts, or all, and return it."""
        if level not in VALID_LEVELS:
            raise ClientError(f"Invalid level specified: {level}")
        path = ("config", subject) if subject else ("config",)
        result, code = self._request("PUT", *path, body={"compatibility": level})
        if not is_success(code):
            raise ClientError(f"Unable to update level: {level}. Error code: {code}", code)
        updated: str = result["compatibility"]
        return updated

    def get_compatibility(self, subject: str | None = None) -> str:
        """Return which changes a subject accepts, or all."""
        path = ("config", subject) if subject else ("config",)
        result, code = self._request("GET", *path)
        if not is_success(code):
            raise ClientError(f"Unable to fetch compatibility level. Error code: {code}", code)
        level: str | None = result.get("compatibilityLevel")
        if level not in VALID_LEVELS:
            raise ClientError(f"Invalid compatibility level received: {level}")
        return level
