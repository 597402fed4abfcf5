"""The calls of a consumer that ask the cluster: topics, partitions and offsets.

Invariant: none of them moves a position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import ottla
from ottla import errors
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka._view import grouped_metrics
from ottla.compat.kafka.consumer._subscription import Subscription
from ottla.compat.kafka.errors import IllegalStateError, KafkaTimeoutError
from ottla.compat.kafka.structs import OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

__all__ = ["Lookups"]

_T = TypeVar("_T")


def check_partitions(partitions: Iterable[Any]) -> None:
    """Raise a TypeError unless all are ``TopicPartition``."""
    if not all(isinstance(each, TopicPartition) for each in partitions):
        raise TypeError("partitions must be TopicPartition namedtuples")


class Lookups:
    """The methods; ``KafkaConsumer`` has the attributes."""

    config: dict[str, Any]
    _consumer: ottla.Consumer
    _subscription: Subscription

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read."""
        return {TopicPartition(*each) for each in self._consumer.assignment()}

    def _seconds(self, timeout_ms: float | None) -> float:
        return (self.config["default_api_timeout_ms"] if timeout_ms is None else timeout_ms) / 1000

    def topics(self, timeout_ms: float | None = None) -> set[str]:
        """Return the names of all topics but internal ones."""
        cluster = self._cluster_of_all(timeout_ms)
        return {
            topic.name
            for topic in cluster.topics.values()
            if topic.error is None and not topic.internal
        }

    def partitions_for_topic(self, topic: str, timeout_ms: float | None = None) -> set[int]:
        """Return a topic's partitions; none if it does not exist."""
        with translating():
            known = self._consumer.cluster(timeout=self._seconds(timeout_ms)).topics.get(topic)
        if known is None or not known.partitions:
            known = self._cluster_of_all(timeout_ms).topics.get(topic)
        return set() if known is None else set(known.partitions)

    def _cluster_of_all(self, timeout_ms: float | None) -> ottla.Cluster:
        with translating():
            return self._consumer.cluster(
                all_topics=True, refresh=True, timeout=self._seconds(timeout_ms)
            )

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each partition."""
        return self._offsets(self._consumer.beginning_offsets, partitions, timeout_ms)

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset of the next record of each partition."""
        return self._offsets(self._consumer.end_offsets, partitions, timeout_ms)

    def _offsets(
        self,
        look_up: Callable[..., dict[tuple[str, int], int]],
        partitions: Iterable[TopicPartition],
        timeout_ms: float | None,
    ) -> dict[TopicPartition, int]:
        wanted = [(each[0], each[1]) for each in partitions]
        if not wanted:
            return {}
        found = self._within(lambda timeout: look_up(*wanted, timeout=timeout), timeout_ms)
        return {TopicPartition(*each): offset for each, offset in found.items()}

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return the first record at or after a timestamp of each partition; None for none."""
        wanted = {(each[0], each[1]): int(timestamp) for each, timestamp in timestamps.items()}
        for partition, timestamp in wanted.items():
            if timestamp < 0:
                raise ValueError(f"The target time {timestamp} for {partition} is negative")
        if not wanted:
            return {}
        found = self._within(
            lambda timeout: self._consumer.offsets_for_times(wanted, timeout=timeout), timeout_ms
        )
        return {TopicPartition(*each): _timestamp(result) for each, result in found.items()}

    def _within(self, look_up: Callable[[float], _T], timeout_ms: float | None) -> _T:
        with translating():
            try:
                return look_up(self._seconds(timeout_ms))
            except errors.UnknownTopicError as error:
                # kafka-python waits for the partition until the end of the timeout.
                raise KafkaTimeoutError(str(error)) from error

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> Any:
        """Return the offset that the group has committed, or None.

        Args:
            partition: the partition.
            metadata: whether to return an ``OffsetAndMetadata``.
            timeout_ms: milliseconds. Default: ``default_api_timeout_ms``.
        """
        self._require_group()
        if not isinstance(partition, TopicPartition):
            raise TypeError("partition must be a TopicPartition namedtuple")
        where = (partition.topic, partition.partition)
        with translating():
            found = self._consumer.committed(where, timeout=self._seconds(timeout_ms))[where]
        if found is None:
            return None
        if not metadata:
            return found.offset
        return OffsetAndMetadata(found.offset, found.metadata, found.leader_epoch)

    def position(self, partition: TopicPartition, timeout_ms: float | None = None) -> int | None:
        """Return the offset of the next record; None if it is not known in time."""
        self._require_assigned(partition)
        try:
            return self._consumer.position(
                partition.topic, partition.partition, timeout=self._seconds(timeout_ms)
            )
        except errors.TimeoutError:
            return None
        except errors.KafkaError as error:
            raise translated(error) from error

    def highwater(self, partition: TopicPartition) -> int | None:
        """Return the end of the partition as of its last fetch; None before the first."""
        self._require_assigned(partition)
        known = self._consumer.watermarks().get((partition.topic, partition.partition))
        return None if known is None else known.high_watermark

    def metrics(self, raw: bool = False) -> dict[str, dict[str, float]] | None:
        """Return ottla's metrics by group and name; None with ``metrics_enabled=False``."""
        if not self.config["metrics_enabled"]:
            return None
        prefix = self.config["metric_group_prefix"]
        return grouped_metrics(prefix, cast("Mapping[str, float]", self._consumer.metrics()))

    def _require_assigned(self, partition: TopicPartition) -> None:
        if not isinstance(partition, TopicPartition):
            raise TypeError("partition must be a TopicPartition namedtuple")
        if partition not in self.assignment():
            raise IllegalStateError("Partition is not assigned")

    def _require_group(self) -> None:
        if self.config["group_id"] is None:
            raise IllegalStateError("Requires group_id")


def _timestamp(found: ottla.OffsetAndTimestamp | None) -> OffsetAndTimestamp | None:
    if found is None or found.offset is None:
        return None
    epoch = -1 if found.leader_epoch is None else found.leader_epoch
    timestamp = -1 if found.timestamp is None else found.timestamp
    return OffsetAndTimestamp(found.offset, timestamp, epoch)
