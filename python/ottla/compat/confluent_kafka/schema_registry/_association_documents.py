"""Associations of subjects with resources such as topics, as documents of the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ottla.compat.confluent_kafka.schema_registry._documents import Document, parsed, parsed_list
from ottla.compat.confluent_kafka.schema_registry._schema_documents import Schema

_RESOURCE = {
    "resource_name": "resourceName",
    "resource_namespace": "resourceNamespace",
    "resource_id": "resourceId",
    "resource_type": "resourceType",
}


def _resource(document: dict[str, Any]) -> dict[str, Any]:
    return {name: document.get(key) for name, key in _RESOURCE.items()}


@dataclass(frozen=True)
class Association(Document):
    """A subject, and the resource that it belongs to."""

    subject: str | None
    guid: str | None
    resource_name: str | None
    resource_namespace: str | None
    resource_id: str | None
    resource_type: str | None
    association_type: str | None
    frozen: bool = False

    KEYS: ClassVar[dict[str, str]] = {
        "subject": "subject",
        "guid": "guid",
        **_RESOURCE,
        "association_type": "associationType",
        "frozen": "frozen",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> Association:
        """Return the association of a JSON object."""
        return cls(
            subject=src_dict.get("subject"),
            guid=src_dict.get("guid"),
            **_resource(src_dict),
            association_type=src_dict.get("associationType"),
            frozen=src_dict.get("frozen", False),
        )


@dataclass
class AssociationInfo(Document):
    """An association in a response."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool = False
    schema: Schema | None = None

    KEYS: ClassVar[dict[str, str]] = {
        "subject": "subject",
        "association_type": "associationType",
        "lifecycle": "lifecycle",
        "frozen": "frozen",
        "schema": "schema",
    }

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> AssociationInfo:
        """Return the association of a JSON object."""
        return cls(
            subject=src_dict.get("subject"),
            association_type=src_dict.get("associationType"),
            lifecycle=src_dict.get("lifecycle"),
            frozen=src_dict.get("frozen", False),
            schema=parsed(src_dict, "schema", Schema.from_dict),
        )


@dataclass
class AssociationCreateOrUpdateInfo(Document):
    """An association in a request."""

    subject: str | None = None
    association_type: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: Schema | None = None
    normalize: bool | None = None

    KEYS: ClassVar[dict[str, str]] = {**AssociationInfo.KEYS, "normalize": "normalize"}

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> AssociationCreateOrUpdateInfo:
        """Return the association of a JSON object."""
        return cls(
            subject=src_dict.get("subject"),
            association_type=src_dict.get("associationType"),
            lifecycle=src_dict.get("lifecycle"),
            frozen=src_dict.get("frozen"),
            schema=parsed(src_dict, "schema", Schema.from_dict),
            normalize=src_dict.get("normalize"),
        )


@dataclass
class AssociationCreateOrUpdateRequest(Document):
    """A request that creates or updates the associations of a resource."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationCreateOrUpdateInfo] | None = None

    KEYS: ClassVar[dict[str, str]] = {**_RESOURCE, "associations": "associations"}

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> AssociationCreateOrUpdateRequest:
        """Return the request of a JSON object."""
        parse = AssociationCreateOrUpdateInfo.from_dict
        associations = parsed_list(src_dict, "associations", parse) or None
        return cls(**_resource(src_dict), associations=associations)


@dataclass
class AssociationResponse(Document):
    """The associations of a resource, in a response."""

    resource_name: str | None = None
    resource_namespace: str | None = None
    resource_id: str | None = None
    resource_type: str | None = None
    associations: list[AssociationInfo] | None = None

    KEYS: ClassVar[dict[str, str]] = {**_RESOURCE, "associations": "associations"}

    @classmethod
    def from_dict(cls, src_dict: dict[str, Any]) -> AssociationResponse:
        """Return the response of a JSON object."""
        associations = parsed_list(src_dict, "associations", AssociationInfo.from_dict) or None
        return cls(**_resource(src_dict), associations=associations)
