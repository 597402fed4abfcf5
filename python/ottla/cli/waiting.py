"""Reports on standard error that a command is waiting, after a second without progress.

Invariants: nothing is printed while there is progress, nor of a wait that is younger than a second;
each wait is reported once, also if the client warns of its cause; and nothing is printed after the
command has ended.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from ottla import ConnectionStatus
from ottla.cli.messages import say

# Shorter waits are not reported.
SECONDS = 1.0
# The client warns of a cause that lasts within two seconds: then the warning is report enough.
_PATIENT = 3  # times SECONDS
# "connecting to broker 2 has been failing for 2 s: connection refused".
_CAUSE = re.compile(r".* for \d+ s: (?P<cause>.*)", re.DOTALL)


class _Reports:
    """What the blocks that run have reported: all threads of a process share it."""

    said: ClassVar[list[str]] = []
    warnings = 0


def is_news(record: logging.LogRecord) -> bool:
    """Return whether a warning of the client says more than what the command has reported."""
    found = _CAUSE.fullmatch(record.getMessage())
    if found is not None and any(found["cause"] in each for each in _Reports.said):
        return False
    _Reports.warnings += 1
    return True


def _one_wait() -> object:
    return True


@contextlib.contextmanager
def report_waiting(
    describe: Callable[[], str | None],
    otherwise: str | None = None,
    *,
    identify: Callable[[], object] = _one_wait,
) -> Iterator[Callable[[], None]]:
    """Report what the block waits for; yield a function that the block calls on progress.

    Args:
        describe: returns what the command waits for, or None if it does not wait or does not know.
            It is called in another thread, about once a second.
        otherwise: what a command that does not know waits for; reported after three seconds,
            unless the client has warned of the cause. Default: nothing is reported.
        identify: returns an object that stays the same during one wait, for a command that may
            begin the next wait before ``describe`` has returned None. Default: until then, all is
            one wait.
    """
    progress, ended = threading.Event(), threading.Event()
    said: list[str] = []

    def look() -> tuple[str | None, object]:
        found = describe()
        return found, identify() if found else None

    def watch() -> None:
        reported = did_otherwise = False
        began, warned = time.monotonic(), _Reports.warnings
        _, before = look()
        while not ended.is_set():
            if progress.wait(SECONDS):
                progress.clear()
                reported = did_otherwise = False
                began, warned = time.monotonic(), _Reports.warnings
                # A busy command wakes this thread once per interval, not once per record.
                if not ended.wait(SECONDS):
                    _, before = look()
                continue
            message, wait = look()
            if wait is None or wait is not before:
                # It may have begun just now.
                message, reported = None, False
            before = wait
            if (
                wait is None
                and not did_otherwise
                and time.monotonic() - began >= _PATIENT * SECONDS
            ):
                message = otherwise if _Reports.warnings == warned else None
                did_otherwise = True
            # Describing takes time.
            if message and not reported and not ended.is_set():
                reported = did_otherwise = True
                said.append(message)
                _Reports.said.append(message)
                say(f"waiting for {message}")

    thread = threading.Thread(target=watch, name="ottla-waiting", daemon=True)
    thread.start()
    try:
        yield progress.set
    finally:
        ended.set()
        progress.set()
        thread.join(SECONDS)
        for message in said:
            _Reports.said.remove(message)


def obstacles(connections: Sequence[ConnectionStatus]) -> str:
    """Return the connections that are needed but not established, with their errors."""
    down = [
        each
        for each in connections
        # A disconnected connection without an error is merely unused.
        if each.state in {"connecting", "backing_off"}
        or (each.state == "disconnected" and each.last_error is not None)
    ]
    return "; ".join(dict.fromkeys(map(_obstacle, down)))


def _obstacle(connection: ConnectionStatus) -> str:
    state = connection.state.replace("_", " ")
    if connection.phase is not None:
        state += f", {connection.phase}"
    why = f": {connection.last_error}" if connection.last_error else ""
    bootstrap = connection.role == "bootstrap"
    broker = "bootstrap server" if bootstrap else f"broker {connection.broker} at"
    return f"{broker} {connection.address} ({state}){why}"
