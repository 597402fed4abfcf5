"""Writes records that failed to their retry topic or to the dead letters.

Invariant: a record that no topic takes is an error that ends the run; it is never dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ottla import errors
from ottla._internal.steps import Steps
from ottla._internal.text import clean
from ottla.processing.failure_log import FailureLog
from ottla.processing.held_records import Item
from ottla.processing.letter_headers import Failure, Origin, describe, headers_of
from ottla.processing.processing_metrics import Counts
from ottla.processing.retry_policy import RetryPolicy

__all__ = ["FailedWrites"]

# The longest name of a topic that Kafka allows.
_MAX_TOPIC = 249


class FailedWrites:
    """Writes failed records.

    Args:
        policy: the topics and delays.
        roots: the topic whose records are in a retry topic, by retry topic.
        send: sends a record and waits until it is acknowledged.
        text: makes the message of an exception.
        log: reports failures.
        counts: counts failures, retries and dead letters.
        is_transactional: whether a write that fails aborts a transaction.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        roots: Mapping[str, str],
        send: Callable[..., Any],
        text: Callable[[BaseException], str],
        log: FailureLog,
        counts: Counts,
        *,
        is_transactional: bool,
    ) -> None:
        self._policy, self._roots = policy, roots
        self._send, self._text, self._log, self._counts = send, text, log, counts
        self._is_transactional = is_transactional
        # Records that are too large for their retry topic, by topic, partition and offset.
        self._too_large: set[tuple[str, int, int]] = set()
        # What was not reported yet, since its transaction may be aborted.
        self._reports: list[tuple[str, str]] = []

    def write(self, item: Item, error: Exception) -> Steps:
        """Write a record; return False if the transaction must be aborted and repeated."""
        attempts = item.origin.attempts + 1
        origin = replace(item.origin, attempts=attempts, group=self._policy.group, retry_at=None)
        failure = describe(error, self._text)
        place = (item.polled.topic, item.polled.partition, item.polled.offset)
        topic = None
        if self._policy.is_retried(error, attempts) and place not in self._too_large:
            topic = yield from self._retry(item, origin, failure)
            if topic is None:
                self._too_large.add(place)
                if self._is_transactional:
                    return False
        if topic is None:
            if place in self._too_large:
                text = f"too large for its retry topic; {failure.message}"
                failure = replace(failure, message=text)
            topic = yield from self._bury(item, origin, failure, error)
            self._too_large.discard(place)
        self._counts.add("failure")
        self.report(item, error, f"it was written to {topic}")
        return True

    def report(self, item: Item, error: Exception, outcome: str) -> None:
        """Report a failure, and what becomes of the record, once that is settled."""
        failure, origin = describe(error, self._text), item.origin
        what = f"records of {self._root(item)} that fail with {failure.exception}"
        message = (
            f"the record of {_where(origin)} failed (attempt {origin.attempts + 1}): "
            f"{failure.exception}: {failure.message}; {outcome}"
        )
        self._reports.append((what, message))

    def settle(self) -> None:
        """Log what was reported since the last time, which is certain now."""
        reports, self._reports = self._reports, []
        for what, message in reports:
            self._log.failed(what, message)

    def drop(self) -> None:
        """Forget what was reported since the last time: its transaction was aborted."""
        self._reports = []

    def _retry(self, item: Item, origin: Origin, failure: Failure) -> Steps:
        """Write a record to its retry topic; return the topic, or None if it is too large."""
        topic = self._policy.retry_topics(self._root(item))[origin.attempts - 1]
        delay = self._policy.delays[origin.attempts - 1]
        due = replace(origin, retry_at=round((time.time() + delay) * 1000))
        try:
            yield from self._send_to(topic, item, due, failure)
        except errors.RecordTooLargeError:
            return None
        self._counts.add("retry")
        return topic

    def _bury(self, item: Item, origin: Origin, failure: Failure, error: Exception) -> Steps:
        """Write a record to the dead letters; return their topic."""
        topic = self._policy.dead_letters(self._root(item))
        try:
            yield from self._send_to(topic, item, origin, failure)
        except errors.RecordTooLargeError as refused:
            raise errors.RecordTooLargeError(
                f"the record of {_where(origin)} failed and is too large for {topic}: raise its "
                f"max.message.bytes, or max.request.size of the processor; {refused}"
            ) from error
        self._counts.add("dead-letter")
        return topic

    def _send_to(self, topic: str, item: Item, origin: Origin, failure: Failure) -> Steps:
        record = item.polled
        headers = headers_of(record.headers, origin, failure)
        yield partial(self._send, topic, record.value, record.key, headers=headers)

    def _root(self, item: Item) -> str:
        return self._roots.get(item.polled.topic, item.polled.topic)


def _where(origin: Origin) -> str:
    # The topic is a header, which anybody may have written.
    return f"{clean(origin.topic[:_MAX_TOPIC])}-{origin.partition} at offset {origin.offset}"
