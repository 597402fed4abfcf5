"""Interceptors of producers: they see each record and may change it before it is sent.

    class Traced(ProducerInterceptor):
        def on_send(self, record):
            return replace(record, headers=[*(record.headers or ()), ("trace", new_id())])

    ottla.Producer("kafka:9092", interceptors=[Traced()])

As with Java's ``ProducerInterceptor``, they run before serializers and the partitioner, and each
gets the record that the previous one returned. An exception in an interceptor is logged by
``ottla.producer`` and has no other effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.errors import ConfigError, KafkaError

if TYPE_CHECKING:
    from ottla._core import RecordMetadata

__all__ = ["ProducerInterceptor", "ProducerRecord"]

_LOGGER = logging.getLogger("ottla.producer")


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


class ProducerInterceptor:
    """The base class of interceptors; override the methods that you need."""

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

    def close(self) -> None:
        """Release resources; called after the producer was closed."""


def _checked(returned: object, topic: str | None) -> ProducerRecord:
    """Return an interceptor's record if it is valid; in a batch, ``topic`` must be unchanged."""
    if not isinstance(returned, ProducerRecord):
        raise TypeError(f"expected a ProducerRecord, not {type(returned).__name__}")
    if topic not in (None, returned.topic):
        raise ValueError("the topic cannot be changed in send_batch")
    return returned


class _DeliveryCallback:
    """The delivery callback of one record: calls the interceptors, then ``on_delivery``."""

    def __init__(
        self, chain: _Chain, record: ProducerRecord, on_delivery: Callable[..., object] | None
    ) -> None:
        self.record = record
        self._chain = chain
        self._on_delivery = on_delivery

    def __call__(self, error: KafkaError | None, metadata: RecordMetadata) -> None:
        self.refused(error, metadata)
        if self._on_delivery is not None:
            self._on_delivery(error, metadata)

    def refused(self, error: BaseException | None, metadata: RecordMetadata) -> None:
        """Call only the interceptors, for a record whose error ``send`` raises."""
        self._chain.call("on_acknowledgement", metadata, error)


class _Chain:
    """A producer's interceptors, called by the core in order."""

    def __init__(self, interceptors: Iterable[ProducerInterceptor]) -> None:
        self._all = list(interceptors)
        self._closed = False
        for one in self._all:
            for name in ("on_send", "on_acknowledgement", "close"):
                if not callable(getattr(one, name, None)):
                    raise ConfigError(
                        f"interceptors: an object of type {type(one).__name__} has no {name}(); "
                        "see ottla.interceptors.ProducerInterceptor"
                    )

    def on_send(
        self,
        record: ProducerRecord,
        on_delivery: Callable[..., object] | None,
        *,
        in_batch: bool,
    ) -> _DeliveryCallback:
        """Return the intercepted record and its delivery callback."""
        for one in self._all:
            try:
                record = _checked(one.on_send(record), record.topic if in_batch else None)
            except Exception:
                name = type(one).__name__
                _LOGGER.exception("%s.on_send failed; the record is sent unchanged", name)
        return _DeliveryCallback(self, record, on_delivery)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a method of every interceptor, and log exceptions."""
        for one in self._all:
            try:
                getattr(one, name)(*arguments)
            except Exception:
                _LOGGER.exception("%s.%s failed", type(one).__name__, name)

    def close(self) -> None:
        """Close all interceptors, once."""
        if not self._closed:
            self._closed = True
            self.call("close")
