"""Blocking calls on threads, and callbacks of these calls on the event loop.

Invariants: no blocking call runs on the loop; a call waits for its callbacks, and raises their
exceptions.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

_CALLBACKS = ("error_cb", "throttle_cb", "stats_cb")


async def async_call(
    executor: concurrent.futures.Executor, blocking: Callable[..., _T], *args: Any, **kwargs: Any
) -> _T:
    """Return the result of a call that runs on a thread."""
    call = functools.partial(blocking, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(executor, call)


def on_loop(
    loop: asyncio.AbstractEventLoop,
    callback: Callable[..., Coroutine[Any, Any, Any]],
    first: Any = None,
) -> Callable[..., Any]:
    """Return a callback for threads that runs a coroutine function on the loop and waits for it.

    Args:
        loop: the loop.
        callback: the coroutine function.
        first: replaces the first argument, if it is not None.
    """

    def call(*args: Any) -> Any:
        arguments = args if first is None else (first, *args[1:])
        return asyncio.run_coroutine_threadsafe(callback(*arguments), loop).result()

    return call


class AsyncLogger:
    """A logger for threads that logs on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, logger: logging.Logger) -> None:
        self.loop = loop
        self.logger = logger

    def log(self, *args: Any, **kwargs: Any) -> None:
        """Log on the loop, later."""
        self.loop.call_soon_threadsafe(functools.partial(self.logger.log, *args, **kwargs))


def config_on_loop(
    loop: asyncio.AbstractEventLoop, config: dict[str, Any], *more: str
) -> dict[str, Any]:
    """Return a configuration whose callbacks run on the loop.

    Args:
        loop: the loop.
        config: the configuration.
        more: callbacks besides those of every client.
    """
    found = dict(config)
    for name in (*_CALLBACKS, *more):
        if name in found:
            found[name] = on_loop(loop, found[name])
    if "logger" in found:
        found["logger"] = AsyncLogger(loop, found["logger"])
    return found
