"""Estimates record sizes from a sample, because Kafka does not report the size of a range.

Called on the driver, for limits in bytes and for packing ranges into tasks. Invariant: a sample is
small and fast whatever the topics are: about a megabyte of each of a few topics, and five seconds
in all. A failed sample fails nothing: the tasks report what cannot be read. An estimate is at least
one byte per offset.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from ottla._internal.planning.offset_range import OffsetRange
from ottla.errors import KafkaError
from ottla.spark.clients import client_for
from ottla.spark.protocols import ArrowArray, Client, Scan, TopicPartition

log = logging.getLogger(__name__)

# The size of one fetch response; the first batch of a partition is always returned whole.
_FETCH_MAX_BYTES = "65536"
_SAMPLED_TOPICS = 16
_SAMPLED_PARTITIONS = 3
# Limits of the sample, per partition and per topic.
_SAMPLED_RECORDS = 200
_SAMPLED_BYTES = 1 << 20
# The bytes of one batch of a scan, which yields nothing before it has that much or has ended.
_SCAN_BATCH_BYTES = 1 << 18
# All topics are sampled at once, within this many seconds: half of them for topics that yield
# records, and half for the last wait for one that does not.
_SAMPLE_SECONDS = 5.0
_NO_PROGRESS_SECONDS = _SAMPLE_SECONDS / 2
# The estimate for topics without a sample.
_DEFAULT_BYTES_PER_OFFSET = 1000.0
# Seconds for which an estimate is reused: record sizes change slowly.
_CACHE_SECONDS = 60.0
_CONTENT_COLUMNS = ("key", "value", "headers")

RangesByTopic = dict[str, list[OffsetRange]]


class RecordSizeEstimator:
    """Estimates bytes per offset by topic: of keys, values and headers, uncompressed."""

    def __init__(self, kafka: Mapping[str, str]) -> None:
        self._kafka = {**kafka, "fetch.max.bytes": _FETCH_MAX_BYTES}
        # The time and the bytes per offset of each sample.
        self._samples: dict[str, tuple[float, float]] = {}

    def estimate(self, ranges: Iterable[OffsetRange]) -> dict[TopicPartition, float]:
        """Return the estimated bytes per offset for each partition of these ranges.

        Of many topics, only the largest are sampled; the others get the mean of these.
        """
        by_topic: RangesByTopic = {}
        for one in ranges:
            by_topic.setdefault(one.topic, []).append(one)
        if not by_topic:
            return {}
        now = time.monotonic()
        self._samples = {t: s for t, s in self._samples.items() if now - s[0] < _CACHE_SECONDS}
        largest = sorted(by_topic, key=lambda topic: -_offset_count(by_topic[topic]))
        unknown = {t: by_topic[t] for t in largest[:_SAMPLED_TOPICS] if t not in self._samples}
        if unknown:
            self._sample(unknown)
        known = {topic: self._samples[topic][1] for topic in by_topic if topic in self._samples}
        total = sum(size * _offset_count(by_topic[topic]) for topic, size in known.items())
        mean = total / sum(_offset_count(by_topic[topic]) for topic in known)
        return {
            one.topic_partition: known.get(topic, mean)
            for topic, topic_ranges in by_topic.items()
            for one in topic_ranges
        }

    def _sample(self, by_topic: RangesByTopic) -> None:
        try:
            found = sample_topics(client_for(self._kafka), by_topic)
        except KafkaError as error:
            log.info("could not sample records: %s", error)
            found = {}
        now = time.monotonic()
        for topic in by_topic:
            self._samples[topic] = now, found.get(topic, _DEFAULT_BYTES_PER_OFFSET)


def sample_topics(client: Client, by_topic: RangesByTopic) -> dict[str, float]:
    """Read the first records of each topic's largest ranges, and return bytes per offset.

    Topics from which no record could be read are left out.
    """
    found: dict[str, float] = {}
    deadline = time.monotonic() + _NO_PROGRESS_SECONDS
    with _fetch_warnings_muted(), ExitStack() as scans:
        # A scan reads from its creation on, so all of them read at the same time.
        running = [
            (topic, _TopicSample(some), scans.enter_context(_scan_first_records(client, some)))
            for topic, ranges in by_topic.items()
            if (some := sorted(ranges, key=lambda one: -one.size)[:_SAMPLED_PARTITIONS])
        ]
        for topic, sample, scan in running:
            if time.monotonic() >= deadline:
                break
            try:
                sample.read(scan, deadline)
            except KafkaError as error:
                log.info("could not finish the sample of topic %s: %s", topic, error)
            if (size := sample.bytes_per_offset()) is not None:
                found[topic] = size
    return found


class _TopicSample:
    """The bytes of a topic's sampled records, and the number of offsets that they span."""

    def __init__(self, ranges: list[OffsetRange]) -> None:
        self._ends = {one.partition: one.end for one in ranges}
        self._first: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._missing = {p.partition: min(p.size, _SAMPLED_RECORDS) for p in ranges if p.size}
        self._bytes = 0

    def read(self, scan: Scan, deadline: float) -> None:
        """Add records until there are enough, or the deadline has passed."""
        for batch in scan:
            self._add(batch)
            if self._bytes >= _SAMPLED_BYTES or not self._missing or time.monotonic() >= deadline:
                return
        # The ranges were read to their ends. In a compacted topic, offsets without records may
        # follow the last record.
        self._next |= {partition: self._ends[partition] for partition in self._next}

    def _add(self, batch: ArrowArray) -> None:
        import pyarrow as pa

        records = pa.record_batch(batch)
        # nbytes counts the bytes in use, not those allocated.
        self._bytes += sum(records[name].nbytes for name in _CONTENT_COLUMNS)
        partitions, offsets = records["partition"].to_pylist(), records["offset"].to_pylist()
        for partition, offset in zip(partitions, offsets, strict=True):
            # Offsets before the first record may have been deleted: they are not counted.
            self._first.setdefault(partition, offset)
            self._next[partition] = offset + 1
            missing = self._missing.pop(partition, 0) - 1
            if missing > 0:
                self._missing[partition] = missing

    def bytes_per_offset(self) -> float | None:
        """Return the estimate; None without records."""
        offsets = sum(end - self._first[partition] for partition, end in self._next.items())
        return max(self._bytes / offsets, 1.0) if offsets else None


def _scan_first_records(client: Client, ranges: Iterable[OffsetRange]) -> Scan:
    # Scans whole ranges, and is closed early: if a log starts within a range, its first records are
    # there.
    return client.scan(
        [(one.topic, one.partition, one.start, one.end) for one in ranges],
        columns=[*_CONTENT_COLUMNS, "partition", "offset"],
        include_headers=True,
        max_rows=_SAMPLED_RECORDS,
        target_bytes=_SCAN_BATCH_BYTES,
        fail_on_data_loss=False,
        timeout=_NO_PROGRESS_SECONDS,
    )


@contextmanager
def _fetch_warnings_muted() -> Iterator[None]:
    # Records that a sample skips are not lost; the tasks log what they skip.
    this_thread, fetch_log = threading.get_ident(), logging.getLogger("ottla.fetch")

    def is_other_thread(record: logging.LogRecord) -> bool:
        return record.thread != this_thread

    fetch_log.addFilter(is_other_thread)
    try:
        yield
    finally:
        fetch_log.removeFilter(is_other_thread)


def _offset_count(ranges: Iterable[OffsetRange]) -> int:
    return sum(one.size for one in ranges)
