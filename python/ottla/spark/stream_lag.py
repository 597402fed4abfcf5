"""How far a streaming query is behind the logs that it reads, from what Spark reports of it.

Invariant: only what the report says is counted; nothing is asked of the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.spark.checkpoint import offsets_of
from ottla.spark.core import TopicPartition


@dataclass(frozen=True)
class Lag:
    """Offsets that were in the logs and not yet read when a trigger ended, by partition.

    ``known`` is whether Spark told for each source how far it has read and where its logs end; what
    it has not told is not in ``partitions``, nor in what is made of them.
    """

    partitions: Mapping[TopicPartition, int]
    known: bool = True

    @property
    def total(self) -> int:
        """The sum over all partitions."""
        return sum(self.partitions.values())

    @property
    def max(self) -> int:
        """That of the partition furthest behind, 0 without partitions."""
        return max(self.partitions.values(), default=0)

    @property
    def min(self) -> int:
        """That of the partition least behind, 0 without partitions."""
        return min(self.partitions.values(), default=0)

    @property
    def average(self) -> float:
        """The mean over all partitions, 0 without partitions."""
        return self.total / len(self.partitions) if self.partitions else 0.0


def lag(progress: Any) -> Lag:
    """The lag in a query's progress: ``lag(query.lastProgress)``.

    Counts every source of the query whose offsets are Kafka's, of ottla's as of Spark's own. Of a
    query that has made no progress yet (None), or has not read yet, the lag is not ``known``. The
    log's end is reported by PySpark 4.2 and newer.
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
