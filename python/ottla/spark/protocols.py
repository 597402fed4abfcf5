"""The parts of ``ottla.Client`` and ``ottla.Producer`` that this package uses, as protocols.

Tests implement them with fakes. Invariant: a protocol has only members that this package uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from ottla._internal.planning.offset_range import TopicPartition as TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from ottla.schema import ColumnFormat

Offsets = dict[TopicPartition, int]
"""An offset of each partition."""


class Broker(Protocol):
    """The address of a broker."""

    @property
    def host(self) -> str:
        """The advertised host name or address."""

    @property
    def port(self) -> int:
        """The advertised port."""


class Partition(Protocol):
    """One partition of a topic."""

    @property
    def leader(self) -> int | None:
        """The leader's broker id; None without a leader."""


class Topic(Protocol):
    """One topic."""

    @property
    def id(self) -> str | None:
        """The topic id, which changes if the topic is created again; None if unknown."""

    @property
    def internal(self) -> bool:
        """Whether this is an internal topic of Kafka."""

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """The partitions by number."""


class Cluster(Protocol):
    """A snapshot of the cluster's metadata."""

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """The brokers by id."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """The topics by name."""


class Offset(Protocol):
    """The result of looking up one offset."""

    @property
    def offset(self) -> int | None:
        """The offset; None if no record matches."""


class ArrowArray(Protocol):
    """A batch with the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]: ...


class Scan(Protocol):
    """A bounded read in progress; leaving its ``with`` block ends it."""

    def __iter__(self) -> Iterator[ArrowArray]: ...
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None: ...


class Client(Protocol):
    """A connected client."""

    def cluster(
        self,
        topics: Sequence[str] | None = None,
        *,
        refresh: bool = False,
        timeout: float | None = None,
    ) -> Cluster:
        """Return the metadata of these topics, requested again if ``refresh``.

        Raises ``UnknownTopicError`` if a topic does not appear within ``timeout`` seconds.
        """

    def topic_names(self) -> list[str]:
        """Return the names of all topics."""

    def list_offsets(
        self,
        specs: Mapping[TopicPartition, str | int],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> Mapping[TopicPartition, Offset]:
        """Return the offsets at ``"earliest"``, ``"latest"`` or a timestamp in milliseconds.

        Raises ``UnknownTopicError`` if a partition does not appear within ``timeout`` seconds.
        """

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
    ) -> Scan:
        """Read ranges of (topic, partition, start, end), with these columns in this order.

        A batch has at most ``max_rows`` rows and ``target_bytes`` bytes. The read fails
        after ``timeout`` seconds without progress.
        """


class Formats(TypedDict, total=False):
    """The formats of a scan or of a batch, as arguments."""

    key_format: ColumnFormat
    value_format: ColumnFormat


class Columns(Protocol):
    """The columns of a read, and how a task reads them."""

    @property
    def schema(self) -> StructType:
        """The columns, in their order."""

    def with_filters(self, filters: Iterable[Filter]) -> Columns:
        """Return the same read with those of Spark's filters that tasks can apply."""

    def arrow_schema(self) -> pa.Schema:
        """Return the exact Arrow schema of the batches."""

    def scan_columns(self) -> list[str]:
        """Return the columns to scan."""

    def formats(self) -> Formats:
        """Return this process's decoders, as arguments of a scan."""

    def to_spark(self, batch: pa.RecordBatch, expected: pa.Schema) -> pa.RecordBatch:
        """Return a batch of the scan with exactly the expected schema."""


class BatchDelivery(Protocol):
    """The delivery of a batch of records."""

    def done(self) -> bool:
        """Whether every record was acknowledged or failed."""

    def written(self) -> list[tuple[int, int | None, int]]:
        """Wait for all, and return (partition, first offset, count), or raise the first failure."""


class Producer(Protocol):
    """A producer on a client's connections."""

    def send_batch(
        self,
        topic: str,
        values: Any,
        *,
        key_format: ColumnFormat | None = None,
        value_format: ColumnFormat | None = None,
    ) -> BatchDelivery:
        """Append the rows of an Arrow batch to their partitions' batches, encoded by formats."""

    def flush(self) -> None:
        """Send all buffered records, and wait until each is acknowledged or failed."""
