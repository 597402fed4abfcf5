# Made by tools/twins.py from ../_async/_management.py: change that file.
"""The calls of the blocking client that manage a registry: levels, modes, associations."""

from __future__ import annotations

from typing import Any

from ottla.compat.confluent_kafka.schema_registry._association_documents import (
    Association,
    AssociationCreateOrUpdateRequest,
    AssociationResponse,
)
from ottla.compat.confluent_kafka.schema_registry._operations import (
    Operations,
    _config_path,
    _mode_path,
    page_of,
)
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema, ServerConfig


class Management(Operations):
    """The calls; they need no cache."""

    def set_compatibility(self, subject_name: str | None = None, level: str | None = None) -> Any:
        """Set which changes a subject accepts, or all; return the registry's response."""
        return self._put_compatibility(subject_name, level)

    def get_compatibility(self, subject_name: str | None = None) -> str:
        """Return which changes a subject accepts, or all."""
        response = self._rest_client.get(_config_path(subject_name))
        level: str = response["compatibilityLevel"]
        return level

    def test_compatibility(
        self,
        subject_name: str,
        schema: Schema,
        version: int | str = "latest",
        normalize: bool = False,
        verbose: bool = False,
    ) -> bool:
        """Return whether a subject would accept a schema after a version."""
        response = self._check(subject_name, schema, f"/{version}", normalize, verbose)
        compatible: bool = response["is_compatible"]
        return compatible

    def test_compatibility_all_versions(
        self, subject_name: str, schema: Schema, normalize: bool = False, verbose: bool = False
    ) -> bool:
        """Return whether a subject would accept a schema after all its versions."""
        response = self._check(subject_name, schema, "", normalize, verbose)
        compatible: bool = response["is_compatible"]
        return compatible

    def set_config(
        self, subject_name: str | None = None, config: ServerConfig | None = None
    ) -> Any:
        """Set the configuration of a subject, or of all; return the registry's response."""
        return self._put_config(subject_name, config)

    def delete_config(self, subject_name: str | None = None) -> ServerConfig:
        """Delete the configuration of a subject, and return it as it was."""
        return ServerConfig.from_dict(self._rest_client.delete(_config_path(subject_name)))

    def get_config(self, subject_name: str | None = None) -> ServerConfig:
        """Return the configuration of a subject, or of all."""
        return ServerConfig.from_dict(self._rest_client.get(_config_path(subject_name)))

    def get_mode(self, subject_name: str) -> str:
        """Return the mode of a subject: IMPORT, READONLY or READWRITE."""
        return _mode(self._rest_client.get(_mode_path(subject_name)))

    def update_mode(self, subject_name: str, mode: str, force: bool = False) -> str:
        """Set the mode of a subject, and return it."""
        path, body = _mode_path(subject_name), {"mode": mode}
        return _mode(self._rest_client.put(path, body, {"force": force}))

    def delete_mode(self, subject_name: str) -> str:
        """Delete the mode of a subject, and return it."""
        return _mode(self._rest_client.delete(_mode_path(subject_name)))

    def get_global_mode(self) -> str:
        """Return the registry's mode."""
        return _mode(self._rest_client.get(_mode_path(None)))

    def update_global_mode(self, mode: str, force: bool = False) -> str:
        """Set the registry's mode, and return it."""
        path, body = _mode_path(None), {"mode": mode}
        return _mode(self._rest_client.put(path, body, {"force": force}))

    def get_contexts(self, offset: int = 0, limit: int = -1) -> list[str]:
        """Return the contexts."""
        contexts: list[str] = self._rest_client.get("contexts", page_of(offset, limit))
        return contexts

    def get_associations_by_resource_name(
        self,
        resource_name: str,
        resource_namespace: str,
        resource_type: str | None = None,
        association_types: list[str] | None = None,
        offset: int = 0,
        limit: int = -1,
    ) -> list[Association]:
        """Return the associations of a resource; the namespace ``-`` stands for any."""
        response = self._resource_associations(
            resource_name, resource_namespace, resource_type, association_types, offset, limit
        )
        return [Association.from_dict(item) for item in response]

    def create_association(self, request: AssociationCreateOrUpdateRequest) -> AssociationResponse:
        """Associate subjects with a resource."""
        response = self._rest_client.post("associations", request.to_dict())
        return AssociationResponse.from_dict(response)

    def delete_associations(
        self,
        resource_id: str,
        resource_type: str | None = None,
        association_types: list[str] | None = None,
        cascade_lifecycle: bool = False,
    ) -> None:
        """Delete the associations of a resource, or some types of them."""
        self._remove_associations(resource_id, resource_type, association_types, cascade_lifecycle)


def _mode(response: dict[str, Any]) -> str:
    mode: str = response["mode"]
    return mode
