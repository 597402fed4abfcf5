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
# A result is reused for this many times as long as it took, so that what is asked periodically uses
# at most a tenth of a thread and of the brokers' time; and for this many seconds at most.
_REUSE, _MAX_REUSED = 10, 60.0

# Seconds for which pages share a result: the console's polling of the cluster, in one place.
GROUPS = 3.0
"""The lag of all groups: three kinds of requests."""
GROUP = 2.0
"""One group with its partitions."""
GROUP_MEMBERS = 15.0
"""The members of all groups: a request for each coordinator."""
END_OFFSETS = 5.0
"""The end offsets of all partitions: a request for each broker."""
LOG_DIRS = 30.0
"""The log directories: brokers list all of their replicas for it."""
CONFIGS = 10.0
"""The configuration of a topic or a broker."""
GATEWAY = 2.0
"""The connections and events of a gateway."""
REGISTRY = 10.0
"""The subjects of the schema registry, or the versions of one: a request for each version."""
TOPIC_OFFSETS = 5.0
"""The first and the end offsets of one topic."""


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
            seconds: the seconds for which its result is reused, longer if the call was slow.
            function: the function.
            arguments: its arguments.
        """
        ends, call = self._shared.get(key, (0.0, None))
        if call is None or (call.done() and (ends < time.monotonic() or call.exception())):
            call = asyncio.ensure_future(self._timed(key, seconds, function, *arguments))
            # The waiting pages may be gone when the call fails.
            call.add_done_callback(lambda done: done.cancelled() or done.exception())
            self._shared[key] = (time.monotonic() + seconds, call)
            while len(self._shared) > _MAX_RESULTS:
                self._shared.popitem(last=False)
        # If one page goes away, the call continues for the others.
        result: _T = await asyncio.shield(call)
        return result

    async def _timed(
        self, key: Hashable, seconds: float, function: Callable[..., _T], *arguments: Any
    ) -> _T:
        started = time.monotonic()
        result = await self.run(function, *arguments)
        ended = time.monotonic()
        ends = max(started + seconds, ended + min(_MAX_REUSED, _REUSE * (ended - started)))
        if (entry := self._shared.get(key)) is not None:
            self._shared[key] = (ends, entry[1])
        return result

    def forget(self) -> None:
        """Reuse no result from before a change of the cluster."""
        self._shared.clear()

    def close(self) -> None:
        """Start no more calls. Running calls end by their own timeouts."""
        for executor in (self._executor, self._diagnoses):
            executor.shutdown(wait=False, cancel_futures=True)
