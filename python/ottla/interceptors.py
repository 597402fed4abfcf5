"""Interceptors of producers and consumers: they see each record, and may change it.

    class Traced(ProducerInterceptor):
        def on_send(self, record):
            return replace(record, headers=[*(record.headers or ()), ("trace", new_id())])

    ottla.Producer("kafka:9092", interceptors=[Traced()])

As with Java's ``ProducerInterceptor`` and ``ConsumerInterceptor`` (KIP-42), each gets what the
previous one returned. Those of a producer run before serializers and the partitioner, those of a
consumer after deserializers. An exception in an interceptor is logged by ``ottla.producer`` or
``ottla.consumer`` and has no other effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla._internal.arguments import collection
from ottla.errors import ConfigError, KafkaError

if TYPE_CHECKING:
    from ottla._core import OffsetAndMetadata, Record, RecordBatch, RecordMetadata

__all__ = ["ConsumerInterceptor", "ProducerInterceptor", "ProducerRecord"]


@dataclass(frozen=True)
class ProducerRecord:
    """A record as passed to ``send``; ``dataclasses.replace`` returns a changed copy.

    Attributes:
        topic: the topic.
        value: the value before it is serialized.
        key: the key before it is serialized.
        headers: pairs of a name and a value, a mapping, or None.
        timestamp: milliseconds since 1970, a ``datetime`` with a time zone, or None for now.
        partition: the partition, or None if the partitioner chooses.
    """

    topic: str
    value: Any = None
    key: Any = None
    headers: Any = None
    timestamp: Any = None
    partition: int | None = None


class _Interceptor:
    """The methods that both kinds of interceptors have."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Learn which client this is; called once, by its constructor.

        Args:
            configs: ``bootstrap.servers``, ``client.id`` and, of a consumer, ``group.id`` if set.
        """

    def close(self) -> None:
        """Release resources; called after the client was closed."""


class ProducerInterceptor(_Interceptor):
    """The base class of a producer's interceptors; override the methods that you need."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send instead; called by ``send``, on the caller's thread.

        ``send_batch`` calls it for every record before it sends the first.

        Args:
            record: the record as the previous interceptor returned it.

        Returns:
            The same record or another one. In ``send_batch`` it must have the same topic.
        """
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        """Observe that a record was acknowledged or failed; called once for each record.

        It is called before the record's ``on_delivery`` and on the same thread, or by ``send`` if
        ``send`` itself raises.

        Args:
            metadata: where the record was written; the partition is -1 if none was chosen.
            error: the error if the record failed, else None. If ``send`` raised, it is that
                exception, which need not be a ``KafkaError``: a ``TypeError``, for example.
        """


class RecordTracker(ProducerInterceptor):
    """An interceptor that keeps something for each record until it is acknowledged.

    ``on_acknowledgement`` does not say which record it was; the function that ``track`` returns
    belongs to one.
    """

    def track(
        self, record: ProducerRecord
    ) -> tuple[ProducerRecord, Callable[[RecordMetadata, BaseException | None], None]]:
        """Return the record to send, and what to call in place of ``on_acknowledgement``."""
        raise NotImplementedError


class ConsumerInterceptor(_Interceptor):
    """The base class of a consumer's interceptors; override the methods that you need.

    All methods are called on the thread or event loop that polls, commits or closes.
    """

    def on_poll(self) -> None:
        """Observe that a poll, or the wait for the next record of an iteration, begins."""

    def on_consume(self, records: list[Record[Any, Any]]) -> Sequence[Record[Any, Any]]:
        """Return the records to hand out instead; called if there are any.

        Positions and commits cover all records, also those that are not handed out.

        Args:
            records: the records as the previous interceptor returned them. An iteration passes its
                records one by one.

        Returns:
            The same or other records. A poll returns an empty list at once if there are none; an
            iteration continues with the next record. In an iteration, at most one.
        """
        return records

    def on_consume_arrow(self, batch: RecordBatch) -> None:
        """Observe a batch before ``poll_arrow`` returns it; it cannot be replaced.

        If an interceptor does not override this method, ``poll_arrow`` raises a ``ConfigError``:
        records never bypass an interceptor silently.
        """

    def on_commit(self, offsets: dict[tuple[str, int], OffsetAndMetadata]) -> None:
        """Observe a successful commit: by the application, or automatic.

        The call that commits or polls next calls it, in the order of the commits. Offsets that a
        transaction commits are not reported.

        Args:
            offsets: the committed offsets by topic and partition.
        """


def _checked(returned: object, topic: str | None) -> ProducerRecord:
    """Return an interceptor's record if it is valid; in a batch, ``topic`` must be unchanged."""
    if not isinstance(returned, ProducerRecord):
        raise TypeError(f"expected a ProducerRecord, not {type(returned).__name__}")
    if topic not in (None, returned.topic):
        raise ValueError("the topic cannot be changed in send_batch")
    return returned


