"""``KafkaConsumer`` over ``ottla.Consumer``.

Invariants: the position is that of the last record that was returned, so that a commit never covers
a record that the program has not seen; with ``with`` and an exception nothing is committed
automatically; a poll returns within its timeout.
"""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import ottla
from ottla import errors
from ottla.compat.kafka import _config, _defaults
from ottla.compat.kafka._converters import close_all, deserializer
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka._view import ClientView, find_cluster
from ottla.compat.kafka.consumer._commits import CommitObserver, Commits
from ottla.compat.kafka.consumer._heartbeats import CoordinatorView
from ottla.compat.kafka.consumer._positions import Positions
from ottla.compat.kafka.consumer._records import Records
from ottla.compat.kafka.consumer._subscription import Subscription
from ottla.compat.kafka.consumer.fetcher import ConsumerRecord
from ottla.compat.kafka.consumer.subscription_state import (
    AsyncConsumerRebalanceListener,
    ConsumerRebalanceListener,
    RebalanceCallbacks,
)
from ottla.compat.kafka.errors import IllegalStateError
from ottla.compat.kafka.structs import TopicPartition

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KafkaConsumer"]

log = logging.getLogger("ottla.compat")

# The longest wait of one poll of ottla's; an infinite timeout is many of them.
_LONGEST = 60.0


