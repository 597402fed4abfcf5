"""Entries of access control lists, and filters that match them (``confluent_kafka.admin._acl``).

Invariant: an entry has a definite value in each field; only a filter may leave fields open.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from ottla.compat.confluent_kafka import _constants as numbers
from ottla.compat.confluent_kafka.admin._enums import OrderedEnum, member_of
from ottla.compat.confluent_kafka.admin._resource import ResourcePatternType, ResourceType


class AclOperation(OrderedEnum):
    """An operation that is allowed or denied."""

    UNKNOWN = numbers.ACL_OPERATION_UNKNOWN
    ANY = numbers.ACL_OPERATION_ANY
    ALL = numbers.ACL_OPERATION_ALL
    READ = numbers.ACL_OPERATION_READ
    WRITE = numbers.ACL_OPERATION_WRITE
    CREATE = numbers.ACL_OPERATION_CREATE
    DELETE = numbers.ACL_OPERATION_DELETE
    ALTER = numbers.ACL_OPERATION_ALTER
    DESCRIBE = numbers.ACL_OPERATION_DESCRIBE
    CLUSTER_ACTION = numbers.ACL_OPERATION_CLUSTER_ACTION
    DESCRIBE_CONFIGS = numbers.ACL_OPERATION_DESCRIBE_CONFIGS
    ALTER_CONFIGS = numbers.ACL_OPERATION_ALTER_CONFIGS
    IDEMPOTENT_WRITE = numbers.ACL_OPERATION_IDEMPOTENT_WRITE


class AclPermissionType(OrderedEnum):
    """Whether an entry allows or denies."""

    UNKNOWN = numbers.ACL_PERMISSION_TYPE_UNKNOWN
    ANY = numbers.ACL_PERMISSION_TYPE_ANY
    DENY = numbers.ACL_PERMISSION_TYPE_DENY
    ALLOW = numbers.ACL_PERMISSION_TYPE_ALLOW


@functools.total_ordering
class AclBinding:
    """An entry of an access control list: who may do what, or may not.

    Args:
        restype: the type of the resource, as a member, its name in any case, or its number; so are
            ``resource_pattern_type``, ``operation`` and ``permission_type``.
        name: the resource's name.
        resource_pattern_type: how the name is matched.
        principal: who, such as ``User:alice``.
        host: the address that the principal connects from; ``*`` for any.
        operation: what it may do.
        permission_type: whether it may.

    Raises:
        ValueError: a field is None, unknown or open.
        TypeError: a field is of another type.
    """

    _TEXTS: ClassVar[tuple[str, ...]] = ("name", "principal", "host")
    _REQUIRED: ClassVar[tuple[str, ...]] = _TEXTS
    # Members that the class cannot hold.
    _REFUSED: ClassVar[frozenset[OrderedEnum]] = frozenset(
        {
            ResourceType.ANY,
            ResourcePatternType.ANY,
            ResourcePatternType.MATCH,
            AclOperation.ANY,
            AclPermissionType.ANY,
        }
    )

    def __init__(
        self,
        restype: ResourceType | str | int,
        name: str,
        resource_pattern_type: ResourcePatternType | str | int,
        principal: str,
        host: str,
        operation: AclOperation | str | int,
        permission_type: AclPermissionType | str | int,
    ) -> None:
        self.name = name
        self.principal = principal
        self.host = host
        for field in self._TEXTS:
            self._check_text(field)
        self.restype = self._member(ResourceType, "restype", restype)
        self.resource_pattern_type = self._member(
            ResourcePatternType, "resource_pattern_type", resource_pattern_type
        )
        self.operation = self._member(AclOperation, "operation", operation)
        self.permission_type = self._member(AclPermissionType, "permission_type", permission_type)

    def _check_text(self, field: str) -> None:
        value = getattr(self, field)
        if value is None and field in self._REQUIRED:
            raise ValueError(f"{field} must not be None")
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{field} must be a str, not {type(value).__name__}")

    def _member(self, kind: type[Any], field: str, value: object) -> Any:
        if value is None:
            raise ValueError(f"{field} must not be None")
        member = member_of(kind, value)
        if member in self._REFUSED:
            raise ValueError(f"{field} cannot be {member.name} in {type(self).__name__}")
        return member

    def _key(self) -> tuple[Any, ...]:
        return (
            self.restype,
            self.name,
            self.resource_pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({','.join(map(str, self._key()))})"

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, AclBinding):
            return NotImplemented
        return self._key() < other._key()


class AclBindingFilter(AclBinding):
    """Matches entries that agree in every field; None and ``ANY`` match each value.

    With ``ResourcePatternType.MATCH`` it matches all entries that affect the named resource:
    literal, prefixed and the wildcard's.
    """

    _REQUIRED: ClassVar[tuple[str, ...]] = ()
    _REFUSED: ClassVar[frozenset[OrderedEnum]] = frozenset(
        {
            ResourceType.UNKNOWN,
            ResourcePatternType.UNKNOWN,
            AclOperation.UNKNOWN,
            AclPermissionType.UNKNOWN,
        }
    )


def operations_of(names: list[str] | None) -> list[AclOperation] | None:
    """Return what a principal may do, from ottla's names; None if that was not asked for."""
    if not names:
        return None
    return [AclOperation[name] for name in names if name in AclOperation.__members__]
