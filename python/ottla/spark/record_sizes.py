"""How large records are: an estimate from a few of them, since Kafka tells no range's size.

Called on the driver, for limits in bytes. Invariant: a sample is small, whatever the topic holds,
and an estimate is at least one byte an offset.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from ottla.spark.clients import client_for
from ottla.spark.core import Client, TopicPartition
from ottla.spark.ranges import OffsetRange

# What one answer of a broker may bring; the first batch of a partition comes whole in any case.
_ANSWER_BYTES = "65536"
_SAMPLED_PARTITIONS = 3
_SAMPLED_OFFSETS = 200
# Records change slowly; this many seconds an estimate is believed.
_BELIEVED_FOR = 60.0


class RecordSizes:
    """Bytes an offset, by topic: of keys, values and headers as they come out of compression."""

    def __init__(self, kafka: Mapping[str, str], *, fail_on_data_loss: bool) -> None:
        self._kafka = {**kafka, "fetch.max.bytes": _ANSWER_BYTES}
        self._fail_on_data_loss = fail_on_data_loss
        self._known: dict[str, tuple[float, float]] = {}

    def of(self, ranges: Iterable[OffsetRange]) -> dict[TopicPartition, float]:
        """The estimate for each partition of these ranges."""
        by_topic: dict[str, list[OffsetRange]] = {}
        for piece in ranges:
            by_topic.setdefault(piece.topic, []).append(piece)
        return {
            piece.topic_partition: self._per_offset(topic, pieces)
            for topic, pieces in by_topic.items()
            for piece in pieces
        }

    def _per_offset(self, topic: str, pieces: list[OffsetRange]) -> float:
        now = time.monotonic()
        if (known := self._known.get(topic)) is not None and now - known[0] < _BELIEVED_FOR:
            return known[1]
        largest = sorted(pieces, key=lambda piece: -piece.size)[:_SAMPLED_PARTITIONS]
        estimate = sample(
            client_for(self._kafka), largest, fail_on_data_loss=self._fail_on_data_loss
        )
        self._known[topic] = now, estimate
        return estimate


def sample(client: Client, pieces: Iterable[OffsetRange], *, fail_on_data_loss: bool) -> float:
    """Read the first records of these ranges; bytes an offset."""
    import pyarrow as pa

    total = offsets = 0
    for piece in pieces:
        end = min(piece.end, piece.start + _SAMPLED_OFFSETS)
        with client.scan(
            [(piece.topic, piece.partition, piece.start, end)],
            columns=["key", "value", "headers"],
            include_headers=True,
            fail_on_data_loss=fail_on_data_loss,
        ) as scan:
            total += sum(pa.record_batch(batch).nbytes for batch in scan)
        offsets += end - piece.start
    return max(total / max(offsets, 1), 1.0)
