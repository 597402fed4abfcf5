"""Both kinds of Admin with one interface, for tests that run the same calls through each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import ottla


class _Blocking:
    """An ``AsyncAdmin`` whose calls wait for their results, on an event loop of its own."""

    def __init__(self, bootstrap: str, config: Mapping[str, Any] | None) -> None:
        self._loop = asyncio.new_event_loop()
        self._admin = ottla.AsyncAdmin(bootstrap, config)

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            async def wait() -> Any:
                return await getattr(self._admin, name)(*args, **kwargs)

            return self._loop.run_until_complete(wait())

        return call

    def end(self) -> None:
        """Close the client and its loop."""
        self.close()
        self._loop.close()


@contextmanager
def admin_of_kind(
    kind: str, bootstrap: str, config: Mapping[str, Any] | None = None
) -> Iterator[ottla.Admin]:
    """Yield an ``Admin`` for ``sync``; for ``asyncio`` an ``AsyncAdmin`` that is called as one."""
    if kind == "sync":
        with ottla.Admin(bootstrap, config) as admin:
            yield admin
    else:
        asynchronous = _Blocking(bootstrap, config)
        try:
            yield cast(ottla.Admin, asynchronous)
        finally:
            asynchronous.end()
