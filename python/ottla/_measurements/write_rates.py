"""The rates at which topics, partitions and brokers are written, from two samples of a cluster.

Invariants: nothing is requested here; a rate compares a partition, or a replica, with itself; what
two samples cannot tell is None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from ottla.admin.destinations import TopicPartition

K = TypeVar("K")

Replica: TypeAlias = tuple[int, str, int]
"""A broker, and the topic and partition of a replica on it."""


@dataclass(frozen=True)
class Sample:
    """The ends and the sizes of partitions at one moment.

    Attributes:
        leaders: the broker that leads each partition; None if none does.
        ends: the end offsets that are known.
        ends_time: their time in seconds, by a clock that never goes back.
        sizes: the sizes of the leaders' logs in bytes that are known.
        sizes_time: their time.
        problems: what could not be asked.
    """

    leaders: Mapping[TopicPartition, int | None]
    ends: Mapping[TopicPartition, int]
    ends_time: float
    sizes: Mapping[TopicPartition, int]
    sizes_time: float
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class WriteRate:
    """The rates of a partition, or of the sum of several.

    Attributes:
        records_per_second: the offsets by which the end grows, transaction markers included; None
            if it is unknown.
        bytes_per_second: the bytes by which the leader's log grows, compressed as it is; None if
            they are unknown, as they are if segments were deleted meanwhile.
    """

    records_per_second: float | None
    bytes_per_second: float | None


@dataclass(frozen=True)
class Group(Generic[K]):
    """Partitions that are counted together.

    Attributes:
        key: what they have in common.
        partition_count: how many they are.
        rate: the sum of the rates that are known.
    """

    key: K
    partition_count: int
    rate: WriteRate


@dataclass(frozen=True)
class WriteRates:
    """The rates of partitions between two samples.

    Attributes:
        partitions: by topic and partition.
        leaders: the broker that leads each of them at the end.
        shortened: the partitions whose log has become smaller.
    """

    partitions: Mapping[TopicPartition, WriteRate]
    leaders: Mapping[TopicPartition, int | None]
    shortened: list[TopicPartition] = field(default_factory=list)

    def by_topic(self) -> list[Group[str]]:
        """Return the sums of the topics."""
        return self._groups({each: each[0] for each in self.partitions})

    def by_broker(self) -> list[Group[int]]:
        """Return the sums of the brokers, of the partitions that they lead."""
        led = {each: broker for each, broker in self.leaders.items() if broker is not None}
        return self._groups(led)

    def total(self) -> WriteRate:
        """Return the sum of all."""
        return _sum(self.partitions.values())

    def _groups(self, keys: Mapping[TopicPartition, K]) -> list[Group[K]]:
        found: defaultdict[K, list[WriteRate]] = defaultdict(list)
        for topic_partition, key in keys.items():
            found[key].append(self.partitions[topic_partition])
        return [Group(key, len(rates), _sum(rates)) for key, rates in found.items()]


def write_rates(before: Sample, after: Sample) -> WriteRates:
    """Return the rates between two samples."""
    records = growth_rates(before.ends, after.ends, after.ends_time - before.ends_time)
    # Replicas differ in size: their segments are deleted at different times.
    first = {
        each: size
        for each, size in before.sizes.items()
        if before.leaders.get(each) == after.leaders.get(each)
    }
    sizes = growth_rates(first, after.sizes, after.sizes_time - before.sizes_time)
    rates = {each: WriteRate(records.get(each), sizes.get(each)) for each in after.leaders}
    shortened = [
        each for each in rates if each in first and each in after.sizes and each not in sizes
    ]
    return WriteRates(rates, after.leaders, shortened)


def growth_rates(before: Mapping[K, int], after: Mapping[K, int], seconds: float) -> dict[K, float]:
    """Return by how much each value grew per second.

    What is new and what became smaller, such as a topic that was created again, has no rate.
    """
    if seconds <= 0:
        return {}
    return {
        key: (value - before[key]) / seconds
        for key, value in after.items()
        if key in before and value >= before[key]
    }


def _sum(rates: Iterable[WriteRate]) -> WriteRate:
    records, sizes = [], []
    for rate in rates:
        if rate.records_per_second is not None:
            records.append(rate.records_per_second)
        if rate.bytes_per_second is not None:
            sizes.append(rate.bytes_per_second)
    return WriteRate(sum(records) if records else None, sum(sizes) if sizes else None)
