"""The offsets of what was handled and is not committed yet, and their commits.

Invariants: a commit never passes a record that is not handled; a commit that failed is repeated by
the next one, and one that cannot be made any more is a warning, since the records are read again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

from ottla import errors
from ottla._core import OffsetAndMetadata
from ottla._internal.steps import Steps
from ottla.processing.failure_log import FailureLog
from ottla.processing.held_records import Partition

__all__ = ["HandledOffsets"]

_logger = logging.getLogger("ottla.processing")

# How long the last commit of a processor that fails may take, in seconds.
_LAST_COMMIT = 5.0


class HandledOffsets:
    """The offsets to commit.

    Args:
        consumer: the consumer.
        log: reports failures.
    """

    def __init__(self, consumer: Any, log: FailureLog) -> None:
        self._consumer, self._log = consumer, log
        self._offsets: dict[Partition, OffsetAndMetadata] = {}

    def add(self, partition: Partition, offset: OffsetAndMetadata) -> None:
        """Let the next commit include an offset."""
        self._offsets[partition] = offset

    def drop(self, partition: Partition) -> None:
        """Forget a partition: it was committed otherwise, or belongs to another member."""
        self._offsets.pop(partition, None)

    def commit(self, **options: float) -> Steps:
        """Commit all offsets."""
        if not (offsets := dict(self._offsets)):
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
            self._offsets.clear()

    def commit_revoked(self, partitions: Iterable[Partition]) -> Steps:
        """Commit the offsets of partitions that are given up."""
        if mine := {each: self._offsets[each] for each in partitions if each in self._offsets}:
            try:
                yield partial(self._consumer.commit, mine)
            except errors.KafkaError as error:
                _logger.warning("records may be handled again, the commit failed: %s", error)

    def commit_last(self) -> Steps:
        """Commit all offsets of a processor that fails."""
        try:
            yield from self.commit(timeout=_LAST_COMMIT)
        except errors.KafkaError as error:
            # The exception that ends the processor is raised, and says more.
            _logger.warning("records may be handled again, the commit failed: %s", error)
