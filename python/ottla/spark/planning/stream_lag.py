"""How far a streaming query is behind the logs that it reads, from what Spark reports of it.

Invariant: only what the report says is counted; nothing is asked of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.spark.planning.checkpoint import offsets_of
from ottla.spark.protocols import TopicPartition


@dataclass(frozen=True)
class Lag:
    """The lag of a streaming query: offsets in the logs that it had not read after a trigger.

    Attributes:
        partitions: the lag by ``(topic, partition)``, as far as Spark reported it.
        known: whether Spark reported, for each source, both the offsets read and the logs' ends.
    """

    partitions: Mapping[TopicPartition, int]
    known: bool = True

    @property
    def total(self) -> int:
        """The sum over all partitions."""
        return sum(self.partitions.values())

    @property
    def max(self) -> int:
        """The largest lag of a partition; 0 without partitions."""
        return max(self.partitions.values(), default=0)

    @property
    def min(self) -> int:
        """The smallest lag of a partition; 0 without partitions."""
        return min(self.partitions.values(), default=0)

    @property
    def average(self) -> float:
        """The mean over all partitions; 0 without partitions."""
        return self.total / len(self.partitions) if self.partitions else 0.0


def lag(progress: Any) -> Lag:
    """Return the lag of a streaming query: ``lag(query.lastProgress)``.

    It counts every source with Kafka's offsets: ottla's and that of Spark's own connector. No
    request is sent.

    Args:
        progress: the query's progress, as an object or a dict. With None, or before the query has
            read anything, the lag is not ``known``; PySpark reports the logs' ends from 4.2 on.
    """
    behind: dict[TopicPartition, int] = {}
    known = []
    for source in _part(progress, "sources") or []:
        newest = _offsets(_part(source, "latestOffset"))
        read = _offsets(_part(source, "endOffset"))
        if newest is None or read is None:
            # Of another kind of source, both are.
            known += [False] if newest is not read else []
            continue
        known.append(True)
        for partition, end in newest.items():
            # A partition that came since is read from its first offset, which is 0 as a rule.
            ahead = max(end - read.get(partition, 0), 0)
            behind[partition] = behind.get(partition, 0) + ahead
    return Lag(dict(sorted(behind.items())), bool(known) and all(known))


def _part(whole: Any, name: str) -> Any:
    # A progress is an object, or from older versions and listeners a dict.
    return whole.get(name) if isinstance(whole, Mapping) else getattr(whole, name, None)


def _offsets(value: Any) -> dict[TopicPartition, int] | None:
    try:
        return offsets_of(json.loads(value) if isinstance(value, str) else value)
    except (AttributeError, TypeError, ValueError):
        # Not told (a null), or the offsets of another kind of source.
        return None