class KafkaConsumer(Commits, Positions):
    """A consumer with the interface of kafka-python.

    Args:
        topics: topics to subscribe to.
        configs: the keyword arguments of kafka-python; see ``DEFAULT_CONFIG``.

    Raises:
        KafkaConfigurationError: an argument is unknown or invalid.
        NoBrokersAvailable: no server was found within ``bootstrap_timeout_ms``.
    """

    DEFAULT_CONFIG = _defaults.CONSUMER

    def __init__(self, *topics: str, **configs: Any) -> None:
        self._closed = True
        self.config = _defaults.merged(self.DEFAULT_CONFIG, configs)
        _config.check_consumer(self.config, configs)
        _config.warn_of_no_effect("KafkaConsumer", self.config, self.DEFAULT_CONFIG)
        for name in ("key_deserializer", "value_deserializer"):
            self.config[name] = deserializer(name, self.config[name])
        self._records = Records(self.config["key_deserializer"], self.config["value_deserializer"])
        self._observer = CommitObserver(self.config["default_offset_commit_callback"])
        observers = None if self._observer.callback is None else [self._observer]
        options = _config.consumer(self.config)
        with translating():
            self._consumer = ottla.Consumer(interceptors=observers, connect=False, **options)
        self._client = ClientView(self._consumer)
        if self.config["api_version"] is None:
            find_cluster(self._consumer, self.config)
        self._closed = False
        self._coordinator = CoordinatorView(self._consumer, lambda: self.group_metadata().state)
        self._failure: tuple[TopicPartition, int, BaseException] | None = None
        self._subscription = Subscription(self._consumer, self._client.cluster, self.config)
        if topics:
            self.subscribe(topics)

    def bootstrap_connected(self) -> bool:
        """Whether there is a connection to any broker."""
        return self._client.bootstrap_connected()

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        """Wait until the cluster was found."""
        with translating():
            self._consumer.cluster(timeout=self._seconds(timeout_ms), refresh=refresh)

    def subscribe(
        self,
        topics: Sequence[str] = (),
        pattern: str | re.Pattern[str] | None = None,
        listener: ConsumerRebalanceListener | AsyncConsumerRebalanceListener | None = None,
    ) -> None:
        """Subscribe to topics, or to those whose names begin with a match of a pattern.

        Without ``group_id``, all partitions of the topics are read, and nothing is committed.

        Raises:
            IllegalStateError: partitions are assigned, or the other kind of subscription is used.
            TypeError: the topics are no list, or the listener is of another class.
            ValueError: there are neither topics nor a pattern.
        """
        if isinstance(topics, str) or not isinstance(topics, Sequence):
            raise TypeError("Topics must be a list (or non-str sequence)")
        classes = (ConsumerRebalanceListener, AsyncConsumerRebalanceListener)
        if listener is not None and not isinstance(listener, classes):
            raise TypeError("listener must be a ConsumerRebalanceListener")
        callbacks: dict[str, Any] = {}
        if listener is not None:
            cooperative = _config.is_cooperative(self.config)
            made = RebalanceCallbacks(listener, weakref.ref(self), cooperative)
            callbacks = made.for_subscribe()
        with translating():
            self._subscription.subscribe_to(topics, pattern, callbacks)

    def unsubscribe(self) -> None:
        """Give up all partitions, and leave the group."""
        with translating():
            self._subscription.unsubscribe()

    def subscription(self) -> set[str] | None:
        """Return the topics of the subscription; None without one."""
        return self._subscription.topics

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without a group.

        Raises:
            IllegalStateError: topics are subscribed to.
        """
        wanted = list(partitions)
        if not wanted:
            self.unsubscribe()
            return
        with translating():
            self._subscription.assign(wanted)

    def poll(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        update_offsets: bool = True,
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Return records as soon as there are any, or nothing after the timeout.

        Args:
            timeout_ms: milliseconds to wait.
            max_records: the maximum number of records. Default: ``max_poll_records``.
            update_offsets: whether the positions move past the returned records.

        Raises:
            IllegalStateError: the consumer is closed.
            ValueError: an argument is out of range.
        """
        if timeout_ms < 0:
            raise ValueError("Timeout must not be negative")
        if max_records is None:
            max_records = self.config["max_poll_records"]
        if not isinstance(max_records, int):
            raise TypeError("max_records must be an integer")
        if max_records <= 0:
            raise ValueError("max_records must be positive")
        if self._closed:
            raise IllegalStateError("KafkaConsumer is closed")
        self._raise_failure()
        read = self._read(timeout_ms / 1000, max_records)
        try:
            made = self._records.make_all(read)
        except BaseException:
            # Ctrl-C in a deserializer: none of these records has reached the program.
            self._read_again(*read)
            raise
        for partition, (error, first) in made.failures.items():
            self._read_again(first)
            self._failure = (partition, first.offset, error)
        if not made.records:
            self._raise_failure()
        if not update_offsets:
            with translating():
                for partition, records in made.records.items():
                    self._consumer.seek(*partition, records[0].offset)
        return made.records

    def __iter__(self) -> Iterator[ConsumerRecord]:
        return self

    def __next__(self) -> ConsumerRecord:
        timeout_ms = self.config["consumer_timeout_ms"]
        timeout = timeout_ms / 1000 if timeout_ms >= 0 else float("inf")
        if self._closed:
            raise StopIteration
        self._raise_failure()
        read = self._read(timeout, 1)
        if not read:
            raise StopIteration
        try:
            return self._records.make(read[0])
        except BaseException:
            self._read_again(read[0])
            raise

    def _read_again(self, *records: ottla.Record[Any, Any]) -> None:
        """Move the positions back to the first of some records, by partition."""
        with translating():
            # The first one of a partition comes last.
            for record in reversed(records):
                epoch = record.leader_epoch if record.leader_epoch >= 0 else None
                self._consumer.seek(
                    record.topic, record.partition, record.offset, leader_epoch=epoch
                )

    def _read(self, timeout: float, limit: int) -> list[ottla.Record[Any, Any]]:
        now = self._coordinator.heartbeat.last_poll = time.monotonic()
        deadline = now + timeout
        try:
            # Another thread may close the consumer: a poll then returns nothing.
            while not self._closed:
                records = self._poll_once(max(0.0, min(deadline - now, _LONGEST)), limit)
                if records:
                    return records
                now = time.monotonic()
                if now >= deadline:
                    break
        except errors.KafkaError as error:
            if not self._closed:
                raise translated(error) from error
        return []

    def _poll_once(self, wait: float, limit: int) -> list[ottla.Record[Any, Any]]:
        try:
            return self._consumer.poll(timeout=wait, max_records=limit)
        except (errors.BootstrapError, errors.StateError) as error:
            # Until the cluster is found, or while nothing is subscribed, there are no records.
            if isinstance(error, errors.StateError) and self._subscription.active:
                raise
        time.sleep(min(wait, self.config["retry_backoff_ms"] / 1000))
        return []

    def _raise_failure(self) -> None:
        """Raise the exception of a deserializer, unless the program has moved past the record."""
        if self._failure is None:
            return
        partition, offset, error = self._failure
        self._failure = None
        if partition in self.assignment() and self.position(partition) == offset:
            raise error

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        """Leave the group, and close the consumer.

        Args:
            autocommit: whether to commit first, if ``enable_auto_commit`` is on.
            timeout_ms: milliseconds for all of this. Default: ``request_timeout_ms``.
        """
        if self._closed:
            return
        self._closed = True
        limit = self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms
        try:
            if not autocommit:
                self._consumer._stop_auto_commit()  # noqa: SLF001 - for this
            self._consumer.close(timeout=limit / 1000)
        except errors.TimeoutError as error:
            log.warning("KafkaConsumer.close: %s", error)
        except errors.KafkaError as error:
            raise translated(error) from error
        finally:
            close_all((self.config["key_deserializer"], self.config["value_deserializer"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The records in processing were perhaps not processed.
        self.close(autocommit=kind is None)
