"""The types of access control lists."""

from __future__ import annotations

from enum import IntEnum

from ottla.compat.kafka.errors import IllegalArgumentError

__all__ = [
    "ACL",
    "ACLFilter",
    "ACLOperation",
    "ACLPermissionType",
    "ACLResourcePatternType",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
]


class ResourceType(IntEnum):
    """The type of a resource; ANY in filters alone."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class ACLOperation(IntEnum):
    """An operation; ANY in filters alone."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ACLPermissionType(IntEnum):
    """Whether something is allowed; ANY in filters alone."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(IntEnum):
    """How a name matches; ANY and MATCH in filters alone (KIP-290)."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


def _check(value: object, expected: type, what: str) -> None:
    if not isinstance(value, expected):
        raise IllegalArgumentError(f"{what} must be a {expected.__name__} object")


class _Comparable:
    """Equality by attributes."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!s}" for name, value in vars(self).items())
        return f"<{type(self).__name__} {shown}>"


class ResourcePatternFilter(_Comparable):
    """Matches resources."""

    def __init__(
        self,
        resource_type: ResourceType,
        resource_name: str | None,
        pattern_type: ACLResourcePatternType,
    ) -> None:
        _check(resource_type, ResourceType, "resource_type")
        _check(pattern_type, ACLResourcePatternType, "pattern_type")
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type


class ResourcePattern(ResourcePatternFilter):
    """A resource, or all whose names begin in one way."""

    def __init__(
        self,
        resource_type: ResourceType,
        resource_name: str,
        pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
    ) -> None:
        super().__init__(resource_type, resource_name, pattern_type)
        if resource_type == ResourceType.ANY:
            raise IllegalArgumentError("resource_type cannot be ANY")
        if pattern_type in (ACLResourcePatternType.ANY, ACLResourcePatternType.MATCH):
            raise IllegalArgumentError(f"pattern_type cannot be {pattern_type.name}")


class ACLFilter(_Comparable):
    """Matches entries."""

    def __init__(
        self,
        principal: str | None,
        host: str | None,
        operation: ACLOperation,
        permission_type: ACLPermissionType,
        resource_pattern: ResourcePatternFilter,
    ) -> None:
        _check(operation, ACLOperation, "operation")
        _check(permission_type, ACLPermissionType, "permission_type")
        _check(resource_pattern, ResourcePatternFilter, "resource_pattern")
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.resource_pattern = resource_pattern


class ACL(ACLFilter):
    """An entry."""

    def __init__(
        self,
        principal: str,
        host: str,
        operation: ACLOperation,
        permission_type: ACLPermissionType,
        resource_pattern: ResourcePattern,
    ) -> None:
        super().__init__(principal, host, operation, permission_type, resource_pattern)
        if operation == ACLOperation.ANY:
            raise IllegalArgumentError("operation cannot be ANY")
        if permission_type == ACLPermissionType.ANY:
            raise IllegalArgumentError("permission_type cannot be ANY")
        _check(resource_pattern, ResourcePattern, "resource_pattern")
