"""Interceptors of processors: they see what came of each call of the handler.

Invariant: they are called once what came of a call is certain, in particular after its
transaction; an exception in one is logged and has no other effect.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.interceptors import _Chain

if TYPE_CHECKING:
    from ottla.processing.processing_metrics import ProcessingMetrics

__all__ = ["HandledRecords", "ProcessorChain", "ProcessorInterceptor"]


@dataclass(frozen=True)
class HandledRecords:
    """What came of one call of the handler, or of records that it could not be called with.

    Attributes:
        topic: the topic that the records were read from, which may be a retry topic.
        partition: its partition.
        attempt: the number of the attempt, from 1 on; the highest one of a batch.
        records: how many records the handler was called with; 0 if none could be decoded.
        seconds: how long the handler took.
        succeeded: how many records it has handled.
        retried: how many failed and wait for another attempt.
        dead_lettered: how many were written to a topic of dead letters.
        error: the first exception of a record, the one that ended the run, or the one that aborted
            the transaction; None for none.
        is_aborted: whether the transaction was aborted and is repeated; no record is counted then.
    """

    topic: str
    partition: int
    attempt: int
    records: int
    seconds: float
    succeeded: int
    retried: int
    dead_lettered: int
    error: BaseException | None
    is_aborted: bool


class ProcessorInterceptor:
    """The base class of a processor's interceptors; override the methods that you need."""

    def configure(
        self, configs: Mapping[str, str], metrics: Callable[[], ProcessingMetrics]
    ) -> None:
        """Learn which processor this is; called once, by its constructor.

        Args:
            configs: ``bootstrap.servers``, ``client.id`` and ``group.id``.
            metrics: ``Processor.metrics``, for any thread. A reference to it keeps the processor.
        """

    def on_handled(self, handled: HandledRecords) -> None:
        """Observe what came of a call; on the thread or event loop of ``run``."""


class ProcessorChain(_Chain):
    """The interceptors of a processor."""

    kind = ProcessorInterceptor
    required = ("on_handled",)
    logger = logging.getLogger("ottla.processing")

    def on_handled(self, handled: HandledRecords) -> None:
        """Report what came of a call."""
        self.call("on_handled", handled)
