"""Questions of a consumer about offsets: watermarks, times, committed offsets.

Invariants: a partition that does not exist is an error of the call; another error of one
partition is its own, and the others have their offsets.
"""

from __future__ import annotations

import time
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._commit_metadata import returned
from ottla.compat.confluent_kafka._constants import OFFSET_END, OFFSET_INVALID
from ottla.compat.confluent_kafka._errors import kafka_error, kafka_exception
from ottla.compat.confluent_kafka._handle import require_brokers
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._partitions import key_of
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, topic_partition


class Watermarks:
    """The offsets that the cluster knows.

    Args:
        settings: the consumer's settings.
        client: the ottla client.
        consumer: the ottla consumer.
    """

    def __init__(self, settings: Settings, client: ottla.Client, consumer: ottla.Consumer) -> None:
        self._settings = settings
        self._client = client
        self._consumer = consumer

    def query(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        """Return the first offset and the end of a partition.

        Raises:
            KafkaException: the partition does not exist, or no broker responded in time.
        """
        require_brokers(self._settings, timeout, KafkaError._ALL_BROKERS_DOWN)
        key, deadline = key_of(partition), time.monotonic() + timeout
        try:
            low = self._consumer.beginning_offsets(key, timeout=timeout)[key]
            left = max(deadline - time.monotonic(), 0.1)
            return low, self._consumer.end_offsets(key, timeout=left)[key]
        except errors.UnknownTopicError as error:
            raise kafka_exception(error, KafkaError._UNKNOWN_PARTITION) from error
        except errors.KafkaError as error:
            raise kafka_exception(error) from error

    def cached(self, partition: TopicPartition) -> tuple[int, int]:
        """Return what the last fetch has shown, without a request."""
        known = self._consumer.watermarks().get(key_of(partition))
        if known is None:
            return OFFSET_INVALID, OFFSET_INVALID
        low = known.log_start_offset
        return OFFSET_INVALID if low < 0 else low, known.high_watermark

    def committed(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Return the offsets that the group has committed."""
        require_brokers(self._settings, timeout, KafkaError._TIMED_OUT)
        try:
            found = self._consumer.committed(*map(key_of, partitions), timeout=timeout)
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        return [_committed(item, found.get(key_of(item))) for item in partitions]

    def for_times(self, partitions: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        """Return the first offsets at or after the times in the offsets of partitions."""
        require_brokers(self._settings, timeout, KafkaError._ALL_BROKERS_DOWN)
        specs: dict[tuple[str, int], Any] = {
            key_of(item): {-1: "latest", -2: "earliest"}.get(item.offset, item.offset)
            for item in partitions
        }
        try:
            found = self._client.list_offsets(specs, errors="return", timeout=timeout)
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        for result in found.values():
            if isinstance(result, errors.UnknownTopicError):
                raise kafka_exception(result, KafkaError._UNKNOWN_PARTITION)
        return [_at_time(item, found[key_of(item)]) for item in partitions]


def _committed(item: TopicPartition, found: ottla.OffsetAndMetadata | None) -> TopicPartition:
    if found is None:
        return topic_partition(item.topic, item.partition, OFFSET_INVALID)
    return topic_partition(
        item.topic,
        item.partition,
        found.offset,
        metadata=returned(found.metadata),
        leader_epoch=found.leader_epoch,
    )


def _at_time(
    item: TopicPartition, found: ottla.OffsetAndTimestamp | errors.KafkaError
) -> TopicPartition:
    if isinstance(found, errors.KafkaError):
        return topic_partition(item.topic, item.partition, item.offset, error=kafka_error(found))
    offset = OFFSET_END if found.offset is None else found.offset
    return topic_partition(item.topic, item.partition, offset, leader_epoch=found.leader_epoch)
