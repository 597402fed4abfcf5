"""The steps of a processor: poll, handle, write what failed, commit.

One generator for blocking and asyncio clients. Invariants: a record that failed was acknowledged in
its next topic before its offset is committed, or both are one transaction; a commit never passes a
record that is not handled; while records wait, the consumer polls on with their partitions paused.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ottla import errors
from ottla._core import OffsetAndMetadata, Record
from ottla._internal.steps import Steps, abort, commit, commit_starts
from ottla.processing.failed_records import FailedRecords
from ottla.processing.failed_writes import FailedWrites
from ottla.processing.failure_log import FailureLog
from ottla.processing.held_records import HeldRecords, Item, Partition
from ottla.processing.letter_headers import Origin, own_headers, read_origin
from ottla.processing.processing_metrics import ProcessingMetrics
from ottla.processing.retry_policy import RetryPolicy

__all__ = ["Engine", "Settings"]

_logger = logging.getLogger("ottla.processing")

# How long a poll waits for records, and thus how long stopping takes, in seconds.
_POLL_TIMEOUT = 0.5
# How long records are handled before the next poll and commit, in seconds.
_ROUND = 5.0
# How often in a row a transaction is repeated, and the pauses in seconds.
_ATTEMPTS = 10
_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# How long the last commit of a processor that fails may take, in seconds.
_LAST_COMMIT = 5.0

Decode = Callable[[Record[Any, Any]], Any]


class _Flag(Protocol):
    def is_set(self) -> bool:
        """Return whether to end."""


@dataclass(frozen=True)
class Settings:
    """What a processor was created with."""

    handler: Callable[[Any], Any]
    topics: Sequence[str]
    policy: RetryPolicy
    batch: bool
    exactly_once: bool
    max_records: int
    max_poll_interval: float
    decode: Decode
    describe: Callable[[BaseException], str]
    stop: _Flag


class Engine:
    """The steps of a processor, for clients of either API."""

    def __init__(
        self, settings: Settings, consumer: Any, producer: Any, send: Any, sleep: Any
    ) -> None:
        self._settings, self._policy = settings, settings.policy
        self._consumer, self._producer = consumer, producer
        self._sleep = sleep
        self._held = HeldRecords(consumer)
        self._handled: dict[Partition, OffsetAndMetadata] = {}
        # In place of headers, where records wait in their own partition.
        self._attempts: dict[Partition, tuple[int, int]] = {}
        self._roots = {
            retry: (topic, delay)
            for topic in settings.topics
            for retry, delay in zip(
                self._policy.retry_topics(topic), self._policy.delays, strict=False
            )
        }
        self._log = FailureLog(_logger)
        self._aborted = 0
        self._counts = {"attempt": 0, "failure": 0, "retry": 0, "dead-letter": 0}
        roots = {retry: topic for retry, (topic, _) in self._roots.items()}
        self._writes = FailedWrites(
            self._policy,
            roots,
            send,
            settings.describe,
            self._log,
            self._counts,
            is_transactional=settings.exactly_once,
        )
        self.attempt = 0

    @property
    def read_topics(self) -> list[str]:
        """The topics to subscribe to."""
        return [*self._settings.topics, *self._roots]

    def metrics(self) -> ProcessingMetrics:
        """Return the counts, and how many records wait; from any thread."""
        lags = {} if self._consumer.closed else self._consumer.lag()
        behind = sum(lag or 0 for (topic, _), lag in lags.items() if topic in self._roots)
        waiting = self._held.count(self._roots) + len(self._attempts)
        return {
            "record-attempt-total": float(self._counts["attempt"]),
            "record-failure-total": float(self._counts["failure"]),
            "record-retry-total": float(self._counts["retry"]),
            "record-dead-letter-total": float(self._counts["dead-letter"]),
            "records-waiting": float(behind + waiting),
        }

    def assigned(self, partitions: Sequence[Partition]) -> Steps:
        """Take over partitions."""
        committed = yield from commit_starts(self._consumer, partitions)
        for partition, offset in committed.items():
            if self._policy.is_in_place and offset is not None:
                attempts, seconds = _read_metadata(offset.metadata)
                if attempts:
                    self._attempts[partition] = (offset.offset, attempts)
                    longest = max(self._policy.delays, default=0.0)
                    self._held.wait(partition, offset.offset, min(seconds, longest))

    def revoked(self, partitions: Sequence[Partition]) -> Steps:
        """Commit what was handled, and give up partitions."""
        mine = {each: self._handled[each] for each in partitions if each in self._handled}
        if mine:
            try:
                yield partial(self._consumer.commit, mine)
            except errors.KafkaError as error:
                _logger.warning("records may be handled again, the commit failed: %s", error)
        self.lost(partitions)

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Forget partitions."""
        self._held.drop(partitions)
        for partition in partitions:
            self._handled.pop(partition, None)
            self._attempts.pop(partition, None)

    def run(self) -> Steps:
        """Process records until the flag is set."""
        try:
            if self._settings.exactly_once:
                yield self._producer.init_transactions
            while not self._settings.stop.is_set():
                yield from self._round()
        except GeneratorExit:
            # The caller gave up the steps: none can follow.
            raise
        except BaseException:
            yield from self._last_commit()
            raise
        finally:
            self._log.close()

    def _round(self) -> Steps:
        self._held.pause()
        timeout = self._held.seconds_to_next(_POLL_TIMEOUT)
        limit = self._settings.max_records
        self._held.add((yield partial(self._consumer.poll, timeout=timeout, max_records=limit)))
        # Half of the interval is left for the handler of the last record.
        deadline = time.monotonic() + min(_ROUND, self._settings.max_poll_interval / 2)
        while ready := self._held.ready():
            for partition in ready:
                if self._settings.stop.is_set() or time.monotonic() > deadline:
                    break
                yield from self._step(partition)
            else:
                continue
            break
        yield from self._commit()
        self._log.check()

    def _step(self, partition: Partition) -> Steps:
        limit = self._settings.max_records if self._settings.batch else 1
        items = self._held.take(partition, limit, self._item, self._seconds_to_wait)
        if not items:
            return
        if not self._settings.exactly_once:
            failures, _ = yield from self._call(items)
            if (yield from self._write(partition, items, failures)):
                self._advance(partition, items)
            return
        try:
            if (yield from self._transaction(partition, items)):
                self._advance(partition, items)
                # The transaction has committed it.
                self._handled.pop(partition, None)
        except (errors.TransactionAbortableError, errors.CommitFailedError) as error:
            self._aborted += 1
            if self._aborted == _ATTEMPTS:
                raise
            self._log.failed("transactions", f"the transaction is repeated: {error}")
            yield partial(self._sleep, min(_PAUSE * 2.0**self._aborted, _LONGEST_PAUSE))
        else:
            self._aborted = 0

    def _transaction(self, partition: Partition, items: Sequence[Item]) -> Steps:
        self._producer.begin_transaction()
        try:
            failures, is_whole = yield from self._call(items)
            if is_whole:
                # What the handler has sent before it failed goes with its attempt.
                yield from abort(self._producer, _logger)
                self._producer.begin_transaction()
            if not (yield from self._write(partition, items, failures)):
                yield from abort(self._producer, _logger)
                return False
            offsets = {partition: _offset_after(items[-1])}
            yield partial(self._producer.send_offsets_to_transaction, offsets, self._consumer)
            yield from commit(self._producer, _logger)
        except GeneratorExit:
            # The caller gave up the steps: none can follow.
            raise
        except BaseException as error:
            if not getattr(error, "fatal", False):
                yield from abort(self._producer, _logger)
            raise
        return True

    def _item(self, record: Any) -> Item:
        if record.topic in self._roots:
            origin = read_origin(record)
            return Item(record, origin, origin.group not in {None, self._policy.group})
        partition = (record.topic, record.partition)
        offset, attempts = self._attempts.get(partition, (-1, 0))
        attempts = attempts if offset == record.offset else 0
        place = (record.topic, record.partition, record.offset, record.timestamp)
        return Item(record, Origin(*place, attempts), is_foreign=False)

    def _seconds_to_wait(self, item: Item) -> float:
        if item.is_foreign or item.polled.topic not in self._roots:
            partition = (item.polled.topic, item.polled.partition)
            # In place, the time is known since the failure or the assignment.
            is_waiting = self._attempts.get(partition, (-1, 0))[0] == item.polled.offset
            return 0.0 if not is_waiting else self._held.seconds_left(partition)
        delay = self._roots[item.polled.topic][1]
        retry_at = item.origin.retry_at
        due = item.polled.timestamp / 1000 + delay if retry_at is None else retry_at / 1000
        # A clock that is wrong elsewhere costs no more than the delay.
        return min(due - time.time(), delay)

    def _call(self, items: Sequence[Item]) -> Steps:
        """Call the handler; return the failures by index, and whether all are of one exception."""
        failures: dict[int, Exception] = {}
        records, indexes = [], []
        for index, item in enumerate(items):
            if item.is_foreign:
                continue
            try:
                records.append((yield partial(self._settings.decode, _original(item))))
                indexes.append(index)
            except errors.SerializationError as error:
                failures[index] = error
        is_whole = False
        if records:
            self.attempt = max(items[index].origin.attempts for index in indexes) + 1
            self._counts["attempt"] += len(records)
            argument = records if self._settings.batch else records[0]
            try:
                yield partial(self._settings.handler, argument)
            except FailedRecords as error:
                for index, failure in error.failures.items():
                    if not (self._settings.batch and 0 <= index < len(records)):
                        raise
                    failures[indexes[index]] = failure
            except Exception as error:  # noqa: BLE001 - the policy decides
                is_whole = True
                failures.update(dict.fromkeys(indexes, error))
        for failure in failures.values():
            if self._policy.action(failure) == "stop":
                raise failure
        return failures, is_whole

    def _write(
        self, partition: Partition, items: Sequence[Item], failures: Mapping[int, Exception]
    ) -> Steps:
        """Write what failed to the next topics; return whether the records are dealt with."""
        for index, error in sorted(failures.items()):
            if not (yield from self._settle(partition, items[index], error)):
                return False
        return True

    def _settle(self, partition: Partition, item: Item, error: Exception) -> Steps:
        attempts = item.origin.attempts + 1
        is_retried = self._policy.is_retried(error, attempts)
        if not (is_retried and self._policy.is_in_place):
            return (yield from self._writes.write(item, error))
        delay = self._policy.delays[attempts - 1]
        self._wait_in_place(partition, item.polled.offset, attempts, delay)
        self._writes.report(item, error, f"its partition waits for {delay:g} s")
        return False

    def _wait_in_place(self, where: Partition, offset: int, attempts: int, delay: float) -> None:
        self._counts["failure"] += 1
        self._counts["retry"] += 1
        self._attempts[where] = (offset, attempts)
        self._held.wait(where, offset, delay)
        self._handled[where] = OffsetAndMetadata(offset, _metadata(attempts, delay))

    def _advance(self, partition: Partition, items: Sequence[Item]) -> None:
        self._held.handled(partition, len(items))
        self._attempts.pop(partition, None)
        self._handled[partition] = _offset_after(items[-1])

    def _commit(self, **options: float) -> Steps:
        if not (offsets := dict(self._handled)):
            return
        try:
            yield partial(self._consumer.commit, offsets, **options)
        except errors.CommitFailedError as error:
            # The next poll reports which partitions are lost.
            self._log.failed("commits", f"records may be handled again: {error}")
        except errors.KafkaError as error:
            if not error.retriable:
                raise
            self._log.failed("commits", f"the commit is repeated: {error}")
        else:
            self._log.ended("commits")
            self._handled.clear()

    def _last_commit(self) -> Steps:
        try:
            yield from self._commit(timeout=_LAST_COMMIT)
        except errors.KafkaError as error:
            # The exception that ends the processor is raised, and says more.
            _logger.warning("records may be handled again, the commit failed: %s", error)


