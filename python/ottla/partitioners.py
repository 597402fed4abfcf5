"""Custom partitioners of producers, and the partitions that the Java client chooses.

``ottla.Producer(..., partitioner=...)`` and ``AsyncProducer`` take the name of a partitioner of the
Java client or of librdkafka, a ``Partitioner`` or a ``BatchPartitioner``. ``send`` and
``send_batch`` raise its exceptions, and a ``ConfigError`` if it returns a partition that the topic
does not have. With asyncio it is called on the loop's thread.
"""

from __future__ import annotations

from typing import Any, Protocol

from ottla._core import Array, partition_for_key, partitions_for_keys

__all__ = [
    "Array",
    "BatchPartitioner",
    "Partitioner",
    "partition_for_key",
    "partitions_for_keys",
]


class Partitioner(Protocol):
    """A function that chooses the partition of a record without an explicit one."""

    def __call__(
        self, topic: str, key: bytes | None, value: bytes | None, partitions: int, /
    ) -> int:
        """Choose the partition of a record.

        Args:
            topic: the topic.
            key: the serialized key, or None.
            value: the serialized value, or None.
            partitions: the topic's number of partitions.

        Returns:
            A partition from 0 to ``partitions - 1``.
        """


class BatchPartitioner(Protocol):
    """An object that chooses the partitions of many records at once.

    ``send_batch`` calls it once for each chunk of an Arrow array or table, or once for a list.
    ``send`` calls it with one key, unless the object is also callable.
    """

    def partition_batch(self, topic: str, keys: Array, partitions: int, /) -> Any:
        """Choose the partition of each record.

        Args:
            topic: the topic.
            keys: the keys as an Arrow array (``pyarrow.array(keys)``); null for a record without
                a key.
            partitions: the topic's number of partitions.

        Returns:
            A partition for each key: an Arrow array of int32 or int64, or a list of ints.
        """
