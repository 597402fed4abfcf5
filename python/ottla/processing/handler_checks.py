"""Whether a handler does its work when it is called.

Invariant: a handler whose code would not run is refused before a record counts as handled. A call
of a coroutine function or of a generator function only makes an object.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ottla.errors import ArgumentTypeError, ConfigError

__all__ = ["check_handler", "check_returned"]


def check_handler(handler: Any, *, awaits: bool) -> None:
    """Check a handler.

    Args:
        handler: the argument.
        awaits: whether the processor awaits what the handler returns.

    Raises:
        ArgumentTypeError: it is no function, or not one for this processor.
    """
    if not callable(handler):
        kind = type(handler).__name__
        raise ArgumentTypeError(f"handler is of type {kind}: expected a function")
    called = handler
    while isinstance(called, functools.partial):
        called = called.func
    if not inspect.isroutine(called) and not isinstance(called, type):
        called = type(called).__call__
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
        raise ArgumentTypeError(
            "handler is a generator function, whose code does not run when it is called: replace "
            "yield"
        )
    if inspect.iscoroutinefunction(called) and not awaits:
        raise ArgumentTypeError(
            "handler is a coroutine function, which Processor does not await: use AsyncProcessor"
        )


def check_returned(returned: object) -> None:
    """Check what a call of a handler has returned, and was awaited if the processor awaits.

    Raises:
        ConfigError: it is a coroutine or a generator, whose code has not run.
    """
    if inspect.iscoroutine(returned):
        # Otherwise Python warns of it, too.
        returned.close()
        raise ConfigError(
            "the handler returned a coroutine, which Processor does not await: use AsyncProcessor"
        )
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        raise ConfigError("the handler returned a generator, whose code has not run")
