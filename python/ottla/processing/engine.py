"""The steps of a processor: poll, handle, write what failed, commit.

One generator for blocking and asyncio clients. Invariants: a record that failed was acknowledged in
its next topic before its offset is committed, or both are one transaction; a commit never passes a
record that is not handled; while records wait, the consumer polls on with their partitions paused.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from ottla import errors
from ottla._internal.steps import Steps, abort, commit, commit_starts
from ottla.processing.failed_writes import FailedWrites
from ottla.processing.failure_log import FailureLog
from ottla.processing.handled_offsets import HandledOffsets
from ottla.processing.handler_calls import HandlerCalls, Outcome
from ottla.processing.held_records import HeldRecords, Item, Partition
from ottla.processing.letter_headers import Origin, read_origin
from ottla.processing.observing import HandledRecords
from ottla.processing.offset_metadata import offset_after, offset_of_waiting, read_attempts
from ottla.processing.processing_metrics import Counts, ProcessingMetrics
from ottla.processing.settings import Settings

__all__ = ["Engine"]

_logger = logging.getLogger("ottla.processing")

# How long a poll waits for records, and thus how long stopping takes, in seconds.
_POLL_TIMEOUT = 0.5
# How long records are handled before the next poll and commit, in seconds.
_ROUND = 5.0
# How often in a row a transaction is repeated, and the pauses in seconds.
_ATTEMPTS = 10
_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Engine:
    """The steps of a processor, for clients of either API."""

    def __init__(
        self, settings: Settings, consumer: Any, producer: Any, send: Any, sleep: Any
    ) -> None:
        self._settings, self._policy = settings, settings.policy
        self._consumer, self._producer = consumer, producer
        self._sleep = sleep
        self._held = HeldRecords(consumer)
        self._log = FailureLog(_logger)
        self._handled = HandledOffsets(consumer, self._log)
        # In place of headers, where records wait in their own partition.
        self._attempts: dict[Partition, tuple[int, int]] = {}
        self._roots = {
            retry: (topic, delay)
            for topic in settings.topics
            for retry, delay in zip(
                self._policy.retry_topics(topic), self._policy.delays, strict=False
            )
        }
        # The transactions in a row that were aborted.
        self._aborted: dict[Partition, int] = {}
        self._counts = Counts()
        self._calls = HandlerCalls(
            settings.handler, settings.decode, self._counts, is_batch=settings.batch
        )
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

    @property
    def attempt(self) -> int:
        """The number of the attempt in hand."""
        return self._calls.attempt

    @property
    def read_topics(self) -> list[str]:
        """The topics to subscribe to."""
        return [*self._settings.topics, *self._roots]

    def metrics(self) -> ProcessingMetrics:
        """Return the counts, and how many records wait; from any thread."""
        lags: dict[Partition, int | None] = {}
        # The run may end meanwhile, and closes the consumer.
        with contextlib.suppress(errors.ClosedError):
            lags = self._consumer.lag()
        behind = sum(lag or 0 for (topic, _), lag in lags.items() if topic in self._roots)
        waiting = self._held.count(self._roots) + len(self._attempts)
        left, blocked = self._held.first_due(), len(self._attempts)
        return self._counts.metrics(behind + waiting, blocked, left)

    def assigned(self, partitions: Sequence[Partition]) -> Steps:
        """Take over partitions."""
        committed = yield from commit_starts(self._consumer, partitions)
        for partition, offset in committed.items():
            if self._policy.is_in_place and offset is not None:
                attempts, seconds = read_attempts(offset.metadata)
                if attempts:
                    self._attempts[partition] = (offset.offset, attempts)
                    longest = max(self._policy.delays, default=0.0)
                    self._held.wait(partition, offset.offset, min(seconds, longest))

    def revoked(self, partitions: Sequence[Partition]) -> Steps:
        """Commit what was handled, and give up partitions."""
        yield from self._handled.commit_revoked(partitions)
        self.lost(partitions)

    def lost(self, partitions: Sequence[Partition]) -> None:
        """Forget partitions."""
        self._held.drop(partitions)
        for partition in partitions:
            self._handled.drop(partition)
            self._attempts.pop(partition, None)
            self._aborted.pop(partition, None)

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
            yield from self._handled.commit_last()
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
        yield from self._handled.commit()
        self._log.check()

    def _step(self, partition: Partition) -> Steps:
        limit = self._settings.max_records if self._settings.batch else 1
        items = self._held.take(partition, limit, self._item, self._seconds_to_wait)
        if not items:
            return
        outcome = Outcome()
        try:
            if self._settings.exactly_once:
                yield from self._exactly_once(partition, items, outcome)
            elif (yield from self._handle(partition, items, outcome)):
                self._advance(partition, items)
        except BaseException as error:
            outcome.error = error
            raise
        finally:
            self._report(items[0], outcome)
            outcome.forget()

    def _exactly_once(self, partition: Partition, items: Sequence[Item], outcome: Outcome) -> Steps:
        try:
            is_done = yield from self._transaction(partition, items, outcome)
        except (errors.TransactionAbortableError, errors.CommitFailedError) as error:
            aborted = self._aborted[partition] = self._aborted.get(partition, 0) + 1
            self._counts.aborted += 1
            if aborted == _ATTEMPTS:
                raise
            outcome.error, outcome.is_aborted = error, True
            self._log.failed("transactions", f"the transaction is repeated: {error}")
            yield partial(self._sleep, min(_PAUSE * 2.0**aborted, _LONGEST_PAUSE))
            return
        self._aborted.pop(partition, None)
        if is_done:
            self._advance(partition, items)
            # The transaction has committed it.
            self._handled.drop(partition)

    def _transaction(self, partition: Partition, items: Sequence[Item], outcome: Outcome) -> Steps:
        self._producer.begin_transaction()
        try:
            if not (yield from self._handle(partition, items, outcome)):
                if not self._policy.is_in_place:
                    self._forget()
                yield from abort(self._producer, _logger)
                return False
            offsets = {partition: offset_after(items[-1])}
            yield partial(self._producer.send_offsets_to_transaction, offsets, self._consumer)
            yield from commit(self._producer, _logger, self._settings.commit_timeout)
        except GeneratorExit:
            # The caller gave up the steps: none can follow.
            raise
        except BaseException as error:
            self._forget()
            if not getattr(error, "fatal", False):
                yield from abort(self._producer, _logger)
            raise
        return True

    def _handle(self, partition: Partition, items: Sequence[Item], outcome: Outcome) -> Steps:
        """Call the handler, and write what failed; return whether the records are dealt with."""
        yield from self._calls.call(items, outcome)
        for failure in outcome.failures.values():
            if self._policy.action(failure) == "stop":
                try:
                    raise failure
                finally:
                    # Its traceback has this frame: the cycle would keep both clients.
                    del failure
        if outcome.is_whole and self._settings.exactly_once:
            # What the handler has sent before it failed goes with its attempt.
            yield from abort(self._producer, _logger)
            self._producer.begin_transaction()
        for index, error in sorted(outcome.failures.items()):
            if not (yield from self._settle(partition, items[index], error)):
                return False
        mine = sum(not item.is_foreign for item in items)
        self._counts.add("success", mine - len(outcome.failures))
        return True

    def _forget(self) -> None:
        """Forget what a transaction would have done: it is aborted."""
        self._counts.drop()
        self._writes.drop()

    def _report(self, item: Item, outcome: Outcome) -> None:
        """Count what came of records, and report it."""
        self._writes.settle()
        settled = self._counts.settle()
        if not outcome.called and not outcome.failures:
            return
        self._settings.observers.on_handled(
            HandledRecords(
                item.polled.topic,
                item.polled.partition,
                self.attempt,
                outcome.called,
                outcome.seconds,
                settled.get("success", 0),
                settled.get("retry", 0),
                settled.get("dead-letter", 0),
                outcome.error or next(iter(outcome.failures.values()), None),
                outcome.is_aborted,
            )
        )

    def _item(self, record: Any) -> Item:
        if record.topic in self._roots:
            origin = read_origin(record)
            is_foreign = origin.group not in {None, self._policy.group}
            return Item(record, origin, is_foreign, self._roots[record.topic][0])
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
        self._counts.add("failure")
        self._counts.add("retry")
        self._attempts[where] = (offset, attempts)
        self._held.wait(where, offset, delay)
        self._handled.add(where, offset_of_waiting(offset, attempts, delay))

    def _advance(self, partition: Partition, items: Sequence[Item]) -> None:
        self._held.handled(partition, len(items))
        self._attempts.pop(partition, None)
        self._handled.add(partition, offset_after(items[-1]))
