"""A read that is planned on one machine and run in tasks on others, as by Ray and dask.

Invariants: the ranges are looked up by the planner, so all tasks together read each record once,
also if one is repeated. A task is pickled with the configuration, whose repr shows none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from ottla._core import Client, Producer, RecordBatch
from ottla._internal.arguments import integer
from ottla._internal.planning.offset_range import OffsetRange
from ottla._internal.planning.pinned_read import PinnedRead, ScanOptions
from ottla._internal.planning.range_splitting import split_ranges
from ottla._internal.scanning import Bound, find_ranges
from ottla.errors import ConfigError
from ottla.schema import ColumnFormat

if TYPE_CHECKING:
    import pyarrow as pa

MakeFormat: TypeAlias = Callable[[], ColumnFormat]
"""A function that returns a format, which each task calls: a format cannot be pickled."""


def checked_maker(name: str, make: MakeFormat | None) -> MakeFormat | None:
    """Return the argument of a name; raise if it is a format itself, or anything else."""
    given: object = make
    if given is None or (callable(given) and not isinstance(given, ColumnFormat)):
        return make
    kind = type(given).__name__
    raise ConfigError(
        f"{name} is of type {kind}: expected a function that returns a format, such as "
        'lambda: ottla.schema.Avro(ottla.schema.Registry("http://registry:8081")), since each task '
        "makes its own"
    )


@dataclass(frozen=True)
class Connection:
    """How each task connects: a configuration, never a client."""

    bootstrap: str | Sequence[str] | Mapping[str, Any] | None = field(repr=False)
    config: Mapping[str, Any] | None = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)
    timeout: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.bootstrap, Client):
            raise ConfigError(
                "bootstrap is a Client, which other processes cannot use: pass addresses or a "
                "configuration"
            )

    def client(self) -> Client:
        """Return a new client."""
        return Client(self.bootstrap, self.config, timeout=self.timeout, **self.settings)

    def producer(self) -> Producer:
        """Return a new producer."""
        return Producer(self.bootstrap, self.config, **self.settings)


@dataclass(frozen=True)
class TaskRead:
    """How tasks read their ranges.

    Args:
        connection: how they connect.
        options: the arguments of ``scan``.
        key_format: returns the format of keys. Default: they stay bytes.
        value_format: the same for values.
    """

    connection: Connection
    options: ScanOptions
    key_format: MakeFormat | None = None
    value_format: MakeFormat | None = None

    def __post_init__(self) -> None:
        checked_maker("key_format", self.key_format)
        checked_maker("value_format", self.value_format)

    def plan(
        self,
        topics: str | Sequence[str],
        start: Bound,
        end: Bound,
        partitions: Iterable[int] | None,
        *,
        max_records: int | None = None,
    ) -> tuple[list[OffsetRange], pa.Schema]:
        """Look up the ranges, split for the tasks, and the columns.

        Args:
            topics: a topic, or several.
            start: where to start.
            end: where to end.
            partitions: the partitions to read. Default: all.
            max_records: the largest number of offsets of a range. Default: no limit.
        """
        import pyarrow as pa

        if max_records is not None and integer("max_records", max_records) < 1:
            raise ConfigError(f"max_records={max_records}: expected 1 or more")
        with self.connection.client() as client:
            ranges = find_ranges(client, topics, start, end, partitions, self.options.timeout)
            with self._pinned(client, ranges).empty() as scan:
                schema = pa.schema(scan)
        parts = split_ranges(ranges, max_records_per_partition=max_records)
        return parts, schema

    def batches(
        self, ranges: Iterable[OffsetRange], wanted: Sequence[str] | None = None
    ) -> Iterator[RecordBatch]:
        """Read ranges, in a task; ``wanted`` names columns that the batches must have."""
        with self.connection.client() as client:
            read = self._pinned(client, ranges)
            with read.scan(read.ranges, wanted) as scan:
                yield from scan

    def _pinned(self, client: Client, ranges: Iterable[OffsetRange]) -> PinnedRead:
        key = None if self.key_format is None else self.key_format()
        value = None if self.value_format is None else self.value_format()
        return PinnedRead(client, ranges, self.options, key, value)
