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

    Args:
        connect: begins a search, which ends by itself.
    """

    def __init__(self, connect: Callable[[], Awaitable[None]]) -> None:
        self._connect = connect
        self._search: asyncio.Future[None] | None = None
        self.is_found = False

    async def now(self) -> None:
        """Find the cluster, however long a search takes."""
        await self._connect()
        self.is_found = True

    async def within(self, timeout: float) -> None:
        """Wait for the cluster if it is still to be found.

        The poll goes on in any case: it counts, and joins the group.

        Args:
            timeout: seconds to wait.
        """
        if self.is_found:
            return
        if self._search is None:
            self._search = asyncio.ensure_future(self._connect())
        search = self._search
        done, _ = await asyncio.wait({search}, timeout=timeout)
        if done:
            self._search = None
            search.result()
            self.is_found = True
