"""``Producer``: confluent-kafka's producer over ottla's.

Invariants: ``produce`` never waits, and works without any broker; callbacks run in ``poll``,
``flush`` and the transactional calls only, on the thread that calls them, and their exceptions are
those of the call; every message gets its report, at the latest when the producer is closed.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import ottla
from ottla._core import MessageProducer
from ottla.compat.confluent_kafka._config import arguments
from ottla.compat.confluent_kafka._handle import Cluster, ClusterCalls, seconds_of
from ottla.compat.confluent_kafka._headers import header_pairs
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka._produce_batch import entries_of, first_of
from ottla.compat.confluent_kafka._produced import Entry, check_size
from ottla.compat.confluent_kafka._producer_parts import ProducerParts
from ottla.compat.confluent_kafka._topic_partition import TopicPartition

# How long a wait may delay what only a poll notices, in seconds.
_SLICE = 0.2


def _bytes(name: str, data: Any) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise TypeError(f"{name} must be str, bytes or None, not {type(data).__name__}")


class Producer(MessageProducer, ClusterCalls):
    """A producer: ``produce`` queues a message, ``poll`` and ``flush`` serve the reports.

    Args:
        config: librdkafka's configuration, with the callbacks ``error_cb``, ``stats_cb``,
            ``throttle_cb``, ``on_delivery``, ``oauth_cb`` and a ``logger``. Keyword arguments are
            more of it.

    Raises:
        KafkaException: a key or a value is invalid.
        TypeError: there is no configuration, or a callback is not callable.
    """

    _state: ProducerParts | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self._state is not None:
            raise RuntimeError("Producer already initialized")
        self._state = state = ProducerParts(arguments(args, kwargs))
        if not state.transactions.is_enabled:
            self._attach(state.queue.reports, state.settings.on_delivery)

    def _open(self) -> ProducerParts:
        if self._state is None:
            raise RuntimeError("Producer has been closed")
        return self._state

    def _cluster(self) -> Cluster | None:
        return None if self._state is None else self._state.cluster

    def _produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Queue a message that the short way of ``produce`` does not take."""
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        pairs = header_pairs(headers)
        payload, name = _bytes("value", value), _bytes("key", key)
        state = self._open()
        report = first_of(callback, on_delivery, state.settings.on_delivery)
        entry = Entry(
            topic,
            payload,
            name,
            None if partition < 0 else partition,
            pairs,
            timestamp or None,
            report,
        )
        state.transactions.check_produce()
        check_size(entry, state.limit)
        state.queue.put(entry)

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = -1,
        callback: Any = None,
        on_delivery: Any = None,
    ) -> int:
        """Queue many messages, each a dict with ``value``, ``key``, ``partition``, ``callback``.

        Returns:
            The number of messages in the queue. The others have their error in ``_error``.
        """
        if not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        if not isinstance(partition, int):
            raise TypeError(f"partition must be int, not {type(partition).__name__}")
        if not isinstance(messages, list):
            raise TypeError("messages must be a list")
        if not messages:
            return 0
        state = self._open()
        default = first_of(callback, on_delivery, state.settings.on_delivery)
        accepted = 0
        for entry, message in zip(
            entries_of(topic, messages, partition, default), messages, strict=True
        ):
            try:
                state.transactions.check_produce()
                check_size(entry, state.limit)
                state.queue.put(entry)
            except KafkaException as error:
                message["_error"] = error.args[0]
            except BufferError as error:
                message["_error"] = KafkaError(KafkaError._QUEUE_FULL, str(error))
            else:
                accepted += 1
        return accepted

    def poll(self, timeout: float = -1) -> int:
        """Serve callbacks, and wait for some if there are none.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            The number of events that were served.
        """
        seconds = seconds_of(timeout)
        state = self._open()
        deadline = time.monotonic() + seconds
        while True:
            served = self._serve(state)
            left = deadline - time.monotonic()
            if served or left <= 0:
                return served
            self._wait(state, left)

    def flush(self, timeout: float = -1) -> int:
        """Wait until all messages are delivered, and serve their reports.

        Args:
            timeout: seconds to wait. Default: no limit.

        Returns:
            The number of messages that are still in the queue.
        """
        seconds = seconds_of(timeout)
        state = self._open()
        deadline = time.monotonic() + seconds
        while True:
            state.queue.send_now()
            self._serve(state)
            left = deadline - time.monotonic()
            if not len(state.queue) or left <= 0:
                return len(state.queue)
            self._wait(state, left)

    def purge(self, in_queue: bool = True, in_flight: bool = True, blocking: bool = True) -> None:
        """Give up messages; ``poll`` serves their reports.

        Args:
            in_queue: those that were not sent yet.
            in_flight: those that were sent; they may have been written.
            blocking: whether to wait until this is done, which takes no time here.
        """
        del blocking
        self._open().queue.purge(in_queue=bool(in_queue), in_flight=bool(in_flight))

    def close(self) -> bool:
        """Deliver all messages, serve their reports, and close; True once that is done."""
        if self._state is None:
            return True
        try:
            self.flush()
        finally:
            state, self._state = self._state, None
            if state is not None:
                state.close()
        return True

    def init_transactions(self, timeout: float = -1) -> None:
        """Get a producer id for ``transactional.id``; call it once, before any transaction.

        Raises:
            KafkaException: whose error is ``retriable()`` or ``fatal()``.
        """
        seconds = seconds_of(timeout)
        self._open().transactions.init(seconds)

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._open().transactions.begin()

    def send_offsets_to_transaction(
        self, positions: list[TopicPartition], group_metadata: Any, timeout: float = -1
    ) -> None:
        """Commit a consumer's offsets with the transaction.

        Args:
            positions: the offsets of the next messages to process.
            group_metadata: what ``Consumer.consumer_group_metadata()`` returned.
            timeout: seconds.
        """
        seconds = seconds_of(timeout)
        state = self._open()
        if not isinstance(positions, list):
            raise TypeError("requires list of TopicPartition")
        if not isinstance(group_metadata, ottla.GroupMetadata):
            raise TypeError("expected the result of consumer_group_metadata()")
        state.transactions.send_offsets(positions, group_metadata, seconds)

    def commit_transaction(self, timeout: float = -1) -> None:
        """Deliver the messages of the transaction, serve their reports, and commit it."""
        seconds = seconds_of(timeout)
        self._open().transactions.commit(seconds, self.flush)

    def abort_transaction(self, timeout: float = -1) -> None:
        """Give up the messages of the transaction, and abort it."""
        seconds = seconds_of(timeout)
        state = self._open()
        state.transactions.abort(
            seconds, lambda: state.queue.purge(in_queue=True, in_flight=False), self.flush
        )

    def _serve(self, state: ProducerParts) -> int:
        return state.events.serve() + state.queue.serve()

    def _wait(self, state: ProducerParts, seconds: float) -> bool:
        """Wait until something is to be served; return whether there is a report."""
        return state.queue.wait(state.events.wait_at_most(min(seconds, _SLICE)))

    def _serve_events(self, seconds: float) -> bool:
        """Serve all but reports, then wait for a while; return whether there is a report."""
        state = self._open()
        state.events.serve()
        return self._wait(state, seconds)

    def _serve_reports(self) -> None:
        """Call the callbacks of reports."""
        self._open().queue.serve()

    def __len__(self) -> int:
        return 0 if self._state is None else len(self._state.queue)

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Producer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._state is not None:
            self._state.abandon()
