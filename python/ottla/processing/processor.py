"""``Processor`` and ``AsyncProcessor``: a handler for records, and topics for those that fail.

Invariant: consumer and producer are created by ``run`` and closed with it, on success and on error.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ottla._core import AsyncProducer, Consumer, Producer
from ottla._internal.async_consumer import AsyncConsumer
from ottla._internal.steps import await_all, call_all
from ottla.processing.decoding import decoder, decoder_in_thread
from ottla.processing.engine import Engine
from ottla.processing.processor_base import ProcessorBase
from ottla.processing.topic_checks import check_topics

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["AsyncProcessor", "Processor"]


class Processor(ProcessorBase):
    """Calls a handler with records of topics, and moves those that fail out of the way.

    A record that fails is written to a retry topic, read again after the topic's delay, and after
    its last attempt written to a topic of dead letters, with its key, value and headers and the
    reason in headers ``__ottla.errors.*``. Run it in as many processes as there are partitions.

    The class of the exception decides, and otherwise its nearest base class. By default exceptions
    are retried, but records of ``SerializationError`` and ``RecordTooLargeError`` become dead
    letters at once; any other ``KafkaError``, and ``MemoryError``, stops the run, which raises it,
    since it is not the record's. KeyboardInterrupt and CancelledError always do. A record in hand
    is then handled again by the next run, and has lost no attempt.

    Args:
        handler: called with each ``Record``, as it was first read, or with a list of them; for a
            coroutine function, use ``AsyncProcessor``.
        topics: the topic or topics to read.
        bootstrap: addresses as ``host:port``.
        config: configuration of the consumer and the producer by Kafka's dotted names. Keyword
            arguments are the same names with underscores. ``group.id`` is required.
            ``isolation.level`` is ``read_committed`` and ``auto.offset.reset`` is ``earliest``
            unless they are set; ``exactly_once`` needs ``read_committed``, and waits for the
            outcome of a transaction for ``delivery.timeout.ms``. For ``transactional.id``, see
            ``transform``.
        batch: whether the handler is called with a list of records of one partition. An exception
            fails all of them, but ``FailedRecords`` only those that it names.
        retry_delays: the seconds before each further attempt; one topic each. Default: 60 and 600.
        retry_topic: the names of retry topics, with ``{topic}``, ``{delay}`` such as ``10m``, and
            ``{group}``. Records that failed in other groups are passed over.
        dead_letter_topic: the name of the topic of dead letters, with ``{topic}`` and ``{group}``.
        keep_order: whether a record that failed waits in its partition, which stops until it
            succeeds or is a dead letter. There are no retry topics then. Attempts and the time of
            the next one are kept with the committed offset.
        exactly_once: whether what the handler sends with ``producer``, the records that failed and
            the offsets are committed in one transaction for each record or batch. Otherwise a crash
            may repeat what was not committed yet: handling, and writing a record that failed.
        retry_on: exceptions to retry. Default: those above.
        dead_letter_on: exceptions whose records are dead letters at once.
        stop_on: exceptions that stop the run and are raised.
        create_topics: whether to create missing topics for records that failed, with the number of
            partitions of their topic.
        describe_error: makes the message of the header and the log from an exception. Default: its
            text. Credentials in common forms are masked, and 1,000 characters are kept.
        max_records: the maximum number of records of a poll and of a batch.
        key_deserializer: converts the handler's keys, as for ``Consumer``. Default: bytes.
        value_deserializer: the same for values. What cannot be converted is a dead letter.
        interceptors: see what came of each call of the handler, such as
            ``ottla.otel.ProcessorInterceptor()``.

    Raises:
        ConfigError: an argument is invalid, or ``group.id`` is missing.
        ArgumentTypeError: the handler is no function, or a coroutine function or a generator
            function, whose code would not run.
    """

    _decoder = staticmethod(decoder)

    @property
    def producer(self) -> Producer:
        """The producer, for the handler; with ``exactly_once`` its records join the transaction.

        Raises:
            StateError: the processor does not run.
        """
        producer: Producer = self._running_producer()
        return producer

    def run(self, *, signals: Iterable[signal.Signals] = ()) -> None:
        """Handle records until ``stop`` is called, or until an exception that stops it.

        Args:
            signals: signals that call ``stop``, such as ``[signal.SIGTERM]``; only in the main
                thread. The handlers that were there before are set again at the end.

        Raises:
            Exception: the handler's exception of a class that stops.
            StateError: the processor runs already.
            UnknownTopicError: topics are missing; the message names them.
            KafkaError: records cannot be read, written or committed; nothing that was not handled
                is committed.
        """
        self._begin()
        try:
            of_consumer, of_producer = self._configs()
            with (
                _stopped_by(signals, self.stop),
                Producer(self._bootstrap, of_producer) as producer,
                Consumer(self._bootstrap, of_consumer) as consumer,
            ):

                def send(topic: str, value: Any, key: Any, headers: Any) -> Any:
                    return producer.send(topic, value, key, headers=headers).result()

                create = self._create if self._create_topics else None
                topics, policy = self._settings.topics, self._settings.policy
                call_all(check_topics(consumer, topics, policy, create))
                engine = Engine(self._settings, consumer, producer, send, time.sleep)
                self._producer = producer
                self._measure(engine)
                consumer.subscribe(
                    engine.read_topics,
                    on_assigned=lambda _, added: call_all(engine.assigned(added)),
                    on_revoked=lambda _, gone: call_all(engine.revoked(gone)),
                    on_lost=lambda _, gone: engine.lost(gone),
                )
                call_all(engine.run())
        finally:
            self._end()

    def _create(self, new_topics: Sequence[Any]) -> Any:
        from ottla.admin import Admin

        with Admin(self._bootstrap, self._config) as admin:
            return admin.create_topics(new_topics, errors="return")


class AsyncProcessor(ProcessorBase):
    """Calls a handler with records of topics, for asyncio; it mirrors ``Processor``.

    Cancelling the task that runs it aborts the attempt in hand, which does not count, and leaves
    the group; ``stop`` ends the run after it.

    Args:
        handler: as for ``Processor``, or a coroutine function.
        topics: as for ``Processor``.
        bootstrap: as for ``Processor``.
        config: as for ``Processor``, and so are all others.
    """

    _decoder = staticmethod(decoder_in_thread)
    _awaits = True

    @property
    def producer(self) -> AsyncProducer:
        """The producer, for the handler; with ``exactly_once`` its records join the transaction.

        Raises:
            StateError: the processor does not run.
        """
        producer: AsyncProducer = self._running_producer()
        return producer

    async def run(self, *, signals: Iterable[signal.Signals] = ()) -> None:
        """Handle records until ``stop`` is called, or until an exception that stops it.

        Args:
            signals: signals that call ``stop``, as for ``Processor.run``.

        Raises:
            KafkaError: as for ``Processor.run``.
        """
        self._begin()
        try:
            of_consumer, of_producer = self._configs()
            async with (
                AsyncProducer(self._bootstrap, of_producer) as producer,
                AsyncConsumer(self._bootstrap, of_consumer) as consumer,
            ):

                async def send(topic: str, value: Any, key: Any, headers: Any) -> Any:
                    return await producer.send(topic, value, key, headers=headers)

                create = self._create if self._create_topics else None
                topics, policy = self._settings.topics, self._settings.policy
                await await_all(check_topics(consumer, topics, policy, create))
                engine = Engine(self._settings, consumer, producer, send, asyncio.sleep)
                self._producer = producer
                self._measure(engine)

                async def assigned(_: Any, added: Sequence[tuple[str, int]]) -> None:
                    await await_all(engine.assigned(added))

                async def revoked(_: Any, gone: Sequence[tuple[str, int]]) -> None:
                    await await_all(engine.revoked(gone))

                consumer.subscribe(
                    engine.read_topics,
                    on_assigned=assigned,
                    on_revoked=revoked,
                    on_lost=lambda _, gone: engine.lost(gone),
                )
                with _stopped_by(signals, self.stop):
                    await await_all(engine.run())
        finally:
            self._end()

    async def _create(self, new_topics: Sequence[Any]) -> Any:
        from ottla.admin import AsyncAdmin

        async with AsyncAdmin(self._bootstrap, self._config) as admin:
            return await admin.create_topics(new_topics, errors="return")


@contextmanager
def _stopped_by(signals: Iterable[signal.Signals], stop: Callable[[], None]) -> Iterator[None]:
    def handle(_: int, __: FrameType | None) -> None:
        stop()

    before: dict[signal.Signals, Any] = {}
    try:
        for each in signals:
            before[each] = signal.signal(each, handle)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)
