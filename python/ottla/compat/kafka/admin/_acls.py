"""The admin calls about access control lists.

Invariant: a filter of kafka-python becomes the same filter, or is refused; none matches more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.admin._acl_types import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from ottla.compat.kafka.admin._base import AdminBase, error_class
from ottla.compat.kafka.errors import BrokerResponseError, IllegalArgumentError, for_code

__all__ = ["Acls"]


class Acls(AdminBase):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], type[BrokerResponseError]]:
        """Return the entries that match, and ``NoError``."""
        with translating():
            found = self._admin.describe_acls(_filter(acl_filter), timeout=self._seconds())
        return [_entry(each) for each in found], for_code(0)

    def create_acls(self, acls: Iterable[ACL]) -> dict[str, list[Any]]:
        """Create entries.

        Returns:
            A dict with ``succeeded`` and ``failed``.
        """
        wanted = list(acls)
        if not all(isinstance(each, ACL) for each in wanted):
            raise IllegalArgumentError("acls must contain ACL objects")
        native = [_native(each) for each in wanted]
        with translating():
            found = self._admin.create_acls(native, errors="return", timeout=self._seconds())
        result: dict[str, list[Any]] = {"succeeded": [], "failed": []}
        for each, key in zip(wanted, native, strict=True):
            error = found[key]
            if error is None:
                result["succeeded"].append(each)
            else:
                result["failed"].append(error_class(error))
        return result

    def delete_acls(
        self, acl_filters: Iterable[ACLFilter]
    ) -> list[tuple[ACLFilter, list[ACL], type[BrokerResponseError]]]:
        """Delete the entries that match; returns them, and the class of the error, by filter."""
        wanted = list(acl_filters)
        if not all(isinstance(each, ACLFilter) for each in wanted):
            raise IllegalArgumentError("acl_filters must contain ACLFilter type objects")
        native = [_filter(each) for each in wanted]
        with translating():
            found = self._admin.delete_acls(native, errors="return", timeout=self._seconds())
        result = []
        for each, key in zip(wanted, native, strict=True):
            deleted = found[key]
            entries = [] if isinstance(deleted, Exception) else [_entry(acl) for acl in deleted]
            result.append((each, entries, error_class(deleted)))
        return result


def _named(member: Any, what: str) -> Any:
    """Return the name for ottla; None for any."""
    if member.name == "UNKNOWN":
        raise IllegalArgumentError(f"{what} cannot be UNKNOWN")
    return None if member.name == "ANY" else member.name.lower()


def _filter(wanted: ACLFilter) -> admin.AclFilter:
    pattern = wanted.resource_pattern
    return admin.AclFilter(
        _named(pattern.resource_type, "resource_type"),
        pattern.resource_name,
        wanted.principal,
        _named(wanted.operation, "operation"),
        _named(wanted.permission_type, "permission_type"),
        wanted.host,
        _named(pattern.pattern_type, "pattern_type"),
    )


def _native(entry: ACL) -> admin.Acl:
    pattern = entry.resource_pattern
    return admin.Acl(
        _named(pattern.resource_type, "resource_type"),
        str(pattern.resource_name),
        str(entry.principal),
        _named(entry.operation, "operation"),
        _named(entry.permission_type, "permission_type"),
        str(entry.host),
        _named(pattern.pattern_type, "pattern_type"),
    )


def _member(members: Any, name: str) -> Any:
    return members.__members__.get(name.upper(), members.UNKNOWN)


def _entry(found: admin.Acl) -> ACL:
    return ACL(
        found.principal,
        found.host,
        _member(ACLOperation, found.operation),
        _member(ACLPermissionType, found.permission),
        ResourcePattern(
            _member(ResourceType, found.resource_type),
            found.resource_name,
            _member(ACLResourcePatternType, found.pattern_type),
        ),
    )
