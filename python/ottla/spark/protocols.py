"""What the Spark layer needs of the core, as protocols: ``ottla.Client`` fits them, so does a fake.

Owns no behaviour. Invariant: nothing here is wider than what this package really uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""

Offsets = dict[TopicPartition, int]
"""An offset of each partition."""


class Broker(Protocol):
    """Where a broker listens."""

    @property
    def host(self) -> str:
        """Its advertised name or address."""

    @property
    def port(self) -> int:
        """Its advertised port."""


class Partition(Protocol):
    """One partition of a topic."""

    @property
    def leader(self) -> int | None:
        """The leader's broker id, or None while there is none."""


class Topic(Protocol):
    """One topic."""

    @property
    def id(self) -> str | None:
        """Its id, which a topic of the same name that is made later does not have, or None."""

    @property
    def internal(self) -> bool:
        """Whether it is Kafka's own."""

    @property
    def partitions(self) -> Mapping[int, Partition]:
        """Its partitions by number."""


class Cluster(Protocol):
    """The cluster as of one moment."""

    @property
    def brokers(self) -> Mapping[int, Broker]:
        """The brokers by id."""

    @property
    def topics(self) -> Mapping[str, Topic]:
        """The topics by name."""


class Offset(Protocol):
    """One answer to a question for an offset."""

    @property
    def offset(self) -> int:
        """The offset, -1 when no record matches."""


class ArrowArray(Protocol):
    """A batch that exports itself through the Arrow PyCapsule interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]: ...


class Scan(Protocol):
    """A bounded read under way; leaving its ``with`` block ends it."""

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
        """The cluster with these topics, asked for anew if ``refresh``.

        A topic that does not appear within ``timeout`` seconds is an ``UnknownTopicError``.
        """

    def list_topics(self) -> list[str]:
        """The names of all topics."""

    def list_offsets(
        self,
        spec: Mapping[TopicPartition, str | int],
        *,
        isolation_level: str | None = None,
        timeout: float | None = None,
    ) -> Mapping[TopicPartition, Offset]:
        """The offsets at ``"earliest"``, ``"latest"`` or a timestamp in milliseconds.

        A partition that does not appear within ``timeout`` seconds is an ``UnknownTopicError``.
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
    ) -> Scan:
        """Read ranges of (topic, partition, start, end) in the columns and order wished.

        A batch is of so many rows or so many bytes at most. Without progress for ``timeout``
        seconds it fails.
        """


class BatchDelivery(Protocol):
    """The promise of many records."""

    def done(self) -> bool:
        """Whether it is known what became of every record."""

    def written(self) -> list[tuple[int, int | None, int]]:
        """Wait for all, and return (partition, first offset, count), or raise the first failure."""


class Producer(Protocol):
    """A producer on a client's connections."""

    def send_batch(self, topic: str, values: Any) -> BatchDelivery:
        """Put the rows of an Arrow batch into their partitions' batches."""

    def flush(self) -> None:
        """Send what waits, and wait until all is acknowledged or failed."""
