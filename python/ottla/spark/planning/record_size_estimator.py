"""How large records are: an estimate from a few of them, since Kafka tells no range's size.

Called on the driver, for limits in bytes and for tasks of several ranges. Invariant: a sample is
small and soon over, whatever the topics hold and however many they are: about a megabyte of each
of a few topics, and five seconds for all. That it fails, fails nothing: what can't be read, the
tasks will tell. An estimate is at least one byte an offset.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from ottla.errors import KafkaError
from ottla.spark.clients import client_for
from ottla.spark.offset_range import OffsetRange
from ottla.spark.protocols import ArrowArray, Client, Scan, TopicPartition

log = logging.getLogger(__name__)

# What one answer of a broker may bring; the first batch of a partition comes whole in any case.
_ANSWER_BYTES = "65536"
_SAMPLED_TOPICS = 16
_SAMPLED_PARTITIONS = 3
# So many records of each partition say enough, and so many bytes of a topic.
_SAMPLED_RECORDS = 200
_SAMPLED_BYTES = 1 << 20
# What is looked at together: a scan gives nothing out before it has so much, or its end.
_PIECE_BYTES = 1 << 18
# All topics are read at once, and a cluster that takes longer has more urgent trouble: half of it
# for what comes, and half for the last wait for what does not.
_SECONDS = 5.0
_STALLED = _SECONDS / 2
# Where nothing is known.
_BYTES_AN_OFFSET = 1000.0
# Records change slowly; this many seconds an estimate is believed.
_BELIEVED_FOR = 60.0
_CONTENT = ("key", "value", "headers")

ByTopic = dict[str, list[OffsetRange]]


class RecordSizes:
    """Bytes an offset, by topic: of keys, values and headers as they come out of compression."""

    def __init__(self, kafka: Mapping[str, str]) -> None:
        self._kafka = {**kafka, "fetch.max.bytes": _ANSWER_BYTES}
        self._known: dict[str, tuple[float, float]] = {}

    def of(self, ranges: Iterable[OffsetRange]) -> dict[TopicPartition, float]:
        """The estimate for each partition of these ranges.

        Of many topics the largest are sampled, and the others taken to be alike.
        """
        by_topic: ByTopic = {}
        for piece in ranges:
            by_topic.setdefault(piece.topic, []).append(piece)
        if not by_topic:
            return {}
        now = time.monotonic()
        self._known = {t: k for t, k in self._known.items() if now - k[0] < _BELIEVED_FOR}
        largest = sorted(by_topic, key=lambda topic: -_offsets(by_topic[topic]))[:_SAMPLED_TOPICS]
        if unknown := {topic: by_topic[topic] for topic in largest if topic not in self._known}:
            self._learn(unknown)
        known = {topic: self._known[topic][1] for topic in by_topic if topic in self._known}
        total = sum(size * _offsets(by_topic[topic]) for topic, size in known.items())
        mean = total / sum(_offsets(by_topic[topic]) for topic in known)
        return {
            piece.topic_partition: known.get(topic, mean)
            for topic, pieces in by_topic.items()
            for piece in pieces
        }

    def _learn(self, by_topic: ByTopic) -> None:
        try:
            found = sample(client_for(self._kafka), by_topic)
        except KafkaError as error:
            log.info("no sample of records could be read: %s", error)
            found = {}
        now = time.monotonic()
        for topic in by_topic:
            self._known[topic] = now, found.get(topic, _BYTES_AN_OFFSET)


def sample(client: Client, by_topic: ByTopic) -> dict[str, float]:
    """Read the first records of the largest ranges of each topic; bytes an offset where it can."""
    found: dict[str, float] = {}
    until = time.monotonic() + _STALLED
    with _in_silence(), ExitStack() as scans:
        # A scan reads from when it is made on, so they all do at the same time.
        under_way = [
            (topic, _Sample(some), scans.enter_context(_first_records(client, some)))
            for topic, pieces in by_topic.items()
            if (some := sorted(pieces, key=lambda piece: -piece.size)[:_SAMPLED_PARTITIONS])
        ]
        for topic, seen, scan in under_way:
            if time.monotonic() >= until:
                break
            try:
                seen.take(scan, until)
            except KafkaError as error:
                log.info("no more of a sample of topic %s could be read: %s", topic, error)
            if (size := seen.bytes_an_offset()) is not None:
                found[topic] = size
    return found


class _Sample:
    """What was seen of a topic's records, and of how many offsets these were."""

    def __init__(self, pieces: list[OffsetRange]) -> None:
        self._ends = {piece.partition: piece.end for piece in pieces}
        self._first: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._missing = {p.partition: min(p.size, _SAMPLED_RECORDS) for p in pieces if p.size}
        self._bytes = 0

    def take(self, scan: Scan, until: float) -> None:
        """Look at records until there are enough of them, or it has taken long enough."""
        for batch in scan:
            self._add(batch)
            if self._bytes >= _SAMPLED_BYTES or not self._missing or time.monotonic() >= until:
                return
        # Behind the last record of a range may be offsets without one, if its topic is compacted.
        self._next |= {partition: self._ends[partition] for partition in self._next}

    def _add(self, batch: ArrowArray) -> None:
        import pyarrow as pa

        records = pa.record_batch(batch)
        # Not what its memory has room for, which a batch of the core tells.
        self._bytes += sum(records[name].nbytes for name in _CONTENT)
        places = zip(records["partition"].to_pylist(), records["offset"].to_pylist(), strict=True)
        for partition, offset in places:
            # What was before the first may be gone by retention, and says nothing of the rest.
            self._first.setdefault(partition, offset)
            self._next[partition] = offset + 1
            left = self._missing.pop(partition, 0) - 1
            if left > 0:
                self._missing[partition] = left

    def bytes_an_offset(self) -> float | None:
        """The estimate, None if no record was seen."""
        offsets = sum(end - self._first[partition] for partition, end in self._next.items())
        return max(self._bytes / offsets, 1.0) if offsets else None


def _first_records(client: Client, pieces: Iterable[OffsetRange]) -> Scan:
    # To the end of each range, and left early: where the log starts later than a range, so do the
    # first records.
    return client.scan(
        [(piece.topic, piece.partition, piece.start, piece.end) for piece in pieces],
        columns=[*_CONTENT, "partition", "offset"],
        include_headers=True,
        max_rows=_SAMPLED_RECORDS,
        target_bytes=_PIECE_BYTES,
        fail_on_data_loss=False,
        timeout=_STALLED,
    )


@contextmanager
def _in_silence() -> Iterator[None]:
    # What a sample skips is no loss of anybody's, and the tasks tell what they skip.
    this, fetch = threading.get_ident(), logging.getLogger("ottla.fetch")

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != this

    fetch.addFilter(is_of_others)
    try:
        yield
    finally:
        fetch.removeFilter(is_of_others)


def _offsets(pieces: Iterable[OffsetRange]) -> int:
    return sum(piece.size for piece in pieces)
