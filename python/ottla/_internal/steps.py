"""Steps of calls that run for blocking and for asyncio clients: generators that yield calls.

``call_all`` makes the calls, ``await_all`` awaits them too. Invariant: an exception of a call is
raised in the generator, at the step that yielded it.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from ottla import errors

__all__ = ["Step", "Steps", "abort", "await_all", "call_all", "commit", "commit_starts"]

Step = Callable[[], Any]
Steps = Generator[Step, Any, Any]


def commit_starts(consumer: Any, partitions: Sequence[tuple[str, int]]) -> Steps:
    """Commit the positions of partitions without a committed offset.

    Otherwise the position would be determined anew after an abort or a crash, and with
    ``auto.offset.reset=latest`` the records that were in hand would be skipped.

    Returns:
        The offsets that were committed before, by partition; None for none.
    """
    if not partitions:
        return {}
    committed = yield partial(consumer.committed, *partitions)
    starts = {}
    for partition in partitions:
        if committed[partition] is None:
            starts[partition] = yield partial(consumer.position, *partition)
    if starts:
        # If the group rebalances again, the partitions' next owner commits their positions.
        with contextlib.suppress(errors.CommitFailedError):
            yield partial(consumer.commit, starts)
    return committed


def commit(producer: Any, logger: logging.Logger, timeout: float) -> Steps:
    """Commit a producer's transaction; wait until its outcome is known.

    Args:
        producer: the producer.
        logger: gets a warning for each wait of ``max.block.ms``.
        timeout: the seconds to wait at most: ``delivery.timeout.ms``.

    Raises:
        TimeoutError: the outcome is still unknown. It is fatal, and the producer is closed.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            yield producer.commit_transaction
        except errors.TimeoutError as error:
            # The commit continues; its outcome must be known before the next poll.
            if time.monotonic() < deadline:
                logger.warning("waiting for the commit: %s", error)
                continue
            unknown = errors.TimeoutError(
                f"the outcome of the transaction is unknown after {timeout:g} s "
                "(delivery.timeout.ms): it was committed, or none of it becomes visible; start "
                "again, from the committed offsets, once its coordinator responds; last failure: "
                f"{error}"
            )
            # An abort is not possible any more, and closing would wait for the same outcome.
            unknown.fatal = unknown.maybe_done = True
            with contextlib.suppress(errors.KafkaError):
                yield partial(producer.close, timeout=0)
            raise unknown from error
        else:
            return


def abort(producer: Any, logger: logging.Logger) -> Steps:
    """Abort a producer's transaction; an error is logged unless it is fatal."""
    try:
        yield producer.abort_transaction
    except errors.KafkaError as error:
        if error.fatal:
            raise
        # The exception that caused the abort is raised, and says more.
        logger.warning("aborting the transaction failed: %s", error)


def call_all(steps: Steps) -> Any:
    """Make the calls that the steps yield."""
    result: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                step = steps.send(result) if error is None else steps.throw(error)
            except StopIteration as done:
                return done.value
            try:
                result, error = step(), None
            except BaseException as raised:  # noqa: BLE001 - the steps handle it
                result, error = None, raised
    finally:
        # The traceback of the one that goes on has this frame.
        error = None


async def await_all(steps: Steps) -> Any:
    """Make the calls that the steps yield, and await them."""
    result: Any = None
    error: BaseException | None = None
    try:
        while True:
            try:
                step = steps.send(result) if error is None else steps.throw(error)
            except StopIteration as done:
                return done.value
            try:
                made = step()
                result, error = (await made if inspect.isawaitable(made) else made), None
            except BaseException as raised:  # noqa: BLE001 - the steps handle it
                result, error = None, raised
    finally:
        error = None
