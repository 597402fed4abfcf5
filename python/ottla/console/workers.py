"""Blocking calls in threads, few at a time, and results that all pages share for a moment.

Invariants: fifty pages that request the same data cost the cluster as much as one page; few calls
wait for a thread, even if the pages that sent them are gone.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

_T = TypeVar("_T")

# Threads of a console: for requests, and for diagnoses, which waiting requests must not delay.
_THREADS = 4
DIAGNOSES = 2
# The largest number of calls that run or wait.
_MAX_CALLS = 100
# The largest number of results that are kept.
_MAX_RESULTS = 64


class Workers:
    """Runs blocking calls."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="ottla-console-call")
        self._diagnoses = ThreadPoolExecutor(DIAGNOSES, thread_name_prefix="ottla-console-doctor")
        self._calls = 0
        self._shared: OrderedDict[Hashable, tuple[float, asyncio.Future[Any]]] = OrderedDict()

    async def run(self, function: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function in a thread, as soon as one is free.

        Raises:
            HTTPException: too many calls are waiting.
        """
        if self._calls >= _MAX_CALLS:
            raise HTTPException(503, f"{_MAX_CALLS} requests are waiting: try again later")
        loop = asyncio.get_running_loop()
        self._calls += 1
        try:
            call = functools.partial(function, *arguments)
            return await loop.run_in_executor(self._executor, call)
        finally:
            self._calls -= 1

    def diagnose(self, function: Callable[[], None]) -> Future[None]:
        """Run a diagnosis in its own thread."""
        return self._diagnoses.submit(function)

    async def shared(
        self, key: Hashable, seconds: float, function: Callable[..., _T], *arguments: Any
    ) -> _T:
        """Run a function, unless it is already running or has a recent result.

        Args:
            key: the key that identifies the call.
            seconds: the seconds for which its result is reused.
            function: the function.
            arguments: its arguments.
        """
        ends, call = self._shared.get(key, (0.0, None))
        if call is None or (call.done() and (ends < time.monotonic() or call.exception())):
            call = asyncio.ensure_future(self.run(function, *arguments))
            # The waiting pages may be gone when the call fails.
            call.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._shared[key] = (time.monotonic() + seconds, call)
            while len(self._shared) > _MAX_RESULTS:
                self._shared.popitem(last=False)
        # If one page goes away, the call continues for the others.
        result: _T = await asyncio.shield(call)
        return result

    def close(self) -> None:
        """Start no more calls. Running calls end by their own timeouts."""
        for executor in (self._executor, self._diagnoses):
            executor.shutdown(wait=False, cancel_futures=True)
