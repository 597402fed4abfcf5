"""How fast records and bytes are written: by topic and broker, from end offsets and log sizes.

Samples are added while pages show them. Invariants: a rate compares a partition with itself, so a
topic that was re-created, or a leader that moved, adds nothing; at most a few samples are kept.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla._measurements.write_rates import Replica, growth_rates
from ottla._measurements.write_samples import leader_sizes
from ottla.admin.destinations import TopicPartition

# Rates cover the newest samples within this many seconds, or the two newest.
_WINDOW = 20.0
_MAX_SAMPLES = 5
# The samples of the history that a page's chart begins with.
_HISTORY = 120


@dataclass(frozen=True)
class Rates:
    """What was written per second.

    Attributes:
        records: records by topic and by broker, as far as their leaders are known.
        bytes: bytes in the logs of the leaders by topic, and of all replicas by broker, as stored.
    """

    topics: Mapping[str, float] = field(default_factory=dict)
    brokers: Mapping[int, float] = field(default_factory=dict)


class Writes:
    """The newest end offsets and log sizes, and the rates between them."""

    def __init__(self) -> None:
        self._ends: deque[tuple[float, Mapping[TopicPartition, int]]] = deque(maxlen=_MAX_SAMPLES)
        self._sizes: deque[tuple[float, Mapping[Replica, int]]] = deque(maxlen=2)
        self._leaders: Mapping[TopicPartition, int] = {}
        self._lock = threading.Lock()
        self.records: Rates | None = None
        self.bytes: Rates | None = None
        self.history: deque[tuple[float, float]] = deque(maxlen=_HISTORY)
        """Times in seconds since 1970, and the records per second of all topics."""

    def add_ends(
        self,
        ends: Mapping[TopicPartition, int],
        leaders: Mapping[TopicPartition, int],
        now: float | None = None,
    ) -> None:
        """Add the end offsets of all partitions, and their leaders."""
        now = time.time() if now is None else now
        with self._lock:
            self._leaders = leaders
            self._ends.append((now, ends))
            while len(self._ends) > 2 and self._ends[1][0] <= now - _WINDOW:
                self._ends.popleft()
            before, first = self._ends[0]
            if now <= before:
                return
            self.records = _sums(growth_rates(first, ends, now - before), leaders)
            self.history.append((now, sum(self.records.topics.values())))

    def add_sizes(self, sizes: Mapping[Replica, int], now: float | None = None) -> None:
        """Add the sizes of all replicas in bytes."""
        now = time.time() if now is None else now
        with self._lock:
            self._sizes.append((now, sizes))
            before, first = self._sizes[0]
            if now <= before:
                return
            topics: dict[str, float] = {}
            brokers: dict[int, float] = {broker: 0.0 for broker, _, _ in sizes}
            for (broker, topic, index), rate in growth_rates(first, sizes, now - before).items():
                brokers[broker] += rate
                if self._leaders.get((topic, index)) == broker:
                    topics[topic] = topics.get(topic, 0.0) + rate
            self.bytes = Rates(topics, brokers)

    def leader_sizes(self) -> dict[TopicPartition, int]:
        """Return the sizes of the leaders' replicas, as last reported."""
        with self._lock:
            sizes = self._sizes[-1][1] if self._sizes else {}
            leaders = self._leaders
        return leader_sizes(sizes, leaders)

    def of_topic(self, topic: str) -> dict[str, float | None]:
        """Return the rates of a topic; a rate is None until there are two samples."""
        return {
            "records": None if self.records is None else self.records.topics.get(topic, 0.0),
            "bytes": None if self.bytes is None else self.bytes.topics.get(topic, 0.0),
        }

    def of_broker(self, broker: int) -> dict[str, float | None]:
        """Return the rates of a broker; a rate is None if it is unknown."""
        return {
            "records": None if self.records is None else self.records.brokers.get(broker, 0.0),
            "bytes": None if self.bytes is None else self.bytes.brokers.get(broker),
        }

    def busiest(self, count: int) -> list[dict[str, Any]]:
        """Return the topics with the most records per second; none that is idle."""
        if self.records is None:
            return []
        written = [each for each in self.records.topics.items() if each[1] > 0]
        found = sorted(written, key=lambda each: (-each[1], each[0]))
        return [{"topic": topic, **self.of_topic(topic)} for topic, _ in found[:count]]


def _sums(rates: Mapping[TopicPartition, float], leaders: Mapping[TopicPartition, int]) -> Rates:
    """Return the sums of the topics and of the brokers."""
    topics: dict[str, float] = {}
    brokers: dict[int, float] = dict.fromkeys(leaders.values(), 0.0)
    for partition, rate in rates.items():
        topics[partition[0]] = topics.get(partition[0], 0.0) + rate
        if (leader := leaders.get(partition)) is not None:
            brokers[leader] += rate
    return Rates(topics, brokers)
