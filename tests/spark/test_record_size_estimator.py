"""The record size estimator: few topics, small samples, in parallel; it never fails a plan."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from ottla._internal.planning.offset_range import OffsetRange
from ottla.errors import BootstrapError, UnknownTopicError
from ottla.schema import ColumnFormat
from ottla.spark import clients, protocols
from ottla.spark.options.read_options import parse_stream_options
from ottla.spark.planning import record_size_estimator
from ottla.spark.planning.record_size_estimator import RecordSizeEstimator
from ottla.spark.planning.stream_planner import StreamPlanner
from ottla.testing import MockCluster
from tests.spark.fake_client import FakeClient, FakeScan

DEFAULT_SIZE = record_size_estimator._DEFAULT_BYTES_PER_OFFSET


class SizedClient(FakeClient):
    """Topics whose records have a given size each, or that cannot be read."""

    def __init__(self, sizes: Mapping[str, int | Exception]) -> None:
        super().__init__({})
        self.sizes = sizes
        self.there: Callable[[int, int], bool] = lambda _partition, _offset: True

    def scan(
        self,
        ranges: Sequence[tuple[str, int, int, int]],
        *,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        max_rows: int = 50_000,
        target_bytes: int = 4 << 20,
        fail_on_data_loss: bool = True,
        timeout: float | None = None,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
    ) -> protocols.Scan:
        assert key_format is value_format is None
        assert timeout == record_size_estimator._NO_PROGRESS_SECONDS
        assert not fail_on_data_loss
        super().scan(ranges, columns=columns, include_headers=True)
        (topic,) = {topic for topic, *_ in ranges}
        scan = SizedScan([])
        size = self.sizes[topic]
        if isinstance(size, Exception):
            scan.error = size
        else:
            rows = max(min(max_rows, target_bytes // max(size, 1)), 1)
            scan.coming = parts(ranges, size, rows, self.there)
        self.scans[-1] = scan
        return scan


@dataclass
class SizedScan(FakeScan):
    """Yields batches, and counts how many were requested."""

    coming: Iterator[pa.RecordBatch] = field(default_factory=lambda: iter(()))
    given: int = 0

    def __iter__(self) -> Iterator[protocols.ArrowArray]:
        for batch in self.coming:
            self.given += 1
            yield batch
        yield from super().__iter__()


def parts(
    ranges: Sequence[tuple[str, int, int, int]],
    size: int,
    rows: int,
    there: Callable[[int, int], bool],
) -> Iterator[pa.RecordBatch]:
    """Return batches of the existing records, from each range in turn."""
    lefts = [
        (partition, filter(partial(there, partition), range(start, end)))
        for _, partition, start, end in ranges
    ]
    while lefts:
        partition, offsets = lefts.pop(0)
        if some := list(islice(offsets, rows)):
            yield records(partition, some, size)
            lefts.append((partition, offsets))


def records(partition: int, offsets: Sequence[int], size: int) -> pa.RecordBatch:
    count = len(offsets)
    return pa.record_batch(
        {
            "key": pa.nulls(count),
            "value": pa.array([b"x" * size] * count, pa.binary()),
            "headers": pa.nulls(count),
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": pa.array(offsets, pa.int64()),
        }
    )


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> list[FakeClient]:
    """The client that connects next; time stands still, whatever pauses the machine makes."""
    clients: list[FakeClient] = []
    monkeypatch.setattr(record_size_estimator, "client_for", lambda _: clients[-1])
    monkeypatch.setattr(record_size_estimator, "time", SimpleNamespace(monotonic=lambda: 0.0))
    return clients


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of a real scan is not cut short where the machine pauses for seconds."""
    monkeypatch.setattr(record_size_estimator, "_NO_PROGRESS_SECONDS", 60.0)


def topic_of(name: str, *sizes: int) -> list[OffsetRange]:
    return [OffsetRange(name, n, 0, size) for n, size in enumerate(sizes)]


def test_a_sample_reads_a_few_records_of_the_largest_partitions(
    connected: list[FakeClient],
) -> None:
    client = SizedClient({"t": 1000})
    connected.append(client)
    found = RecordSizeEstimator({}).estimate(topic_of("t", 5, 10**6, 7, 150, 0))
    assert found.keys() == {("t", n) for n in range(5)}
    assert len(set(found.values())) == 1
    # Each value comes with an offset of four bytes.
    assert found["t", 0] == pytest.approx(1004, abs=1)
    assert client.scan_requests[0]["ranges"] == [
        ("t", 1, 0, 10**6),
        ("t", 3, 0, 150),
        ("t", 2, 0, 7),
    ]
    # Two hundred records of each are enough, and so are all there are.
    (scan,) = client.scans
    assert isinstance(scan, SizedScan)
    assert scan.given == 3
    assert RecordSizeEstimator({}).estimate([]) == {}


def test_the_largest_of_many_topics_are_sampled_at_once(connected: list[FakeClient]) -> None:
    client = SizedClient({f"t{n}": 100 if n < 900 else 400 for n in range(1000)})
    connected.append(client)
    sizes = RecordSizeEstimator({})
    ranges = [part for n in range(1000) for part in topic_of(f"t{n}", n + 1)]
    found = sizes.estimate(ranges)
    read = [topic for asked in client.scan_requests for topic, *_ in asked["ranges"]]  # type: ignore[attr-defined]
    assert read == [f"t{n}" for n in range(999, 983, -1)]
    assert found["t999", 0] == pytest.approx(404, abs=1)
    # The others get the mean of the largest.
    assert found["t0", 0] == pytest.approx(404, abs=1)
    # Known topics are not sampled again; a topic that becomes one of the largest is.
    sizes.estimate(ranges)
    assert len(client.scan_requests) == 16
    assert sizes.estimate(topic_of("t0", 1))["t0", 0] == pytest.approx(104, abs=1)


