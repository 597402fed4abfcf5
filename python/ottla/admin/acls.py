"""Access control lists: describe, create and delete their entries.

Invariant: a filter that names nothing matches everything, so deleting asks for a filter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ottla._internal.required_arguments import instance, instances
from ottla.admin.authorized_operations import OPERATIONS
from ottla.admin.destinations import to_controller
from ottla.admin.items import Results, error_of, in_order
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.errors import ConfigError, KafkaError

AclResourceType: TypeAlias = Literal[
    "topic", "group", "cluster", "transactional_id", "delegation_token", "user"
]
PatternType: TypeAlias = Literal["literal", "prefixed"]
Permission: TypeAlias = Literal["allow", "deny"]

_ANY = 1
_CLUSTER = "kafka-cluster"
_FILTER = 'AclFilter(resource_type="topic")'
_RESOURCE_TYPES = {
    "any": _ANY,
    "topic": 2,
    "group": 3,
    "cluster": 4,
    "transactional_id": 5,
    "delegation_token": 6,
    "user": 7,
}
# "match" finds the entries that affect a name: literal, prefixed and the wildcard's.
_PATTERN_TYPES = {"any": _ANY, "match": 2, "literal": 3, "prefixed": 4}
_PERMISSIONS = {"any": _ANY, "deny": 2, "allow": 3}
_OPERATIONS = {name.lower(): code for code, name in OPERATIONS.items()}


@dataclass(frozen=True, order=True)
class Acl:
    """An entry: who may do what, or may not.

    Attributes:
        resource_type: ``topic``, ``group``, ``cluster``, ``transactional_id``,
            ``delegation_token`` or ``user``.
        resource_name: the name of the resource, or ``*``; ``kafka-cluster`` for the cluster.
        principal: who, such as ``User:alice`` or ``User:*``.
        operation: what, by Kafka's name in lower case, such as ``read`` or ``describe_configs``.
        permission: ``allow`` or ``deny``.
        host: from which address; ``*`` from anywhere.
        pattern_type: ``literal``, or ``prefixed`` for all resources whose names begin so.
    """

    resource_type: AclResourceType
    resource_name: str
    principal: str
    operation: str
    permission: Permission = "allow"
    host: str = "*"
    pattern_type: PatternType = "literal"

    def __str__(self) -> str:
        """Return one line for people."""
        name = self.resource_name + ("*" if self.pattern_type == "prefixed" else "")
        return (
            f"{self.permission} {self.principal} to {self.operation} {self.resource_type} {name} "
            f"from {self.host}"
        )


@dataclass(frozen=True)
class AclFilter:
    """Matches entries: those that agree with everything that it names.

    Attributes:
        resource_type: a type, or None for any.
        resource_name: a name, or None for any.
        principal: a principal, or None for any.
        operation: an operation, or None for any.
        permission: ``allow``, ``deny``, or None for either.
        host: an address, or None for any.
        pattern_type: ``literal``, ``prefixed``, None for either, or ``match`` for all entries that
            affect ``resource_name``.
    """

    resource_type: AclResourceType | None = None
    resource_name: str | None = None
    principal: str | None = None
    operation: str | None = None
    permission: Permission | None = None
    host: str | None = None
    pattern_type: PatternType | Literal["match"] | None = None


def _entries(acls: Iterable[Acl]) -> list[Acl]:
    return instances("acls", acls, Acl, 'Acl("topic", "orders", "User:alice", "read")')


def _filters(filters: Iterable[AclFilter]) -> list[AclFilter]:
    return instances("filters", filters, AclFilter, _FILTER)


def _code(codes: Mapping[str, int], what: str, name: str | None) -> int:
    code = codes.get(name or "any")
    if code is None:
        expected = ", ".join(each for each in codes if each != "any")
        raise ConfigError(f"{what} is {name!r}: expected one of {expected}")
    return code


def _name_of(codes: Mapping[str, int], code: int) -> str:
    return next((name for name, known in codes.items() if known == code), f"unknown_{code}")


def _filter_body(wanted: AclFilter) -> Body:
    return {
        "resource_type_filter": _code(_RESOURCE_TYPES, "resource_type", wanted.resource_type),
        "resource_name_filter": wanted.resource_name,
        "pattern_type_filter": _code(_PATTERN_TYPES, "pattern_type", wanted.pattern_type),
        "principal_filter": wanted.principal,
        "host_filter": wanted.host,
        "operation": _code(_OPERATIONS, "operation", wanted.operation),
        "permission_type": _code(_PERMISSIONS, "permission", wanted.permission),
    }


def _acl(resource: Body, entry: Body) -> Acl:
    return Acl(
        _name_of(_RESOURCE_TYPES, resource["resource_type"]),  # type: ignore[arg-type]
        resource["resource_name"],
        entry["principal"],
        _name_of(_OPERATIONS, entry["operation"]),
        _name_of(_PERMISSIONS, entry["permission_type"]),  # type: ignore[arg-type]
        entry["host"],
        _name_of(_PATTERN_TYPES, resource["pattern_type"]),  # type: ignore[arg-type]
    )


async def describe_acls(call: Call, wanted: AclFilter) -> Table[Acl]:
    """Return the entries that a filter matches, sorted."""
    instance("matching", wanted, AclFilter, _FILTER)

    def build(_: list[AclFilter]) -> Request:
        return Request("DescribeAcls", _filter_body(wanted))

    def read(response: Response, _: list[AclFilter]) -> Results[AclFilter, list[Acl]]:
        acls = [
            _acl(resource, entry)
            for resource in response.body["resources"]
            for entry in resource["acls"]
        ]
        return {wanted: error_of(response.body, api="DescribeAcls") or sorted(acls)}

    result = (await to_controller(call, [wanted], build, read, changes=False))[wanted]
    if isinstance(result, list):
        return Table(Acl, result)
    raise result


def _creation(acl: Acl) -> Body:
    for what, value in (("pattern_type", acl.pattern_type), ("permission", acl.permission)):
        if value in {"any", "match"}:
            raise ConfigError(f"{what} is {value!r}: an entry needs a definite one")
    # Brokers refuse these, too, but only the creation: they do not check a plan.
    if ":" not in acl.principal:
        raise ConfigError(
            f"principal is {acl.principal!r}: expected a type and a name, such as User:alice"
        )
    if not acl.resource_name:
        raise ConfigError("resource_name is empty: name the resource, or give * for any")
    if acl.resource_type == "cluster" and acl.resource_name != _CLUSTER:
        raise ConfigError(f"resource_name is {acl.resource_name!r}: the cluster's is {_CLUSTER}")
    return {
        "resource_type": _code(_RESOURCE_TYPES, "resource_type", acl.resource_type),
        "resource_name": acl.resource_name,
        "resource_pattern_type": _code(_PATTERN_TYPES, "pattern_type", acl.pattern_type),
        "principal": acl.principal,
        "host": acl.host,
        "operation": _code(_OPERATIONS, "operation", acl.operation),
        "permission_type": _code(_PERMISSIONS, "permission", acl.permission),
    }


async def create_acls(call: Call, acls: Iterable[Acl]) -> Results[Acl, None]:
    """Create entries; one that exists stays."""
    bodies = {acl: _creation(acl) for acl in _entries(acls)}

    def build(pending: list[Acl]) -> Request:
        return Request("CreateAcls", {"creations": [bodies[acl] for acl in pending]})

    def read(response: Response, pending: list[Acl]) -> Results[Acl, None]:
        found = in_order(pending, response.body["results"])
        return {
            acl: error_of(result, acl, api="CreateAcls") if isinstance(result, dict) else result
            for acl, result in found.items()
        }

    return await to_controller(call, bodies, build, read)


async def delete_acls(call: Call, filters: Iterable[AclFilter]) -> Results[AclFilter, list[Acl]]:
    """Delete the entries that filters match, and return them."""
    bodies = {each: _filter_body(each) for each in _filters(filters)}

    def build(pending: list[AclFilter]) -> Request:
        return Request("DeleteAcls", {"filters": [bodies[each] for each in pending]})

    def read(response: Response, pending: list[AclFilter]) -> Results[AclFilter, list[Acl]]:
        results: Results[AclFilter, list[Acl]] = {}
        for each, result in in_order(pending, response.body["filter_results"]).items():
            if isinstance(result, KafkaError):
                results[each] = result
                continue
            failed = [
                error
                for acl in result["matching_acls"]
                if (error := error_of(acl, api="DeleteAcls"))
            ]
            error = error_of(result, api="DeleteAcls") or (failed[0] if failed else None)
            results[each] = error or sorted(_acl(acl, acl) for acl in result["matching_acls"])
        return results

    return await to_controller(call, bodies, build, read)


async def plan_creation(call: Call, acls: Iterable[Acl]) -> Plan:
    """Return the entries that do not exist yet."""
    wanted = {acl: _creation(acl) for acl in _entries(acls)}
    existing = set(await describe_acls(call, AclFilter()))
    return Plan([PlannedChange("create", "ACL", str(acl)) for acl in wanted if acl not in existing])


async def plan_deletion(call: Call, filters: Iterable[AclFilter]) -> Plan:
    """Return the entries that filters match."""
    found = {acl for each in _filters(filters) for acl in await describe_acls(call, each)}
    return Plan([PlannedChange("delete", "ACL", str(acl)) for acl in sorted(found)])
