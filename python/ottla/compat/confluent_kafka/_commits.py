"""Commits: of stored offsets by themselves, and of what the application names.

Invariants: ``on_commit`` is called by polls only, once per asynchronous commit; offsets that commit
by themselves were stored by the application, or by a poll that returned their record.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

import ottla
from ottla import errors
from ottla._core import OffsetStore
from ottla.compat.confluent_kafka._commit_metadata import returned, written
from ottla.compat.confluent_kafka._error_codes import text_of
from ottla.compat.confluent_kafka._errors import failure, kafka_error, kafka_exception
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka._partitions import Key, key_of, partitions_of
from ottla.compat.confluent_kafka._settings import Settings
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, topic_partition

_LOG = logging.getLogger("ottla.compat")

Offsets = dict[Key, ottla.OffsetAndMetadata]


def offset_of(message: Any, action: str) -> Offsets:
    """Return the offset after a message, to commit or store it.

    Raises:
        TypeError: it is no message.
        KafkaException: it is an error.
    """
    if not isinstance(message, Message):
        raise TypeError("expected confluent_kafka.cimpl.Message")
    error = message.error()
    if error is not None:
        reason = f"Cannot {action} offsets for message with error: '{error.str()}'"
        raise failure(KafkaError._INVALID_ARG, reason)
    offset, epoch = message.offset(), message.leader_epoch()
    if offset is None:
        return {}
    partition = message.partition()
    key = (message.topic(), -1 if partition is None else partition)
    return {key: ottla.OffsetAndMetadata(offset + 1, None, -1 if epoch is None else epoch)}


def offsets_of(partitions: Any) -> Offsets:
    """Return the offsets in a list of partitions; those without a valid offset are left out."""
    found: Offsets = {}
    for item in partitions_of(partitions):
        if item.offset >= 0:
            epoch = -1 if item.leader_epoch is None else item.leader_epoch
            found[key_of(item)] = ottla.OffsetAndMetadata(
                item.offset, written(item.metadata), epoch
            )
    return found


def _partitions(offsets: Offsets, error: KafkaError | None = None) -> list[TopicPartition]:
    return [
        topic_partition(
            topic, partition, offset.offset, metadata=returned(offset.metadata), error=error
        )
        for (topic, partition), offset in offsets.items()
    ]


class Commits:
    """The commits of one consumer.

    Args:
        settings: the consumer's settings.
        consumer: the ottla consumer.
        store: its offsets.
    """

    def __init__(self, settings: Settings, consumer: ottla.Consumer, store: OffsetStore) -> None:
        self._settings = settings
        self._consumer = consumer
        self._store = store
        self._results: deque[tuple[KafkaError | None, list[TopicPartition]]] = deque()
        self._closed = threading.Event()
        if settings.auto_commit and settings.auto_commit_interval > 0:
            arguments = (weakref.ref(self), self._closed, settings.auto_commit_interval)
            threading.Thread(target=_commit_regularly, args=arguments, daemon=True).start()

    def commit(self, offsets: Offsets | None) -> list[TopicPartition]:
        """Commit, and wait for the result.

        Args:
            offsets: the offsets; None for what is stored.
        """
        wanted = self._store.to_commit() if offsets is None else offsets
        if not wanted:
            raise failure(KafkaError._NO_OFFSET, f"Commit failed: {text_of(KafkaError._NO_OFFSET)}")
        if not self._settings.has_brokers:
            raise failure(KafkaError._TIMED_OUT, "no broker is configured")
        try:
            self._consumer.commit(wanted)
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        self._store.committed(wanted)
        return _partitions(wanted)

    def commit_async(self, offsets: Offsets | None, asked: list[TopicPartition]) -> None:
        """Commit without waiting; a poll calls ``on_commit``."""
        wanted = self._store.to_commit() if offsets is None else offsets
        if not wanted:
            error = KafkaError(KafkaError._NO_OFFSET)
            failed = [
                topic_partition(item.topic, item.partition, item.offset, error=error)
                for item in asked
            ]
            self._results.append((error, failed))
            return
        try:
            self._consumer.commit_async(wanted, self._committed)
        except errors.KafkaError as error:
            raise kafka_exception(error) from error

    def commit_stored(self) -> None:
        """Commit what is stored without waiting, if there is any."""
        wanted = self._store.to_commit()
        if wanted and not self._consumer.closed:
            try:
                self._consumer.commit_async(wanted, self._committed)
            except errors.KafkaError as error:
                _LOG.warning("stored offsets were not committed: %s", error)

    def commit_before_giving_up(self, keys: Iterable[Key]) -> None:
        """Commit what is stored of partitions that another member will own."""
        wanted = self._store.to_commit(keys)
        if not self._settings.auto_commit or not wanted:
            return
        try:
            self._consumer.commit(wanted, timeout=10.0)
        except errors.KafkaError as error:
            _LOG.warning("stored offsets were not committed: %s", error)
            self._results.append((kafka_error(error), _partitions(wanted, kafka_error(error))))
        else:
            self._store.committed(wanted)
            self._results.append((None, _partitions(wanted)))

    def serve(self) -> int:
        """Call ``on_commit`` for commits that have ended, and return their number."""
        served = 0
        while self._results:
            error, partitions = self._results.popleft()
            if self._settings.on_commit is not None:
                served += 1
                self._settings.on_commit(error, partitions)
        return served

    def close(self) -> None:
        """Stop committing by itself."""
        self._closed.set()

    def _committed(self, error: errors.KafkaError | None, offsets: Offsets) -> None:
        if error is None:
            self._store.committed(offsets)
            self._results.append((None, _partitions(offsets)))
        else:
            failed = kafka_error(error)
            self._results.append((failed, _partitions(offsets, failed)))


def _commit_regularly(
    commits: weakref.ref[Commits], closed: threading.Event, interval: float
) -> None:
    """Commit stored offsets until the consumer is closed or gone."""
    while not closed.wait(interval):
        found = commits()
        if found is None:
            return
        found.commit_stored()
        del found
