"""Resets and deletes committed offsets, and deletes groups.

Invariant: offsets are reset or deleted only if they are still those of the plan.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ottla._internal.text import counted
from ottla.cli.groups.reset import parse_target
from ottla.cli.parsing import parse_partition
from ottla.console.changing.change import Change, Maker, Planned, text, typed
from ottla.console.group_survey import NO_LAG, TIMEOUT
from ottla.console.source import Source
from ottla.errors import ConfigError


def _reset(source: Source, body: dict[str, Any]) -> Change:
    name, to, wanted = text(body, "group"), text(body, "to"), text(body, "topics", "").split()
    target, topics = parse_target(to), [parse_partition(each) for each in wanted] or None
    admin = source.admin

    def plan() -> Planned:
        return Planned(
            admin.reset_group_offsets(name, target, topics, dry_run=True, timeout=TIMEOUT)
        )

    def apply() -> None:
        admin.reset_group_offsets(name, target, topics, timeout=TIMEOUT)

    return Change([name, to, wanted], plan, apply)


def _delete(source: Source, body: dict[str, Any]) -> Change:
    name = text(body, "group")

    def plan() -> Planned:
        changes = source.admin.delete_groups([name], dry_run=True, timeout=TIMEOUT)
        offsets: dict[tuple[str, int], str] = {}
        if source.admin.describe_groups([name], timeout=TIMEOUT)[name].type not in NO_LAG:
            offsets = _offsets(source, name)
        what = f"with {counted(len(offsets), 'committed offset')}"
        detailed = [dataclasses.replace(each, detail=f"{each.detail}, {what}") for each in changes]
        state = [[*partition, offset] for partition, offset in sorted(offsets.items())]
        return Planned(detailed, state)

    def apply() -> None:
        source.admin.delete_groups([name], timeout=TIMEOUT)

    return Change(name, plan, apply, check=typed(body, name))


def _delete_offsets(source: Source, body: dict[str, Any]) -> Change:
    name, wanted = text(body, "group"), text(body, "topics").split()
    parsed = [parse_partition(each) for each in wanted]

    def partitions() -> list[tuple[str, int]]:
        """Return the partitions with committed offsets that the request names."""
        named = [each for each in _offsets(source, name) if each in parsed or each[0] in parsed]
        if not named:
            raise ConfigError(
                f"group {name} has no committed offsets of {' '.join(wanted)}: "
                "name topics of its lag"
            )
        return named

    def plan() -> Planned:
        admin = source.admin
        return Planned(
            admin.delete_group_offsets(name, partitions(), dry_run=True, timeout=TIMEOUT)
        )

    def apply() -> None:
        source.admin.delete_group_offsets(name, partitions(), timeout=TIMEOUT)

    return Change([name, wanted], plan, apply)


def _offsets(source: Source, name: str) -> dict[tuple[str, int], str]:
    found = source.admin.list_group_offsets([name], timeout=TIMEOUT)[name]
    return {partition: str(offset) for partition, offset in found.items()}


CHANGES: dict[str, Maker] = {
    "groups/reset": _reset,
    "groups/delete": _delete,
    "groups/offsets": _delete_offsets,
}
"""The changes of groups."""
