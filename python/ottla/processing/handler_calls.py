"""Calls of the handler: what it is called with, and which records have failed.

Invariant: an exception of the handler, of a deserializer, or a header that cannot be, is of its
records, unless its class ends the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ottla import errors
from ottla._core import Record
from ottla._internal.steps import Steps
from ottla._internal.user_functions import UserFunction
from ottla.processing.failed_records import FailedRecords
from ottla.processing.held_records import Item
from ottla.processing.letter_headers import own_headers
from ottla.processing.processing_metrics import Counts

__all__ = ["HANDLER", "HandlerCalls", "Outcome"]

HANDLER = UserFunction("handler", "Processor", "AsyncProcessor")


@dataclass
class Outcome:
    """What came of a call.

    Attributes:
        failures: the exceptions by the index of the item.
        called: the number of records that the handler was called with; 0 for no call.
        is_whole: whether one exception of the handler failed all of them.
        seconds: how long the handler took.
        error: what ended the call, or the transaction, in place of a record's failure.
        is_aborted: whether the transaction was aborted and is repeated.
    """

    failures: dict[int, Exception] = field(default_factory=dict)
    called: int = 0
    is_whole: bool = False
    seconds: float = 0.0
    error: BaseException | None = None
    is_aborted: bool = False

    def forget(self) -> None:
        """Drop the exceptions: the frames in the traceback of one that goes on hold this."""
        self.failures.clear()
        self.error = None


class HandlerCalls:
    """Calls a handler.

    Args:
        handler: the handler.
        decode: makes its keys and values.
        is_batch: whether it takes a list of records.
        counts: counts the calls.
    """

    def __init__(
        self,
        handler: Callable[[Any], Any],
        decode: Callable[[Record[Any, Any]], Any],
        counts: Counts,
        *,
        is_batch: bool,
    ) -> None:
        self._handler, self._decode = handler, decode
        self._counts, self._is_batch = counts, is_batch
        self.attempt = 0

    def call(self, items: Sequence[Item], outcome: Outcome) -> Steps:
        """Call the handler with the records that are for it, and fill in what came of it."""
        records, indexes = [], []
        for index, item in enumerate(items):
            if item.is_foreign:
                continue
            try:
                _check_origin(item)
                records.append((yield partial(self._decode, _original(item))))
                indexes.append(index)
            except errors.SerializationError as error:
                outcome.failures[index] = error
        if not records:
            return
        self.attempt = max(items[index].origin.attempts for index in indexes) + 1
        outcome.called = len(records)
        began = time.monotonic()
        try:
            returned = yield partial(self._handler, records if self._is_batch else records[0])
            HANDLER.check_returned(returned)
        except FailedRecords as error:
            for index, failure in error.failures.items():
                if not (self._is_batch and 0 <= index < len(records)):
                    raise
                outcome.failures[indexes[index]] = failure
        except Exception as error:  # noqa: BLE001 - the policy decides
            outcome.is_whole = True
            outcome.failures.update(dict.fromkeys(indexes, error))
        finally:
            outcome.seconds = time.monotonic() - began
            self._counts.called(len(records), outcome.seconds)


def _check_origin(item: Item) -> None:
    """Raise if a record in a retry topic says that it is from another topic than the retry topic's.

    The handler would take it for what it is not: its headers were forged, or a processor of the
    same group, but with other topics, writes to this retry topic. It must not be lost either.
    """
    if item.root not in {None, item.origin.topic} and item.origin.topic != item.polled.topic:
        raise errors.SerializationError(
            f"headers: {item.polled.topic} has the records of {item.root} that failed, but this "
            f"one says that it is from {item.origin.topic}; each processor needs its own retry "
            "topics"
        )


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
