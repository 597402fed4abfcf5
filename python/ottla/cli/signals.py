"""Signals that end a command as Ctrl-C does: it commits, leaves its group, and closes its clients.

Invariants: a signal that the parent process made the command ignore, as ``nohup`` does, stays
ignored. The first signal does not interrupt work that must finish before the command ends, but such
work has a second at most.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Windows has no SIGHUP.
_NUMBERS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
# The seconds that a block may take after the first signal.
_SECONDS = 1.0


class Ended(KeyboardInterrupt):
    """A signal has ended the command.

    Attributes:
        signal: its number.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


def signal_of(error: KeyboardInterrupt) -> int:
    """Return the number of the signal that has ended a command."""
    return error.signal if isinstance(error, Ended) else signal.SIGINT


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise ``Ended`` in the block on the first signal that would end the process."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, _end)
            for number in _NUMBERS
            if signal.getsignal(number) is signal.SIG_DFL
        }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _: FrameType | None) -> None:
    raise Ended(number)


@contextmanager
def finish_first() -> Iterator[None]:
    """Delay a signal until the block ends, a time limit passes, or another signal arrives."""
    given: list[int] = []

    def defer(number: int, _: FrameType | None) -> None:
        if given:
            raise Ended(number)
        given.append(number)
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_REAL, _SECONDS)

    def expire(_: int, __: FrameType | None) -> None:
        raise Ended(given[0] if given else signal.SIGINT)

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {
            number: signal.signal(number, defer)
            for number in [signal.SIGINT, *_NUMBERS]
            if signal.getsignal(number) in {_end, signal.default_int_handler}
        }
        if sys.platform != "win32":
            before[signal.SIGALRM] = signal.signal(signal.SIGALRM, expire)
    try:
        yield
    finally:
        if sys.platform != "win32" and before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if given:
        raise Ended(given[0])


def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine like ``asyncio.run``, but cancel it on other signals as well as on Ctrl-C.

    Raises:
        Ended: a signal has cancelled the coroutine.
    """
    # Most commands start faster without it.
    import asyncio

    given: list[int] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def cancel(number: int) -> None:
            given.append(number)
            task.cancel()

        # Windows' event loop supports no signal handlers.
        for number in _NUMBERS if sys.platform != "win32" else ():
            if signal.getsignal(number) is _end:
                loop.add_signal_handler(number, cancel, number)
        try:
            await task
        except asyncio.CancelledError:
            if not given:
                raise

    asyncio.run(run())
    if given:
        raise Ended(given[0])
