"""Creates and deletes entries of access control lists.

Invariant: a deletion names one entry with all of its fields, so it never matches another one.
"""

from __future__ import annotations

from typing import Any

from ottla.admin import Acl, AclFilter
from ottla.console.changing.change import Change, Maker, Planned, text
from ottla.console.group_survey import TIMEOUT
from ottla.console.source import Source

_CLUSTER = "kafka-cluster"


def _create(source: Source, body: dict[str, Any]) -> Change:
    names = text(body, "operation").replace(",", " ").split()
    entries = [_acl(body, operation.lower()) for operation in dict.fromkeys(names)]

    def plan() -> Planned:
        return Planned(source.admin.create_acls(entries, dry_run=True, timeout=TIMEOUT))

    def apply() -> None:
        source.admin.create_acls(entries, timeout=TIMEOUT)

    return Change([str(each) for each in entries], plan, apply)


def _delete(source: Source, body: dict[str, Any]) -> Change:
    entry = _acl(body, text(body, "operation"))
    only = AclFilter(
        resource_type=entry.resource_type,
        resource_name=entry.resource_name,
        principal=entry.principal,
        operation=entry.operation,
        permission=entry.permission,
        host=entry.host,
        pattern_type=entry.pattern_type,
    )

    def plan() -> Planned:
        return Planned(source.admin.delete_acls([only], dry_run=True, timeout=TIMEOUT))

    def apply() -> None:
        source.admin.delete_acls([only], timeout=TIMEOUT)

    return Change(str(entry), plan, apply)


def _acl(body: dict[str, Any], operation: str) -> Acl:
    """Return the entry of a request; the client checks its values."""
    kind = text(body, "resource_type")
    is_cluster = kind == "cluster"
    return Acl(
        kind,  # type: ignore[arg-type]  # a literal
        _CLUSTER if is_cluster else text(body, "resource_name"),
        text(body, "principal"),
        operation,
        text(body, "permission", "allow"),  # type: ignore[arg-type]  # a literal
        text(body, "host", "") or "*",
        "literal" if is_cluster else text(body, "pattern_type", "literal"),  # type: ignore[arg-type]
    )


CHANGES: dict[str, Maker] = {"acls/create": _create, "acls/delete": _delete}
"""The changes of access control lists."""
