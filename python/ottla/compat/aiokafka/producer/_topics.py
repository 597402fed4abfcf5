"""The topics that ``AIOKafkaProducer`` sends to, and their partitions.

Invariant: a record is passed to the core only for a topic that exists, and a partition of it.
"""

from __future__ import annotations

from typing import Any

from ottla.compat.aiokafka.producer._lifecycle import ProducerLifecycle

__all__ = ["TopicProducer"]


class TopicProducer(ProducerLifecycle):
    """The base of ``AIOKafkaProducer`` that finds topics."""

    # The partitions of the topics that records were sent to.
    _partitions: dict[str, set[int]]

    async def partitions_for(self, topic: str) -> set[int]:
        """Return the numbers of a topic's partitions; brokers may create the topic.

        Raises:
            UnknownTopicOrPartitionError: it did not appear within ``request_timeout_ms``.
        """
        return await self.client._wait_on_metadata(topic)  # noqa: SLF001 - this producer's own

    async def _find(self, topic: str) -> None:
        self._partitions[topic] = await self.client._wait_on_metadata(topic)  # noqa: SLF001
        self._started()

    def _partition(
        self,
        topic: str,
        partition: int | None,
        key: Any,
        value: Any,
        serialized_key: bytes | None,
        serialized_value: bytes | None,
    ) -> int | None:
        """Return the partition that a record will have, for instrumentation that asks before.

        None for a record without a key: sending it chooses the partition.
        """
        if partition is not None or serialized_key is None:
            return partition
        known = sorted(self._metadata.partitions_for_topic(topic) or ())
        available = self._metadata.available_partitions_for_topic(topic)
        return self._options.partitioner(serialized_key, known, sorted(available or ()))

    def _check_partition(self, topic: str, partition: int) -> None:
        if partition not in self._partitions[topic]:
            known = self._metadata.partitions_for_topic(topic)
            if partition not in (known or ()):
                raise AssertionError("Unrecognized partition")