class _Chain:
    """The interceptors of one client, called by the core in order."""

    kind: type
    required: tuple[str, ...]
    logger: logging.Logger

    def __init__(self, interceptors: Iterable[Any]) -> None:
        self._all = collection("interceptors", interceptors)
        self._closed = False
        for one in self._all:
            for name in self.required:
                if not callable(getattr(one, name, None)):
                    raise ConfigError(
                        f"interceptors: an object of type {type(one).__name__} has no {name}(); "
                        f"see ottla.interceptors.{self.kind.__name__}"
                    )

    def call(self, name: str, *arguments: Any) -> None:
        """Call a method of every interceptor that has it, and log exceptions."""
        for one in self._all:
            try:
                method = getattr(one, name, None)
                if method is not None:
                    method(*arguments)
            except Exception:
                self.logger.exception("%s.%s failed", type(one).__name__, name)

    def configure(self, configs: dict[str, str]) -> None:
        """Configure all interceptors."""
        self.call("configure", configs)

    def close(self) -> None:
        """Close all interceptors, once."""
        if not self._closed:
            self._closed = True
            self.call("close")


class _DeliveryCallback:
    """The delivery callback of one record: calls the interceptors, then ``on_delivery``."""

    def __init__(
        self,
        chain: _ProducerChain,
        record: ProducerRecord,
        on_delivery: Callable[..., object] | None,
    ) -> None:
        self.record = record
        self.trackers: list[Callable[..., None]] = []
        self._chain = chain
        self._on_delivery = on_delivery

    def __call__(self, error: KafkaError | None, metadata: RecordMetadata) -> None:
        self.refused(error, metadata)
        if self._on_delivery is not None:
            self._on_delivery(error, metadata)

    def refused(self, error: BaseException | None, metadata: RecordMetadata) -> None:
        """Call only the interceptors, for a record whose error ``send`` raises."""
        self._chain.call("on_acknowledgement", metadata, error)
        for acknowledge in self.trackers:
            try:
                acknowledge(metadata, error)
            except Exception:
                self._chain.logger.exception("the tracker of a record failed")


class _ProducerChain(_Chain):
    """The interceptors of a producer."""

    kind = ProducerInterceptor
    required = ("on_send", "on_acknowledgement", "close")
    logger = logging.getLogger("ottla.producer")

    def on_send(
        self,
        record: ProducerRecord,
        on_delivery: Callable[..., object] | None,
        *,
        in_batch: bool,
    ) -> _DeliveryCallback:
        """Return the intercepted record and its delivery callback."""
        callback = _DeliveryCallback(self, record, on_delivery)
        for one in self._all:
            try:
                topic = callback.record.topic if in_batch else None
                if isinstance(one, RecordTracker):
                    callback.record, acknowledge = one.track(callback.record)
                    callback.trackers.append(acknowledge)
                else:
                    callback.record = _checked(one.on_send(callback.record), topic)
            except Exception:
                name = type(one).__name__
                self.logger.exception("%s.on_send failed; the record is sent unchanged", name)
        return callback


class _ConsumerChain(_Chain):
    """The interceptors of a consumer."""

    kind = ConsumerInterceptor
    required = ("on_consume", "on_commit", "close")
    logger = logging.getLogger("ottla.consumer")

    def on_poll(self) -> None:
        """Report that a poll begins."""
        self.call("on_poll")

    def on_consume(self, records: list[Record[Any, Any]], only: bool) -> list[Record[Any, Any]]:
        """Return the intercepted records; at most one in place of an ``only`` record."""
        for one in self._all:
            try:
                # A copy: an interceptor that changes the list and then fails must not lose records.
                returned = _checked_records(one.on_consume(list(records)), only=only)
            except Exception:
                name = type(one).__name__
                self.logger.exception("%s.on_consume failed; its records are unchanged", name)
            else:
                records = returned
        return records

    def check_arrow(self) -> None:
        """Raise an error if an interceptor cannot see Arrow batches."""
        for one in self._all:
            method = getattr(type(one), "on_consume_arrow", None)
            if method in (None, ConsumerInterceptor.on_consume_arrow):
                raise ConfigError(
                    f"poll_arrow would bypass the interceptor {type(one).__name__}: give it an "
                    "on_consume_arrow(), or use a consumer without interceptors"
                )

    def on_consume_arrow(self, batch: RecordBatch) -> None:
        """Report a batch of Arrow columns."""
        self.call("on_consume_arrow", batch)

    def on_commit(self, offsets: dict[tuple[str, int], OffsetAndMetadata]) -> None:
        """Report a commit."""
        self.call("on_commit", offsets)


def _checked_records(returned: Any, *, only: bool) -> list[Record[Any, Any]]:
    """Return an interceptor's records if they are valid."""
    from ottla._core import Record

    records = list(returned)
    for record in records:
        if not isinstance(record, Record):
            raise TypeError(f"expected records, not {type(record).__name__}")
    if only and len(records) > 1:
        raise ValueError("an iteration hands out its records one by one: return at most one")
    return records