def test_an_endless_scan_of_large_records_is_closed_early(connected: list[FakeClient]) -> None:
    client = SizedClient({"t": 300_000})
    connected.append(client)
    found = RecordSizeEstimator({}).estimate(topic_of("t", 10**9, 10**9))
    assert found["t", 0] == pytest.approx(300_004, abs=1)
    (scan,) = client.scans
    assert isinstance(scan, SizedScan)
    assert scan.given == 4
    assert scan.closed


def test_slow_scans_are_closed_in_time(
    connected: list[FakeClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count()
    monkeypatch.setattr(
        record_size_estimator, "time", SimpleNamespace(monotonic=lambda: next(seconds))
    )
    client = SizedClient({"slow": 10, "t": 10})
    # The other partition yields nothing, so there are never enough records of both.
    client.there = lambda partition, _offset: partition == 0
    connected.append(client)
    ranges = [*topic_of("slow", 10**9, 10**5), *topic_of("t", 10, 10)]
    found = RecordSizeEstimator({}).estimate(ranges)
    slow, other = client.scans
    assert isinstance(slow, SizedScan)
    assert isinstance(other, SizedScan)
    assert 0 < slow.given <= record_size_estimator._SAMPLE_SECONDS
    assert (other.given, other.closed) == (0, True)
    assert found["slow", 0] == pytest.approx(14, abs=1)
    assert found["t", 0] == DEFAULT_SIZE


def test_deleted_records_count_as_zero_bytes(connected: list[FakeClient]) -> None:
    client = SizedClient({"t": 1000})
    client.there = lambda _partition, offset: offset >= 5_000
    connected.append(client)
    assert RecordSizeEstimator({}).estimate(topic_of("t", 9_000))["t", 0] == pytest.approx(
        1004, abs=1
    )


def test_compacted_offsets_lower_the_estimate(
    connected: list[FakeClient],
) -> None:
    client = SizedClient({"t": 1000})
    client.there = lambda _partition, offset: offset % 10 == 0
    connected.append(client)
    for size in (10, 100, 100_000):
        found = RecordSizeEstimator({}).estimate(topic_of("t", size))
        assert found["t", 0] == pytest.approx(100, rel=0.01)


def test_a_failed_scan_keeps_the_records_read_before(connected: list[FakeClient]) -> None:
    class HalfWay(SizedClient):
        def scan(self, *args: Any, **named: Any) -> protocols.Scan:
            scan = super().scan(*args, **named)
            self.scans[-1].error = UnknownTopicError("no such topic: t")
            return scan

    connected.append(HalfWay({"t": 1000}))
    assert RecordSizeEstimator({}).estimate(topic_of("t", 20))["t", 0] == pytest.approx(1004, abs=1)


def test_a_deleted_topic_fails_no_plan(connected: list[FakeClient]) -> None:
    client = SizedClient({"gone": UnknownTopicError("no such topic: gone"), "t": 10})
    connected.append(client)
    sizes = RecordSizeEstimator({})
    found = sizes.estimate([*topic_of("gone", 10), *topic_of("t", 10)])
    assert found["gone", 0] == DEFAULT_SIZE
    assert found["t", 0] == pytest.approx(14, abs=1)
    assert all(scan.closed for scan in client.scans)
    # It is not sampled again at once.
    sizes.estimate(topic_of("gone", 10))
    assert len(client.scan_requests) == 2


def test_an_unreachable_cluster_fails_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(_: object) -> FakeClient:
        raise BootstrapError("no broker responds")

    monkeypatch.setattr(record_size_estimator, "client_for", connect)
    assert RecordSizeEstimator({}).estimate(topic_of("t", 1)) == {("t", 0): DEFAULT_SIZE}


BLOB = os.urandom(20_000)


@pytest.mark.usefixtures("patient")
def test_byte_limits_apply_to_a_stream_behind_retention(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with MockCluster(brokers=1) as cluster:
        cluster.create_topic("t", 1)
        for _ in range(50):
            cluster.append("t", 0, [BLOB] * 40)
        cluster.delete_records("t", 0, 1000)
        options = {
            "kafka.bootstrap.servers": cluster.bootstrap,
            "subscribe": "t",
            "failOnDataLoss": "false",
            "maxBytesPerTrigger": "1000000",
        }
        for start in (0, 950, 1000):
            planner = StreamPlanner(parse_stream_options(options))
            end = planner.end_of_batch({("t", 0): start})["t", 0]
            assert (end - 1000) * len(BLOB) == pytest.approx(1_000_000, rel=0.05)
        # The tasks log the records that they skip; a sample logs nothing.
        assert "skipped" not in caplog.text


@pytest.mark.usefixtures("patient")
def test_a_sample_reads_little_of_large_topics() -> None:
    with MockCluster(brokers=1) as cluster:
        for topic in ("t", "u"):
            cluster.create_topic(topic, 3)
            for partition, _ in itertools.product(range(3), range(100)):
                cluster.append(topic, partition, [BLOB * 5])
        sizes = RecordSizeEstimator(kafka := {"bootstrap.servers": cluster.bootstrap})
        found = sizes.estimate(OffsetRange(t, p, 0, 100) for t in "tu" for p in range(3))
        assert found["t", 0] == pytest.approx(100_000, rel=0.01)
        client = clients.client(
            {**kafka, "fetch.max.bytes": record_size_estimator._FETCH_MAX_BYTES}
        )
        # Of 60 MB: a megabyte of each topic, and the data in flight by then.
        assert client.metrics()["incoming-byte-total"] < 6_000_000
