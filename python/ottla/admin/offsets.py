"""The offsets of partitions: the first, the last, and those of times.

Invariant: ``Client`` and ``Admin`` look offsets up by the same code, and return the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from ottla._core import OffsetAndTimestamp
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import Results, settle
from ottla.admin.operation_call import Call

OffsetSpec: TypeAlias = (
    Literal[
        "earliest",
        "latest",
        "max_timestamp",
        "earliest_local",
        "latest_tiered",
        "earliest_pending_upload",
    ]
    | int
    | datetime
)
"""Which offset: a name, or the first one with this time (ms since 1970) or a later one.

A time before 1970 is before all records. A part of a millisecond is dropped, as when it is sent."""

IsolationLevel: TypeAlias = Literal["read_uncommitted", "read_committed"]


async def list_offsets(
    call: Call,
    specs: Mapping[TopicPartition, OffsetSpec],
    *,
    isolation_level: IsolationLevel | None = "read_uncommitted",
) -> Results[TopicPartition, OffsetAndTimestamp]:
    """Look up offsets; an isolation level of None is the one that the client is configured with."""
    found = await call.list_offsets(specs, isolation_level)
    # In the order of the arguments, which decides the error that is raised.
    return {topic_partition: found[topic_partition] for topic_partition in specs}


async def offset_bounds(
    call: Call, topic_partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, tuple[int, int]]:
    """Return the first offset of each partition, and the one after its last record.

    Raises:
        KafkaError: of the first partition whose offsets cannot be looked up.
    """
    wanted = list(topic_partitions)
    first = settle(await list_offsets(call, dict.fromkeys(wanted, "earliest")), "raise")
    last = settle(await list_offsets(call, dict.fromkeys(wanted, "latest")), "raise")
    return {
        topic_partition: (first[topic_partition].offset or 0, last[topic_partition].offset or 0)
        for topic_partition in wanted
    }


def place_text(topic_partition: TopicPartition, offset: int, bounds: tuple[int, int]) -> str:
    """Return the name of a partition, for plans; with the offsets that it has if it lacks one.

    Args:
        topic_partition: the partition.
        offset: the offset that it may lack.
        bounds: its first offset, and the one after its last record.
    """
    low, high = bounds
    text = f"{topic_partition[0]}-{topic_partition[1]}"
    return text if low <= offset <= high else f"{text} (it has the offsets {low} to {high})"
