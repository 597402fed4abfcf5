"""Commits positions automatically: periodically, before a rebalance and on ``stop``.

Invariants: a periodic commit covers processed records only. The application may still be processing
what its last ``getone`` or ``getmany`` returned, until it calls one of them again; aiokafka commits
these records, too, so that a crash loses them. Before a rebalance all returned records are
committed, as by aiokafka. A failed periodic commit is repeated with the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ottla import AsyncConsumer
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._connection_options import log
from ottla.compat.aiokafka._error_mapping import commit_error
from ottla.compat.aiokafka.consumer._background_poll import BackgroundPoll
from ottla.compat.aiokafka.consumer._fetcher import Fetcher
from ottla.compat.aiokafka.consumer._subscription_state import SubscriptionState
from ottla.compat.aiokafka.structs import TopicPartition

__all__ = ["AutoCommit", "positions"]


async def positions(
    engine: AsyncConsumer, fetcher: Fetcher, subscription: SubscriptionState
) -> dict[TopicPartition, int]:
    """Return the offset of the next record of each assigned partition whose position is known."""
    while True:
        drops = fetcher.drops
        listed = list(subscription.assigned_partitions())
        known = await asyncio.gather(
            *(engine.position(*partition, timeout=0) for partition in listed),
            return_exceptions=True,
        )
        # The core's position is past records that were dropped meanwhile: look again.
        if drops == fetcher.drops:
            break
    offsets = {
        partition: offset
        for partition, offset in zip(listed, known, strict=True)
        if isinstance(offset, int)
    }
    held = fetcher.held_positions()
    return offsets | {partition: held[partition] for partition in offsets if partition in held}


class AutoCommit:
    """The automatic commits of a consumer in a group."""

    def __init__(
        self,
        engine: AsyncConsumer,
        fetcher: Fetcher,
        poll: BackgroundPoll,
        subscription: SubscriptionState,
        interval: float,
    ) -> None:
        self._engine = engine
        self._fetcher = fetcher
        self._poll = poll
        self._subscription = subscription
        self._interval = interval
        self._committed: dict[tuple[str, int], int] = {}
        self._task: asyncio.Task[None] | None = None
        # A periodic commit must not follow the one of a rebalance, which covers more.
        self._lock = asyncio.Lock()

    def start(self) -> None:
        """Begin to commit periodically."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self, commits_all: bool) -> None:
        """Commit for the last time.

        Args:
            commits_all: whether the application has processed everything that it got.
        """
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.commit(includes_in_process=commits_all)

    def cancel(self) -> None:
        """End the periodic commits at once."""
        if self._task is not None and not self._task.get_loop().is_closed():
            self._task.cancel()

    async def commit(self, *, includes_in_process: bool) -> None:
        """Commit now; a failure is logged, and raised by the next read if it will not pass.

        Args:
            includes_in_process: whether to commit what the last read returned, too.
        """
        try:
            async with self._lock:
                if includes_in_process or not self._fetcher.is_blocked:
                    await self._commit({} if includes_in_process else self._fetcher.in_process)
        except ottla_errors.KafkaError as error:
            log.warning("an automatic commit failed: %s", error)
            if isinstance(error, ottla_errors.AuthorizationError):
                self._poll.fail(commit_error(error))

    def forget(self) -> None:
        """Forget what was committed of partitions that are not assigned any more."""
        self._committed.clear()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            if self._subscription.assignment:
                await self.commit(includes_in_process=False)

    async def _commit(self, in_process: Mapping[TopicPartition, int]) -> None:
        offsets = await positions(self._engine, self._fetcher, self._subscription)
        for partition in offsets.keys() & in_process.keys():
            offsets[partition] = min(offsets[partition], in_process[partition])
        due: dict[tuple[str, int], int] = {
            partition: offset
            for partition, offset in offsets.items()
            if self._committed.get(partition) != offset
        }
        if due:
            await self._engine.commit(due)
            self._committed |= due
