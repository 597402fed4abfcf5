"""The result of a sent record.

Invariant: a future holds ottla's delivery and nothing else until someone asks, so that a record
costs no callback of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import ottla
from ottla import errors
from ottla.compat.kafka._errors import translated
from ottla.compat.kafka.errors import KafkaTimeoutError
from ottla.compat.kafka.future import Future
from ottla.compat.kafka.structs import TopicPartition

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["FailedFuture", "FutureRecordMetadata", "RecordMetadata"]

# Guards the lists of callbacks of all futures: for a few instructions each.
_LOCK = threading.Lock()


class RecordMetadata(NamedTuple):
    """The place where a record was written. The sizes are those of the bytes; -1 for None."""

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


class FutureRecordMetadata(Future):
    """The result of one record, once it is acknowledged or has failed.

    Args:
        delivery: ottla's result.
        key: the key that was sent.
        value: the value that was sent.
        headers: the headers that were sent.
    """

    def __init__(
        self,
        delivery: ottla.Delivery,
        key: bytes | bytearray | memoryview | None,
        value: bytes | bytearray | memoryview | None,
        headers: list[tuple[str, bytes]],
    ) -> None:
        self._delivery = delivery
        # The record's bytes are not kept: only their sizes are reported.
        self._sizes = (
            -1 if key is None else len(key),
            -1 if value is None else len(value),
            sum(len(name.encode()) + len(each) for name, each in headers) if headers else -1,
        )
        self._later: list[tuple[bool, Callable[[Any], object]]] | None = None
        self._called = False
        self._failure: BaseException | None = None
        self._metadata: RecordMetadata | None = None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition that was chosen for the record."""
        return TopicPartition(self._delivery.topic, self._delivery.partition)

    @property
    def _produce_future(self) -> FutureRecordMetadata:
        # OpenTelemetry's instrumentation reads its topic_partition.
        return self

    @property
    def is_done(self) -> bool:
        """Whether the record is acknowledged or has failed."""
        return self._delivery.done()

    @property
    def value(self) -> RecordMetadata | None:
        """Where the record was written; None if it is not known, or if it has failed."""
        if not self._delivery.done() or self.exception is not None:
            return None
        if self._metadata is None:
            found = self._delivery.result()
            where = TopicPartition(found.topic, found.partition)
            offset = -1 if found.offset is None else found.offset
            self._metadata = RecordMetadata(
                *where, where, offset, found.timestamp, None, *self._sizes
            )
        return self._metadata

    @property
    def exception(self) -> BaseException | None:
        """Why the record has failed; None if it is not known, or if it was written."""
        if self._failure is None and self._delivery.done():
            error = self._delivery.exception()
            self._failure = None if error is None else translated(error)
        return self._failure

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged, and return where it was written.

        Args:
            timeout: seconds. Default: no limit.

        Raises:
            KafkaError: the record has failed.
            KafkaTimeoutError: the result is not known yet.
        """
        try:
            self._delivery.exception(timeout=timeout)
        except errors.TimeoutError as error:
            raise KafkaTimeoutError(f"Timeout after waiting for {timeout} secs.") from error
        metadata = self.value
        if metadata is None:
            failure = self.exception
            raise failure if failure is not None else KafkaTimeoutError()
        return metadata

    def _add(self, for_success: bool, function: Callable[[Any], object]) -> None:
        # The delivery calls at once what is added after it is done: earlier callbacks come first.
        with _LOCK:
            if not self._called and self._later is not None:
                self._later.append((for_success, function))
                return
            first = not self._called
            if first:
                self._later = [(for_success, function)]
        if first:
            self._delivery.add_done_callback(self._call_waiting)
        else:
            self._call(for_success, function)

    def _call_waiting(self, _delivery: ottla.Delivery) -> None:
        while True:
            with _LOCK:
                waiting = self._later
                self._later = []
                if not waiting:
                    self._called = True
                    return
            for for_success, function in waiting:
                self._call(for_success, function)

    def _complete(self, value: Any, error: BaseException | None) -> Self:
        raise RuntimeError("the producer completes this future")


class FailedFuture(Future):
    """The result of a record that no broker would accept."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.failure(error)

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Raise the exception."""
        raise self._exception or KafkaTimeoutError()
