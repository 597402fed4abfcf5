"""Futures with callbacks, as kafka-python's calls return them.

Invariant: callbacks are called in the order in which they were added, exactly once, and at once if
the future is done; their exceptions are logged and do not reach the thread that completes the
future.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ottla.compat.kafka.errors import RetriableError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Future"]

log = logging.getLogger("ottla.compat")


class Future:
    """The result of a call, once it is known."""

    error_on_callbacks = False

    def __init__(self) -> None:
        self._done = False
        self._value: Any = None
        self._exception: BaseException | None = None
        self._lock = threading.Lock()
        self._waiting: list[tuple[bool, Callable[[Any], object]]] = []

    @property
    def is_done(self) -> bool:
        """Whether the result or the exception is known."""
        return self._done

    @property
    def value(self) -> Any:
        """The result; None without one."""
        return self._value

    @property
    def exception(self) -> BaseException | None:
        """The exception of a call that has failed."""
        return self._exception

    def succeeded(self) -> bool:
        """Whether there is a result."""
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        """Whether the call has failed."""
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        """Whether the call has failed, and may succeed later."""
        return self.is_done and isinstance(self.exception, RetriableError)

    def success(self, value: Any) -> Self:
        """Complete the future with a result."""
        return self._complete(value, None)

    def failure(self, e: BaseException | type[BaseException]) -> Self:
        """Complete the future with an exception."""
        error = e() if isinstance(e, type) else e
        if not isinstance(error, BaseException):
            raise TypeError("a future fails with an exception")
        return self._complete(None, error)

    def add_callback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call a function with the result; preceded by ``args`` if there are any."""
        self._add(True, _bound(f, args, kwargs))
        return self

    def add_errback(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call a function with the exception; preceded by ``args`` if there are any."""
        self._add(False, _bound(f, args, kwargs))
        return self

    def add_both(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Self:
        """Call a function with the result or the exception."""
        return self.add_callback(f, *args, **kwargs).add_errback(f, *args, **kwargs)

    def chain(self, future: Future) -> Self:
        """Complete another future with this one's result or exception."""
        return self.add_callback(future.success).add_errback(future.failure)

    def _add(self, for_success: bool, function: Callable[[Any], object]) -> None:
        with self._lock:
            if not self._done:
                self._waiting.append((for_success, function))
                return
        self._call(for_success, function)

    def _complete(self, value: Any, error: BaseException | None) -> Self:
        with self._lock:
            self._value, self._exception, self._done = value, error, True
            waiting, self._waiting = self._waiting, []
        for for_success, function in waiting:
            self._call(for_success, function)
        return self

    def _call(self, for_success: bool, function: Callable[[Any], object]) -> None:
        """Call a function if the future has ended in its way."""
        error = self.exception
        if for_success != (error is None):
            return
        try:
            function(self.value if error is None else error)
        except Exception:
            log.exception("a callback of a future has failed")
            if self.error_on_callbacks:
                raise


def _bound(
    function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[..., object]:
    return functools.partial(function, *args, **kwargs) if args or kwargs else function
