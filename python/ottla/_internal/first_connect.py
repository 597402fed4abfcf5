"""``FirstConnect``: the search for the cluster that the first poll of an asyncio consumer begins.

It goes on between polls, so that short polls find a slow cluster, too; a poll waits for it for no
longer than its own timeout. Its failure is raised once, and the next poll begins again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["FirstConnect"]


class FirstConnect:
    """Finds the cluster once.

    It does not refer to the consumer, which would keep it alive until the garbage collector runs.
    """

    def __init__(self) -> None:
        self._search: asyncio.Future[None] | None = None
        self.is_found = False

    async def now(self, connect: Callable[[], Awaitable[None]]) -> None:
        """Find the cluster, however long a search takes.

        Args:
            connect: begins a search, which ends by itself.
        """
        await connect()
        self.is_found = True

    async def within(self, timeout: float, connect: Callable[[], Awaitable[None]]) -> None:
        """Wait for the cluster if it is still to be found.

        The poll goes on in any case: it counts, and joins the group.

        Args:
            timeout: seconds to wait.
            connect: begins a search, which ends by itself.
        """
        if self.is_found:
            return
        if self._search is None:
            self._search = asyncio.ensure_future(connect())
        search = self._search
        done, _ = await asyncio.wait({search}, timeout=timeout)
        if done:
            self._search = None
            search.result()
            self.is_found = True
