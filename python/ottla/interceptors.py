"""What sees, and may change, each record of a producer: for ``interceptors``.

    class Traced(ProducerInterceptor):
        def on_send(self, record):
            return replace(record, headers=[*(record.headers or ()), ("trace", new_id())])

    ottla.Producer("kafka:9092", interceptors=[Traced()])

As with Java's ``ProducerInterceptor``, they come before serializers and the partitioner, each gets
what the one before it made, and what they raise is logged by ``ottla.producer`` and changes
nothing.
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
    """A record as it was passed to ``send``: ``dataclasses.replace`` makes another of it.

    Attributes:
        topic: the topic.
        value, key: before they are serialized.
        headers: as they were given: pairs, a mapping, or None.
        timestamp: milliseconds since 1970, a ``datetime`` with a time zone, or None for now.
        partition: None if the partitioner is to choose.
    """

    topic: str
    value: Any = None
    key: Any = None
    headers: Any = None
    timestamp: Any = None
    partition: int | None = None


class ProducerInterceptor:
    """Sees each record on its way out, and what became of it. Each method may be left as it is."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Called by ``send``, on the caller's thread; what is returned is sent instead.

        In ``send_batch`` it is called for each record before the first is sent, and cannot change
        the topic.
        """
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        """Called once when it is known what became of a record, before its ``on_delivery``, on the
        same thread; or by ``send``, if the record was refused there.

        Args:
            metadata: where it is; the partition is -1 if none was chosen.
            error: why it failed, or None. It may be an exception that is no ``KafkaError`` if
                ``send`` has raised that, as for a value of a wrong type.
        """

    def close(self) -> None:
        """Called when the producer was closed."""


def _checked(made: object, topic: str | None) -> ProducerRecord:
    """What an interceptor made, if it can be sent; to this topic, in a batch."""
    if not isinstance(made, ProducerRecord):
        raise TypeError(f"expected a ProducerRecord, not {type(made).__name__}")
    if topic not in (None, made.topic):
        raise ValueError("the topic cannot be changed in send_batch")
    return made


class _Told:
    """Who is told of one record: the interceptors, and then the program."""

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
        """Tell the interceptors alone: whoever has sent the record is told by an exception."""
        self._chain.call("on_acknowledgement", metadata, error)


class _Chain:
    """A producer's interceptors, called by the core."""

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
    ) -> _Told:
        """What they make of a record, and who is told of it."""
        for one in self._all:
            try:
                record = _checked(one.on_send(record), record.topic if in_batch else None)
            except Exception:
                _LOGGER.exception("%s.on_send failed; its record goes on", type(one).__name__)
        return _Told(self, record, on_delivery)

    def call(self, name: str, *arguments: Any) -> None:
        """Call a method of all."""
        for one in self._all:
            try:
                getattr(one, name)(*arguments)
            except Exception:
                _LOGGER.exception("%s.%s failed", type(one).__name__, name)

    def close(self) -> None:
        """Tell all that the producer was closed; once."""
        if not self._closed:
            self._closed = True
            self.call("close")
