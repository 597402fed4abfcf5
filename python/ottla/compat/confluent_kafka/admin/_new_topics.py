"""``NewTopic`` and ``NewPartitions``: what ``create_topics`` and ``create_partitions`` create.

Invariant: both are compared by the topic's name, then by the number of partitions, and with their
own type alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class _OfTopic:
    """Something about a topic, with its comparisons."""

    def __init__(self, topic: str) -> None:
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        self._topic = topic

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self._topic

    def _key(self) -> tuple[str, int]:
        raise NotImplementedError

    def _compare(self, other: object, compare: Callable[[Any, Any], bool]) -> bool:
        if not isinstance(other, _OfTopic) or type(other) is not type(self):
            raise NotImplementedError
        return compare(self._key(), other._key())

    def __eq__(self, other: object) -> bool:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> bool:
        return self._compare(other, operator.ne)

    def __lt__(self, other: object) -> bool:
        return self._compare(other, operator.lt)

    def __le__(self, other: object) -> bool:
        return self._compare(other, operator.le)

    def __gt__(self, other: object) -> bool:
        return self._compare(other, operator.gt)

    def __ge__(self, other: object) -> bool:
        return self._compare(other, operator.ge)

    def __hash__(self) -> int:
        return hash(self._key())


class NewTopic(_OfTopic):
    """A topic to create.

    Args:
        topic: its name.
        num_partitions: the number of partitions; -1 for the cluster's default.
        replication_factor: the number of replicas; -1 for the cluster's default, and with
            ``replica_assignment``.
        replica_assignment: the ids of the brokers of each partition.
        config: its configuration.
    """

    def __init__(
        self,
        topic: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignment: list[list[int]] | None = None,
        config: dict[str, str] | None = None,
    ) -> None:
        super().__init__(topic)
        if config is not None and not isinstance(config, dict):
            raise TypeError(f"config must be a dict of str, not {type(config).__name__}")
        self.num_partitions = operator.index(num_partitions)
        self.replication_factor = operator.index(replication_factor)
        self.replica_assignment = replica_assignment
        self.config = config

    def _key(self) -> tuple[str, int]:
        return self.topic, self.num_partitions

    def __repr__(self) -> str:
        count = "" if self.num_partitions == -1 else f",num_partitions={self.num_partitions}"
        return f"NewTopic(topic={self.topic}{count})"


class NewPartitions(_OfTopic):
    """More partitions for a topic.

    Args:
        topic: its name.
        new_total_count: the number of partitions that it then has.
        replica_assignment: the ids of the brokers of each new partition.
    """

    def __init__(
        self, topic: str, new_total_count: int, replica_assignment: list[list[int]] | None = None
    ) -> None:
        super().__init__(topic)
        self.new_total_count = operator.index(new_total_count)
        self.replica_assignment = replica_assignment

    def _key(self) -> tuple[str, int]:
        return self.topic, self.new_total_count

    def __repr__(self) -> str:
        return f"NewPartitions(topic={self.topic},new_total_count={self.new_total_count})"
