"""The lag of groups: how far they are behind, in records and in time.

Invariant: no record is read; the time of the next record is found by asking for offsets of times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ottla._core import OffsetAndTimestamp
from ottla.admin.call import Call
from ottla.admin.destinations import TopicPartition
from ottla.admin.group_descriptions import MemberDescription, describe_groups
from ottla.admin.group_offsets import list_group_offsets
from ottla.admin.items import settle
from ottla.admin.offsets import IsolationLevel, OffsetSpec, list_offsets
from ottla.admin.tables import Table
from ottla.errors import KafkaError

# The time of the next record is found to this part of the lag, or to a second.
_PRECISION = 0.02
_PRECISION_MS = 1_000
_ROUNDS = 40


@dataclass(frozen=True)
class PartitionLag:
    """How far a group is behind in a partition.

    Attributes:
        topic: the topic.
        partition: the partition.
        committed: the offset of the next record to read; None if none is committed.
        end: the offset after the last record.
        lag: the number of offsets from ``committed`` to ``end``; None without a committed offset.
        lag_ms: the age of the next record to read, in ms, to a second or two hundredths of it; 0
            if there is none, None if it is unknown.
        member_id: the member that has the partition; None if nobody has.
        client_id: the ``client.id`` of this member.
        host: the address of this member.
    """

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None
    lag_ms: int | None
    member_id: str | None
    client_id: str | None
    host: str | None


async def _ask(
    call: Call, specs: Mapping[TopicPartition, OffsetSpec], isolation_level: IsolationLevel
) -> dict[TopicPartition, OffsetAndTimestamp]:
    found = await list_offsets(call, specs, isolation_level=isolation_level)
    # A topic that was deleted has no lag.
    return {place: each for place, each in found.items() if not isinstance(each, KafkaError)}


async def group_lag(
    call: Call, group: str, *, isolation_level: IsolationLevel
) -> Table[PartitionLag]:
    """Return the lag of a group in each partition that it has committed or that a member has."""
    committed = settle(await list_group_offsets(call, [group]), "raise")[group]
    description = settle(await describe_groups(call, [group], authorized_operations=False), "raise")
    owners = {
        place: member for member in description[group].members for place in member.assignment or ()
    }
    places = sorted({*committed, *owners})
    ends = await _ask(call, dict.fromkeys(places, "latest"), isolation_level)
    positions = {place: each.offset for place, each in committed.items()}
    behind = {
        place: positions[place]
        for place, end in ends.items()
        if place in positions and end.offset is not None and positions[place] < end.offset
    }
    ages = await _ages(call, behind)
    rows = []
    for place, end in ends.items():
        offset = positions.get(place)
        member: MemberDescription | None = owners.get(place)
        assert end.offset is not None, "a partition has an end"
        rows.append(
            PartitionLag(
                place[0],
                place[1],
                offset,
                end.offset,
                None if offset is None else max(0, end.offset - offset),
                None if offset is None else ages.get(place, 0),
                member.member_id if member else None,
                member.client_id if member else None,
                member.host if member else None,
            )
        )
    return Table(PartitionLag, rows)


async def _ages(
    call: Call, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """Return the ages of the records at offsets, in ms; None if they cannot be found.

    The offset of a time grows with the time; the time of a record is the last one whose offset is
    not behind the record. Each round halves what is left, for all partitions at once.
    """
    now = int(time.time() * 1000)
    first = await _ask(call, dict.fromkeys(offsets, 0), "read_uncommitted")
    ages: dict[TopicPartition, int | None] = dict.fromkeys(offsets)
    # Where the time lies: at `low` the offset is not behind the record, at `high` it is.
    low = {
        place: each.timestamp
        for place, each in first.items()
        if each.timestamp is not None and each.offset is not None
    }
    high = dict.fromkeys(low, now + 1)
    for _ in range(_ROUNDS):
        open_ = {
            place: (low[place] + high[place]) // 2
            for place in low
            if high[place] - low[place] > max(_PRECISION_MS, (now - low[place]) * _PRECISION)
        }
        if not open_:
            break
        found = await _ask(call, open_, "read_uncommitted")
        for place, middle in open_.items():
            each = found.get(place)
            if each is not None and each.offset is not None and each.offset <= offsets[place]:
                low[place] = middle
            else:
                high[place] = middle
    ages.update({place: max(0, now - at) for place, at in low.items()})
    return ages
