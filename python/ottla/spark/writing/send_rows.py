"""Sends the rows of one task with a producer, and reports where they were written.

Invariant: it returns only when each row is acknowledged, or raises the first failure.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.spark.formats import formats_of
from ottla.spark.options.write_options import WriteOptions
from ottla.spark.protocols import BatchDelivery, Producer, TopicPartition
from ottla.spark.writing.write_report import PartitionWritten, sum_by_partition
from ottla.spark.writing.write_schema import split_by_topic

if TYPE_CHECKING:
    import pyarrow as pa


def send_rows(
    producer: Producer, batches: Iterable[pa.RecordBatch], options: WriteOptions
) -> dict[TopicPartition, PartitionWritten]:
    """Send all rows, and return the records by topic and partition."""
    written: list[dict[TopicPartition, PartitionWritten]] = []
    pending: deque[tuple[str, BatchDelivery]] = deque()
    formats = formats_of(options.typed.each())
    for batch in batches:
        for topic, rows in split_by_topic(batch, options):
            pending.append((topic, producer.send_batch(topic, rows, **formats)))
        # A failure ends the task early, and completed deliveries are released.
        while pending and pending[0][1].done():
            written.append(_wait_written(*pending.popleft()))
        written[:] = [sum_by_partition(written)]
    producer.flush()
    written += [_wait_written(topic, delivery) for topic, delivery in pending]
    return sum_by_partition(written)


def _wait_written(topic: str, delivery: BatchDelivery) -> dict[TopicPartition, PartitionWritten]:
    return sum_by_partition(
        {(topic, partition): _partition_written(first, count)}
        for partition, first, count in delivery.written()
    )


def _partition_written(first: int | None, count: int) -> PartitionWritten:
    return PartitionWritten(count, first, None if first is None else first + count - 1)
