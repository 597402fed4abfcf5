"""The calls of ``AIOKafkaProducer`` about batches that a program fills.

Invariant: the records of a batch go to one partition, in their order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ottla.compat.aiokafka._error_mapping import translated
from ottla.compat.aiokafka.producer._deliveries import batch_future
from ottla.compat.aiokafka.producer._topics import TopicProducer
from ottla.compat.aiokafka.producer.message_accumulator import BatchBuilder
from ottla.compat.aiokafka.structs import RecordMetadata, TopicPartition

__all__ = ["BatchProducer"]


class BatchProducer(TopicProducer):
    """The base of ``AIOKafkaProducer`` with its batches."""

    _key_serializer: Callable[[Any], Any] | None
    _value_serializer: Callable[[Any], Any] | None
    _acknowledges: bool

    def create_batch(self) -> BatchBuilder:
        """Return an empty batch, to be filled and passed to ``send_batch``."""
        return BatchBuilder(
            self._options.max_batch_size,
            key_serializer=self._key_serializer,
            value_serializer=self._value_serializer,
        )

    async def send_batch(
        self, batch: BatchBuilder, topic: str, *, partition: int | None
    ) -> asyncio.Future[RecordMetadata]:
        """Send the records of a batch, and return a future of the first one's place.

        Args:
            batch: the batch, which is closed by this.
            topic: the topic.
            partition: the partition of all records. None: the partitioner chooses, without a key.

        Raises:
            IllegalOperation: the producer is transactional, and no transaction is open.
            ProducerClosed: the producer was stopped.
        """
        engine = self._started()
        if topic not in self._partitions:
            await self._find(topic)
        if partition is None:
            known = self._metadata.available_partitions_for_topic(topic)
            everything = sorted(self._partitions[topic])
            partition = self._options.partitioner(None, everything, sorted(known or everything))
        self._check_partition(topic, partition)
        self._txn_manager.require_transaction()
        batch.close()
        delivery = await translated(
            engine.send_batch(
                topic,
                batch.values,
                batch.keys,
                headers=batch.headers,
                timestamps=batch.timestamps,
                partitions=[partition] * batch.record_count(),
            )
        )
        place = TopicPartition(topic, partition)
        return batch_future(self._loop, delivery, place, self._txn_manager, self._acknowledges)
