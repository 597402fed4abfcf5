"""The lag of groups: how far they are behind, in records and in time.

Invariant: no record is read; the time of the next record is found by asking for offsets of times.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ottla._core import OffsetAndTimestamp
from ottla.admin.destinations import TopicPartition, leaders
from ottla.admin.group_descriptions import MemberDescription, describe_groups
from ottla.admin.group_offsets import list_group_offsets
from ottla.admin.items import settle
from ottla.admin.offsets import IsolationLevel, OffsetSpec, list_offsets
from ottla.admin.operation_call import Call
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
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
        end: the offset after the last record; None if it is unknown.
        lag: the number of offsets from ``committed`` to ``end``; None if one of them is unknown.
        lag_ms: the age of the next record to read, in ms, to a second or two hundredths of it; 0
            if there is none, None if it is unknown.
        member_id: the member that has the partition; None if nobody has.
        client_id: the ``client.id`` of this member.
        host: the address of this member.
        error: the reason why ``end`` is unknown; None if it is known.
    """

    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag: int | None
    lag_ms: int | None
    member_id: str | None
    client_id: str | None
    host: str | None
    error: str | None = None


async def _ends(
    call: Call, topic_partitions: list[TopicPartition], isolation_level: IsolationLevel
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
    """Return the ends of partitions, or why they are unknown; a deleted partition has neither."""
    ends: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {}
    led = await leaders(call, topic_partitions)
    # No broker can be asked about a partition without leader, so nothing waits for one.
    ends.update({each: error for each, error in led.items() if isinstance(error, KafkaError)})
    asked = [each for each in topic_partitions if each not in ends]
    ends.update(
        await list_offsets(call, dict.fromkeys(asked, "latest"), isolation_level=isolation_level)
    )
    return {each: ends[each] for each in topic_partitions if not is_deleted(ends[each])}


def is_deleted(found: object) -> bool:
    """Return whether the result for a partition is that it does not exist: it has no lag then."""
    return isinstance(found, KafkaError) and found.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def _ask(
    call: Call, specs: Mapping[TopicPartition, OffsetSpec], isolation_level: IsolationLevel
) -> dict[TopicPartition, OffsetAndTimestamp]:
    found = await list_offsets(call, specs, isolation_level=isolation_level)
    # Without them, an age is unknown.
    return {
        topic_partition: each
        for topic_partition, each in found.items()
        if not isinstance(each, KafkaError)
    }


async def group_lag(
    call: Call, group: str, *, isolation_level: IsolationLevel
) -> Table[PartitionLag]:
    """Return the lag of a group in each partition that it has committed or that a member has."""
    committed = settle(await list_group_offsets(call, [group]), "raise")[group]
    description = settle(await describe_groups(call, [group], authorized_operations=False), "raise")
    owners = {
        topic_partition: member
        for member in description[group].members
        for topic_partition in member.assignment or ()
    }
    topic_partitions = sorted({*committed, *owners})
    ends = await _ends(call, topic_partitions, isolation_level)
    positions = {topic_partition: each.offset for topic_partition, each in committed.items()}
    behind = {
        topic_partition: positions[topic_partition]
        for topic_partition, end in ends.items()
        if topic_partition in positions
        and not isinstance(end, KafkaError)
        and end.offset is not None
        and positions[topic_partition] < end.offset
    }
    ages = await _ages(call, behind)
    rows = []
    for topic_partition, end in ends.items():
        offset = positions.get(topic_partition)
        member: MemberDescription | None = owners.get(topic_partition)
        error = str(end) if isinstance(end, KafkaError) else None
        last = None if isinstance(end, KafkaError) else end.offset
        is_known = offset is not None and last is not None
        rows.append(
            PartitionLag(
                topic_partition[0],
                topic_partition[1],
                offset,
                last,
                max(0, last - offset) if last is not None and offset is not None else None,
                ages.get(topic_partition, 0) if is_known else None,
                member.member_id if member else None,
                member.client_id if member else None,
                member.host if member else None,
                error,
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
        topic_partition: each.timestamp
        for topic_partition, each in first.items()
        if each.timestamp is not None and each.offset is not None
    }
    high = dict.fromkeys(low, now + 1)
    for _ in range(_ROUNDS):
        open_ = {
            topic_partition: (low[topic_partition] + high[topic_partition]) // 2
            for topic_partition in low
            if high[topic_partition] - low[topic_partition]
            > max(_PRECISION_MS, (now - low[topic_partition]) * _PRECISION)
        }
        if not open_:
            break
        found = await _ask(call, open_, "read_uncommitted")
        for topic_partition, middle in open_.items():
            each = found.get(topic_partition)
            if (
                each is not None
                and each.offset is not None
                and each.offset <= offsets[topic_partition]
            ):
                low[topic_partition] = middle
            else:
                high[topic_partition] = middle
    ages.update({topic_partition: max(0, now - at) for topic_partition, at in low.items()})
    return ages
