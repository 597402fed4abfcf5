"""Resets of committed offsets: to the beginning, the end, an offset or a time, or by a distance.

Invariant: a reset never leaves the offsets that a partition has: it stops at the first or last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeAlias

from ottla._internal import arguments
from ottla.admin.destinations import TopicPartition, metadata
from ottla.admin.group_offsets import (
    CommittedOffset,
    alter_group_offsets,
    check_no_members,
    list_group_offsets,
)
from ottla.admin.items import error_of, settle
from ottla.admin.offsets import OffsetSpec, list_offsets, offset_bounds, place_text
from ottla.admin.operation_call import Call
from ottla.admin.plan import Plan, PlannedChange
from ottla.errors import ConfigError


@dataclass(frozen=True)
class Shift:
    """Moves an offset.

    Attributes:
        by: the number of offsets; negative moves back.
    """

    by: int


ResetTarget: TypeAlias = (
    Literal["earliest", "latest", "current"] | int | datetime | timedelta | Shift
)
"""Where to: a name, an offset, a time, how long ago, or how far from the committed offset."""


def checked(target: ResetTarget) -> ResetTarget:
    """Return a target whose number, if it has one, is an integer and no bool.

    Raises:
        ArgumentTypeError: it is something else.
    """
    if isinstance(target, Shift):
        return Shift(arguments.integer("target.by", target.by))
    if isinstance(target, (str, datetime, timedelta)):
        return target
    return arguments.integer(
        "target", target, "earliest, latest, current, an offset, a time, a duration or a Shift"
    )


async def planned_offsets(
    call: Call, group: str, target: ResetTarget, places: Iterable[str | TopicPartition] | None
) -> tuple[dict[TopicPartition, CommittedOffset], Plan]:
    """Return the offsets to commit, and the plan that shows them.

    Args:
        call: the call.
        group: the group.
        target: where to.
        places: topics, or partitions. Default: what the group has committed.
    """
    committed = settle(await list_group_offsets(call, [group]), "raise")[group]
    chosen = sorted(committed) if places is None else await _expand(call, places)
    if not chosen:
        raise ConfigError(f"group {group} has committed nothing: name the topics to reset")
    bounds = await offset_bounds(call, chosen)
    by_time = await _offsets_of_times(call, target, chosen)
    offsets, changes = {}, []
    for topic_partition in chosen:
        before = committed[topic_partition].offset if topic_partition in committed else None
        low, high = bounds[topic_partition]
        wanted = _wanted(target, before, low, high, by_time.get(topic_partition))
        offset = min(max(wanted, low), high)
        detail = place_text(topic_partition, wanted, bounds[topic_partition])
        if offset != before:
            offsets[topic_partition] = CommittedOffset(offset)
            shown = None if before is None else str(before)
            changes.append(PlannedChange("reset", f"group {group}", detail, shown, str(offset)))
    return offsets, Plan(changes)


async def reset_group_offsets(
    call: Call,
    group: str,
    target: ResetTarget,
    places: Iterable[str | TopicPartition] | None,
    *,
    dry_run: bool,
) -> Plan:
    """Reset offsets, or plan to."""
    if dry_run:
        await check_no_members(call, group)
    offsets, plan = await planned_offsets(call, group, target, places)
    if offsets and not dry_run:
        settle(await alter_group_offsets(call, group, offsets), "raise")
    return plan


async def _expand(call: Call, places: Iterable[str | TopicPartition]) -> list[TopicPartition]:
    given = list(places)
    topics = sorted({each for each in given if isinstance(each, str)})
    found = {each for each in given if not isinstance(each, str)}
    for topic in (await metadata(call, topics))["topics"] if topics else ():
        if error := error_of(topic, topic=topic["name"], api="Metadata"):
            raise error
        found |= {(topic["name"], each["partition_index"]) for each in topic["partitions"]}
    return sorted(found)


async def _offsets_of_times(
    call: Call, target: ResetTarget, places: list[TopicPartition]
) -> dict[TopicPartition, int | None]:
    if isinstance(target, timedelta):
        if target < timedelta():
            raise ConfigError(f"{target} is negative: name how long ago")
        target = _ago(target)
    if not isinstance(target, datetime):
        return {}
    specs: dict[TopicPartition, OffsetSpec] = dict.fromkeys(places, target)
    found = settle(await list_offsets(call, specs), "raise")
    return {topic_partition: each.offset for topic_partition, each in found.items()}


def _ago(duration: timedelta) -> datetime:
    try:
        return datetime.now(timezone.utc) - duration
    except OverflowError:
        # Before all records, as all times before 1970.
        return datetime.min.replace(tzinfo=timezone.utc)


def _wanted(
    target: ResetTarget, before: int | None, low: int, high: int, by_time: int | None
) -> int:
    match target:
        case "earliest":
            return low
        case "latest":
            return high
        case "current":
            return low if before is None else before
        case Shift(by):
            return (low if before is None else before) + by
        case datetime() | timedelta():
            # No record has this time or a later one.
            return high if by_time is None else by_time
        case int():
            return target
        case _:
            raise ConfigError(
                f"{target!r} is no target: expected earliest, latest, current, an offset, a time, "
                "a duration or a Shift"
            )
