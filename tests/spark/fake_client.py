"""A fake client whose logs are only offsets, for the planners and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType

import pyarrow as pa

from ottla import errors
from ottla.errors import UnknownTopicError
from ottla.schema import ColumnFormat
from ottla.spark import protocols
from ottla.spark.reading.schema import arrow_schema, full_schema

TopicPartition = tuple[str, int]


@dataclass
class FakeBroker:
    host: str
    port: int = 9092


@dataclass
class FakePartition:
    leader: int | None


@dataclass
class FakeTopic:
    partitions: dict[int, FakePartition]
    internal: bool = False
    id: str | None = None


@dataclass
class FakeCluster:
    brokers: dict[int, FakeBroker]
    topics: dict[str, FakeTopic]


@dataclass
class FakeOffset:
    offset: int


@dataclass
class FakeScan:
    batches: list[pa.RecordBatch]
    closed: bool = False
    error: Exception | None = None

    def __iter__(self) -> Iterator[protocols.ArrowArray]:
        yield from self.batches
        if self.error is not None:
            raise self.error

    def __enter__(self) -> FakeScan:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closed = True


@dataclass
class FakeClient:
    """Two brokers; logs given as (earliest, latest); timestamps equal offsets."""

    logs: dict[TopicPartition, tuple[int, int]]
    internal: set[str] = field(default_factory=set)
    ids: dict[str, str] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)
    isolation: set[str] = field(default_factory=set)
    scans: list[FakeScan] = field(default_factory=list)
    scan_requests: list[dict[str, object]] = field(default_factory=list)
    timeouts: list[float | None] = field(default_factory=list)
    # The timeouts passed to list_offsets.
    offset_timeouts: list[float | None] = field(default_factory=list)
    slow_cluster: bool = False
    # Functions to call before each response of list_offsets, in turn.
    before_responses: list[Callable[[], object]] = field(default_factory=list)
    # Topics that topic_names returns once although they were deleted.
    listed_once: set[str] = field(default_factory=set)

    def cluster(
        self,
        topics: Sequence[str] | None = None,
        *,
        refresh: bool = False,
        timeout: float | None = None,
    ) -> protocols.Cluster:
        self.timeouts.append(timeout)
        if self.slow_cluster and timeout is not None:
            raise errors.TimeoutError("slow")
        found: dict[str, FakeTopic] = {}
        for topic, partition in self.logs:
            if topics is None or topic in topics:
                entry = found.setdefault(
                    topic, FakeTopic({}, topic in self.internal, self.ids.get(topic))
                )
                entry.partitions[partition] = FakePartition([1, 2, None][partition % 3])
        if unknown := set(topics or ()) - found.keys():
            raise UnknownTopicError(f"no such topic: {', '.join(unknown)}")
        cluster: protocols.Cluster = FakeCluster(
            {1: FakeBroker("one"), 2: FakeBroker("::2")}, found
        )
        return cluster

    def topic_names(self) -> list[str]:
        listed = sorted({topic for topic, _ in self.logs} | self.listed_once)
        self.listed_once.clear()
        return listed

    def list_offsets(
        self,
        spec: Mapping[TopicPartition, str | int],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> Mapping[TopicPartition, protocols.Offset]:
        self.offset_timeouts.append(timeout)
        if self.before_responses:
            self.before_responses.pop(0)()
        if self.failures:
            raise self.failures.pop(0)
        self.isolation.add(isolation_level or "read_uncommitted")
        return {partition: FakeOffset(self._offset(partition, w)) for partition, w in spec.items()}

    def _offset(self, partition: TopicPartition, wanted: str | int) -> int:
        if partition not in self.logs:
            raise UnknownTopicError(f"no such partition: {partition}")
        earliest, latest = self.logs[partition]
        if isinstance(wanted, str):
            return {"earliest": earliest, "latest": latest}[wanted]
        return -1 if wanted >= latest else max(wanted, earliest)

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
        assert columns is not None
        assert key_format is value_format is None, "typed columns are tested with real clients"
        self.scan_requests.append(
            {"ranges": list(ranges), "headers": include_headers, "fail": fail_on_data_loss}
        )
        full = arrow_schema(full_schema(include_headers=True))
        schema = pa.schema([full.field(name) for name in columns])
        empty = [pa.nulls(3, column.type) for column in schema]
        scan = FakeScan([pa.record_batch(empty, schema=schema)] * 2)
        self.scans.append(scan)
        return scan
