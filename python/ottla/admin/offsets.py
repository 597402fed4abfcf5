"""The offsets of partitions: the first, the last, and those of times.

Invariant: an offset is asked for at the partition's leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeAlias

from ottla import arguments
from ottla._core import error_of_code
from ottla.admin.destinations import TopicPartition, by_destination, leaders
from ottla.admin.items import Results, error_of, known, settle
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.errors import ConfigError, KafkaError

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

# The timestamp that stands for each name, and the first version that knows it (KIP-734, KIP-405,
# KIP-1005, KIP-1023).
_SPECS = {
    "latest": (-1, 0),
    "earliest": (-2, 0),
    "max_timestamp": (-3, 7),
    "earliest_local": (-4, 8),
    "latest_tiered": (-5, 9),
    "earliest_pending_upload": (-6, 11),
}
_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
_UNSUPPORTED_VERSION = 35
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class PartitionOffset:
    """An offset of a partition.

    Attributes:
        offset: the offset; None if no record has the time.
        timestamp: the time of its record, in ms since 1970; None if it was not looked up by time.
        leader_epoch: the leader epoch of its record; None if unknown.
    """

    offset: int | None
    timestamp: int | None
    leader_epoch: int | None


def _timestamp_of(spec: OffsetSpec) -> tuple[int, int]:
    if isinstance(spec, datetime):
        if spec.tzinfo is None:
            raise ConfigError(f"{spec} has no time zone: give it one, such as timezone.utc")
        # Negative numbers are names: a time before 1970 must not become one.
        return max(0, (spec - _EPOCH) // timedelta(milliseconds=1)), 0
    if not isinstance(spec, str):
        names = ", ".join(_SPECS)
        time = arguments.integer("an offset's time", spec, f"ms since 1970, or one of {names}")
        if time < 0:
            raise ConfigError(f"{time} is not a time: expected ms since 1970, or a name")
        return time, 0
    if spec not in _SPECS:
        raise ConfigError(f"{spec!r} names no offset: expected one of {', '.join(_SPECS)}")
    return _SPECS[spec]


async def list_offsets(
    call: Call,
    specs: Mapping[TopicPartition, OffsetSpec],
    *,
    isolation_level: IsolationLevel = "read_uncommitted",
) -> Results[TopicPartition, PartitionOffset]:
    """Look up offsets."""
    if isolation_level not in _LEVELS:
        raise ConfigError(f"isolation_level is {isolation_level!r}: expected {list(_LEVELS)}")
    timestamps = {topic_partition: _timestamp_of(spec) for topic_partition, spec in specs.items()}
    leading: dict[TopicPartition, int | KafkaError] = {}

    async def find(
        partitions: list[TopicPartition],
    ) -> dict[TopicPartition, int | KafkaError]:
        leading.update(await leaders(call, partitions))
        return {topic_partition: leading[topic_partition] for topic_partition in partitions}

    def build(partitions: list[TopicPartition]) -> Request:
        topics: dict[str, list[Body]] = {}
        for topic, partition in partitions:
            entry: Body = {
                "partition_index": partition,
                "timestamp": timestamps[topic, partition][0],
            }
            topics.setdefault(topic, []).append(entry)
        body = {
            "replica_id": -1,
            "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
            "isolation_level": _LEVELS[isolation_level],
        }
        return Request("ListOffsets", body)

    def read(
        response: Response, _: list[TopicPartition]
    ) -> Results[TopicPartition, PartitionOffset]:
        results: Results[TopicPartition, PartitionOffset] = {}
        for topic in response.body["topics"]:
            for each in topic["partitions"]:
                topic_partition = topic["name"], each["partition_index"]
                if topic_partition not in timestamps:
                    continue
                since = timestamps[topic_partition][1]
                if response.version < since:
                    message = (
                        f"broker {leading[topic_partition]} supports ListOffsets up to version "
                        f"{response.version}; {specs[topic_partition]!r} needs {since}"
                    )
                    results[topic_partition] = error_of_code(
                        _UNSUPPORTED_VERSION,
                        message,
                        topic=topic_partition[0],
                        partition=topic_partition[1],
                    )
                    continue
                results[topic_partition] = error_of(
                    each, topic=topic_partition[0], partition=topic_partition[1]
                ) or PartitionOffset(
                    known(each["offset"]),
                    known(each["timestamp"]),
                    known(each.get("leader_epoch", -1)),
                )
        return results

    return await by_destination(call, specs, find, build, read)


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
