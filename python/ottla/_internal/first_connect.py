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
        self._is_found = False

    async def now(self) -> None:
        """Find the cluster, however long a search takes."""
        await self._connect()
        self._is_found = True

    async def within(self, timeout: float) -> bool:
        """Wait for the cluster if it is still to be found; return whether it is found.

        Args:
            timeout: seconds to wait.
        """
        if self._is_found:
            return True
        if self._search is None:
            self._search = asyncio.ensure_future(self._connect())
        search = self._search
        done, _ = await asyncio.wait({search}, timeout=timeout)
        if not done:
            return False
        self._search = None
        search.result()
        self._is_found = True
        return True
