"""A producer's own partitioner, as the type checker sees it, and where Java would send keys.

``ottla.Producer(..., partitioner=...)`` and ``AsyncProducer`` take the name of one of Java's or
librdkafka's own partitioners, a ``Partitioner`` or a ``BatchPartitioner``. What it raises reaches
the caller of ``send`` or ``send_batch``; what is no partition of the topic is a ``ConfigError``.
With asyncio it is called on the loop's thread.
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
    """Chooses the partition of a record that names none."""

    def __call__(
        self, topic: str, key: bytes | None, value: bytes | None, partitions: int, /
    ) -> int:
        """Return a partition from 0 to ``partitions - 1``."""


class BatchPartitioner(Protocol):
    """Chooses the partitions of many records at once.

    ``send_batch`` calls it once for each chunk of an Arrow array or table, and once for a list;
    ``send`` with one key, unless the object is callable too.
    """

    def partition_batch(self, topic: str, keys: Array, partitions: int, /) -> Any:
        """Return a partition for each key: an int32 or int64 Arrow array, or a list of ints.

        ``keys`` speaks Arrow (``pyarrow.array(keys)``), with null for a record without a key.
        """
