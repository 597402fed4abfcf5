"""The steps of ``transform`` and ``transform_async``: one generator, which yields calls.

Invariants: the records that a function
returns and the offsets of the records that it was given are committed in one transaction, or not at
all. A transaction that failed is repeated from the committed offsets. An exception of the function
commits nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from ottla import errors
from ottla._internal.arguments import integer
from ottla._internal.steps import Steps, abort, commit, commit_starts
from ottla._internal.user_functions import UserFunction

__all__ = ["FUNCTION", "StopFlag", "TransformSummary", "Transformation"]

FUNCTION = UserFunction("function", "transform", "transform_async")

_logger = logging.getLogger("ottla.transform")

# How long a poll waits for records, and thus how long stopping takes, in seconds.
_POLL_TIMEOUT = 0.5
# How often in a row a transaction is repeated, and the pauses in seconds.
_ATTEMPTS = 10
_PAUSE, _LONGEST_PAUSE = 0.1, 5.0

Function = Callable[[Any], Any]


class StopFlag(Protocol):
    """A flag that ends a transformation: a ``threading.Event`` or an ``asyncio.Event``."""

    def is_set(self) -> bool:
        """Return whether to end after the current transaction."""


@dataclass
class TransformSummary:
    """The outcome of a transformation.

    Attributes:
        records: the number of input records whose transactions were committed.
        outputs: the number of records that were committed for them. With Arrow, the number of
            batches.
        transactions: the number of committed transactions.
        aborted: the number of transactions that failed and were repeated.
    """

    records: int = 0
    outputs: int = 0
    transactions: int = 0
    aborted: int = 0


class Transformation:
    """The steps of a transformation, for clients of either API."""

    def __init__(
        self,
        consumer: Any,
        producer: Any,
        function: Function,
        output: str,
        stop: StopFlag,
        *,
        arrow: bool,
        max_records: int | None,
        commit_timeout: float,
        sleep: Callable[[float], Any],
    ) -> None:
        self._consumer, self._producer = consumer, producer
        self._function, self._output, self._stop = function, output, stop
        self._sleep, self._commit_timeout = sleep, commit_timeout
        limit = {}
        if max_records is not None:
            name = "max_rows" if arrow else "max_records"
            limit[name] = integer("max_records", max_records)
        poll = consumer.poll_arrow if arrow else consumer.poll
        self._poll = partial(poll, timeout=_POLL_TIMEOUT, **limit)
        # Not the method: it would refer to this object, and keep both clients until a collection.
        self._is_arrow = arrow
        self._summary = TransformSummary()

    def run(self) -> Steps:
        """Transform records until the flag is set."""
        yield self._producer.init_transactions
        failures = 0
        while not self._stop.is_set():
            polled = yield self._poll
            if polled is None or (isinstance(polled, list) and not polled):
                continue
            try:
                yield from self._transaction(polled)
            except (errors.TransactionAbortableError, errors.CommitFailedError) as error:
                self._summary.aborted += 1
                failures += 1
                if failures == _ATTEMPTS:
                    raise
                _logger.warning("the transaction is repeated: %s", error)
                yield partial(self._sleep, min(_PAUSE * 2.0**failures, _LONGEST_PAUSE))
                yield from self._rewind()
            else:
                failures = 0
        return self._summary

    def commit_starts(self, partitions: Sequence[tuple[str, int]]) -> Steps:
        """Commit the positions of partitions without a committed offset."""
        yield from commit_starts(self._consumer, partitions)

    def _transaction(self, polled: Any) -> Steps:
        self._producer.begin_transaction()
        try:
            process = self._batch if self._is_arrow else self._records
            counts = yield from process(polled)
            offsets = partial(self._producer.send_offsets_to_transaction, None, self._consumer)
            yield offsets
            yield from commit(self._producer, _logger, self._commit_timeout)
        except GeneratorExit:
            # The caller gave up the steps: none can follow.
            raise
        except BaseException as error:
            if not getattr(error, "fatal", False):
                yield from abort(self._producer, _logger)
            raise
        self._summary.records += counts[0]
        self._summary.outputs += counts[1]
        self._summary.transactions += 1

    def _records(self, records: Sequence[Any]) -> Steps:
        sent = 0
        for record in records:
            returned = yield partial(self._function, record)
            FUNCTION.check_returned(returned)
            for output in _outputs(returned):
                self._producer.send(self._output, **output)
                sent += 1
        return len(records), sent

    def _batch(self, batch: Any) -> Steps:
        returned = yield partial(self._function, batch)
        FUNCTION.check_returned(returned)
        if returned is not None:
            yield partial(self._producer.send_batch, self._output, returned)
        return batch.num_rows, int(returned is not None)

    def _rewind(self) -> Steps:
        partitions = self._consumer.assignment()
        if partitions:
            committed = yield partial(self._consumer.committed, *partitions)
            for (topic, partition), offset in committed.items():
                if offset is not None:
                    self._consumer.seek(topic, partition, offset.offset)


def _outputs(returned: Any) -> Iterable[dict[str, Any]]:
    """Return what the function returned as arguments of ``send``."""
    if returned is None:
        return ()
    if isinstance(returned, list):
        return [_output(output) for output in returned]
    return (_output(returned),)


def _output(output: Any) -> dict[str, Any]:
    if isinstance(output, tuple):
        if len(output) != 2:
            raise TypeError(f"a tuple of {len(output)} was returned: expected (key, value)")
        return {"key": output[0], "value": output[1]}
    if isinstance(output, dict):
        return output
    return {"value": output}
