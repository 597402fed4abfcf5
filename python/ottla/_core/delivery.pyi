"""The results of sent records."""

from asyncio import Future
from collections.abc import Callable, Generator
from typing import Any, final

from ottla._core.partitioner import Array
from ottla.errors import KafkaError

@final
class RecordMetadata:
    """The place where a record was written.

    Args:
        topic: the topic.
        partition: the partition; -1 if none was chosen.
        offset: the offset; None if it is unknown, as with ``acks=0``.
        timestamp: milliseconds since 1970.
    """

    def __new__(
        cls, topic: str, partition: int, offset: int | None, timestamp: int
    ) -> RecordMetadata: ...
    @property
    def topic(self) -> str:
        """The record's topic."""
    @property
    def partition(self) -> int:
        """The partition; -1 for a record that failed before one was chosen."""
    @property
    def offset(self) -> int | None:
        """The record's offset; None with ``acks=0`` and for a record that failed."""
    @property
    def timestamp(self) -> int:
        """Milliseconds since 1970: the record's, or the broker's with ``LogAppendTime``."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Delivery:
    """A future of one record's metadata. ``Producer.send`` returns it."""

    @property
    def topic(self) -> str:
        """The record's topic."""
    @property
    def partition(self) -> int:
        """The partition chosen for the record."""
    def done(self) -> bool:
        """Return whether the record is acknowledged or failed, without waiting."""

    def result(self, *, timeout: float | None = None) -> RecordMetadata:
        """Wait until the record is acknowledged, and return where it was written.

        Args:
            timeout: seconds to wait. Default: no limit; the record itself completes within
                ``delivery.timeout.ms``.

        Raises:
            TimeoutError: the result is not known within ``timeout`` seconds; the record is
                still pending.
            KafkaError: the record failed; ``maybe_done`` says whether it may have been
                written.
        """

    def exception(self, *, timeout: float | None = None) -> KafkaError | None:
        """Wait until the record is acknowledged or failed, and return its error.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            The error, or None if the record was written.

        Raises:
            TimeoutError: the result is not known within ``timeout`` seconds; the record is
                still pending.
        """

    def __await__(self) -> Generator[Any, None, RecordMetadata]: ...
    def add_done_callback(self, callback: Callable[[Delivery], object], /) -> None:
        """Call a function with this delivery when it is done, or at once if it already is.

        As with ``concurrent.futures.Future``, the function is called once: on the producer's
        delivery thread, which also calls ``on_delivery``, or on the calling thread if the
        delivery is done. ``flush()`` and ``close()`` wait for it. Its exceptions are logged
        as errors of ``ottla.producer``. A failure counts as unobserved unless the function
        calls ``exception()`` or ``result()``.

        Args:
            callback: the function to call with the delivery.

        Raises:
            TypeError: the callback is not callable.
        """

@final
class BatchDelivery:
    """A future of many records, as ``Producer.send_batch`` returns it.

    ``len()`` is the number of records.
    """

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Return whether every record is acknowledged or failed, without waiting."""

    def result(self, *, timeout: float | None = None) -> int:
        """Wait until all records are acknowledged, and return their number.

        Args:
            timeout: seconds to wait. Default: no limit.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
            KafkaError: the first failure; its message has the number of failed records, and
                ``context["index"]`` is the index of the first.
        """

    def errors(self, *, timeout: float | None = None) -> list[tuple[int, int, KafkaError]]:
        """Wait until every record is acknowledged or failed, and return the failures.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            ``(index of the first record, number of records, error)`` for each run of records
            that failed together. The error also has the index in ``context["index"]``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
        """

    def partitions(self) -> Array:
        """Return the partition of each record as an Arrow array of int32, without waiting.

        It is null for a record that was never in a batch, because it is too large.
        """

    def offsets(self, *, timeout: float | None = None) -> Array:
        """Wait until every record is acknowledged or failed, and return the offset of each.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            An Arrow array of int64; null for a record that failed, and if the broker did not
            report the offset, as with ``acks=0``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
        """

    def written(self, *, timeout: float | None = None) -> list[tuple[int, int | None, int]]:
        """Wait until all records are acknowledged, and return where they were written.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            ``(partition, offset of the first record, number of records)`` for each run of
            records with consecutive offsets. The offset is None if the broker did not report
            it, as with ``acks=0``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
            KafkaError: the first failure, as from ``result``.
        """

@final
class AsyncBatchDelivery:
    """A future of many records, for asyncio; it mirrors ``BatchDelivery``.

    ``AsyncProducer.send_batch`` returns it; ``len()`` is the number of records.
    """

    def __len__(self) -> int: ...
    def done(self) -> bool:
        """Return whether every record is acknowledged or failed, without waiting."""

    def result(self, *, timeout: float | None = None) -> Future[int]:
        """Wait until all records are acknowledged, and return their number.

        Args:
            timeout: seconds to wait. Default: no limit.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
            KafkaError: the first failure; its message has the number of failed records, and
                ``context["index"]`` is the index of the first.
        """

    def errors(self, *, timeout: float | None = None) -> Future[list[tuple[int, int, KafkaError]]]:
        """Wait until every record is acknowledged or failed, and return the failures.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            ``(index of the first record, number of records, error)`` for each run of records
            that failed together. The error also has the index in ``context["index"]``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
        """

    def partitions(self) -> Array:
        """Return the partition of each record as an Arrow array of int32, without waiting.

        It is null for a record that was never in a batch, because it is too large.
        """

    def offsets(self, *, timeout: float | None = None) -> Future[Array]:
        """Wait until every record is acknowledged or failed, and return the offset of each.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            An Arrow array of int64; null for a record that failed, and if the broker did not
            report the offset, as with ``acks=0``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
        """

    def written(self, *, timeout: float | None = None) -> Future[list[tuple[int, int | None, int]]]:
        """Wait until all records are acknowledged, and return where they were written.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            ``(partition, offset of the first record, number of records)`` for each run of
            records with consecutive offsets. The offset is None if the broker did not report
            it, as with ``acks=0``.

        Raises:
            TimeoutError: not all results are known within ``timeout`` seconds; the records
                are still pending.
            KafkaError: the first failure, as from ``result``.
        """

@final
class DeliveryReports:
    """The queue of completed records with a callback, for the thread that calls them.

    Iterating waits for the next callbacks: whether they are done callbacks, and the calls of some
    records, each a tuple of the function and its arguments.
    """

    def __iter__(self) -> DeliveryReports: ...
    def __next__(self) -> tuple[bool, list[tuple[Any, ...]]]: ...
    def raised(self, error: BaseException) -> bool:
        """Keep a callback's exception for ``flush``; return False if there already is one."""
