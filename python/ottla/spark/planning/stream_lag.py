"""The lag of a streaming query, computed from the progress that Spark reports.

Called by users on the driver. Invariant: only reported offsets are counted; no request is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.spark.planning.checkpoint import offsets_from_json
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

    It counts every source with Kafka offsets: ottla's and that of Spark's own connector. No request
    is sent.

    Args:
        progress: the query's progress, as an object or a dict. With None, or before the query has
            read anything, the lag is not ``known``; PySpark reports the logs' ends from 4.2 on.
    """
    behind: dict[TopicPartition, int] = {}
    known = []
    for source in _member(progress, "sources") or []:
        latest = _parse_offsets(_member(source, "latestOffset"))
        read = _parse_offsets(_member(source, "endOffset"))
        if latest is None or read is None:
            # Both are None for other kinds of sources, which are not counted.
            known += [False] if latest is not read else []
            continue
        known.append(True)
        for partition, end in latest.items():
            # A new partition is read from its first offset, which is normally 0.
            ahead = max(end - read.get(partition, 0), 0)
            behind[partition] = behind.get(partition, 0) + ahead
    return Lag(dict(sorted(behind.items())), bool(known) and all(known))


def _member(parent: Any, name: str) -> Any:
    # A progress is an object, but a dict in older versions and in listeners.
    return parent.get(name) if isinstance(parent, Mapping) else getattr(parent, name, None)


def _parse_offsets(value: Any) -> dict[TopicPartition, int] | None:
    try:
        return offsets_from_json(json.loads(value) if isinstance(value, str) else value)
    except (AttributeError, TypeError, ValueError, RecursionError):
        # Not reported (null), or the offsets of another kind of source.
        return None
