"""What the Spark layer needs of the core, as protocols: ``ottla.Client`` fits them, so does a fake.

Owns no behaviour. Invariant: nothing here is wider than what planning and reading really use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""


class Broker(Protocol):
    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class Partition(Protocol):
    @property
    def leader(self) -> int | None: ...


class Topic(Protocol):
    @property
    def internal(self) -> bool: ...
    @property
    def partitions(self) -> Mapping[int, Partition]: ...


class Cluster(Protocol):
    @property
    def brokers(self) -> Mapping[int, Broker]: ...
    @property
    def topics(self) -> Mapping[str, Topic]: ...


class Offset(Protocol):
    @property
    def offset(self) -> int: ...


class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[Any, Any]: ...


class Scan(Protocol):
    def __iter__(self) -> Iterator[ArrowArray]: ...
    def __enter__(self) -> Scan: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None: ...


class Client(Protocol):
    def cluster(self, topics: Sequence[str] | None = None, *, refresh: bool = False) -> Cluster: ...

    def list_topics(self) -> list[str]: ...

    def list_offsets(
        self,
        spec: Mapping[TopicPartition, str | int],
        *,
        isolation_level: str = "read_uncommitted",
    ) -> Mapping[TopicPartition, Offset]: ...

    def scan(
        self,
        ranges: Sequence[tuple[str, int, int, int]],
        *,
        columns: Sequence[str] | None = None,
        include_headers: bool = False,
        fail_on_data_loss: bool = True,
    ) -> Scan: ...
