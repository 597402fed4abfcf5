"""Whether a function of the user's does its work when it is called.

Invariant: a function whose code would not run is refused before a record counts as handled. A call
of a coroutine function or of a generator function only makes an object.
"""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass
from typing import Any

from ottla._internal.required_arguments import function
from ottla.errors import ArgumentTypeError, ConfigError

__all__ = ["UserFunction"]


@dataclass(frozen=True)
class UserFunction:
    """An argument that is called with records.

    Attributes:
        name: the argument's.
        caller: who calls it, and does not await it.
        awaiting: what to use for coroutine functions.
    """

    name: str
    caller: str
    awaiting: str

    def check(self, value: Any, *, awaits: bool) -> None:
        """Check what was passed.

        Args:
            value: the argument.
            awaits: whether what it returns is awaited.

        Raises:
            ArgumentTypeError: it is no function, or not one for this caller.
        """
        called: Any = function(self.name, value)
        while isinstance(called, functools.partial):
            called = called.func
        if not inspect.isroutine(called) and not isinstance(called, type):
            called = type(called).__call__
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            raise ArgumentTypeError(
                f"{self.name} is a generator function, whose code does not run when it is called: "
                "replace yield"
            )
        if inspect.iscoroutinefunction(called) and not awaits:
            raise ArgumentTypeError(f"{self.name} is a coroutine function, {self._remedy}")

    def check_returned(self, returned: object) -> None:
        """Check what a call has returned, and was awaited if results are awaited.

        Raises:
            ConfigError: it is a coroutine or a generator, whose code has not run.
        """
        if inspect.iscoroutine(returned):
            # Otherwise Python warns of it, too.
            returned.close()
            raise ConfigError(f"the {self.name} returned a coroutine, {self._remedy}")
        if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
            raise ConfigError(f"the {self.name} returned a generator, whose code has not run")

    @property
    def _remedy(self) -> str:
        return f"which {self.caller} does not await: use {self.awaiting}"