def _original(item: Item) -> Record[bytes | None, bytes | None]:
    """Return a record as it was first read."""
    record, origin = item.polled, item.origin
    if (record.topic, record.partition, record.offset) == (
        origin.topic,
        origin.partition,
        origin.offset,
    ):
        return record
    return Record(
        origin.topic,
        origin.partition,
        origin.offset,
        timestamp=origin.timestamp,
        timestamp_type=record.timestamp_type,
        key=record.key,
        value=record.value,
        headers=own_headers(record.headers),
    )


def _offset_after(item: Item) -> OffsetAndMetadata:
    return OffsetAndMetadata(item.polled.offset + 1, "", item.polled.leader_epoch)


def _metadata(attempts: int, delay: float) -> str:
    at = round((time.time() + delay) * 1000)
    return json.dumps({"ottla.processing": {"attempts": attempts, "at": at}})


def _read_metadata(text: str | None) -> tuple[int, float]:
    """Return the attempts and the seconds to wait of a committed offset; 0 if it has none."""
    try:
        found = json.loads(text or "null")["ottla.processing"]
        attempts, seconds = int(found["attempts"]), found["at"] / 1000 - time.time()
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        return 0, 0.0
    # A time that is no number would never come.
    return (attempts, seconds) if attempts > 0 and math.isfinite(seconds) else (0, 0.0)
