"""Reports on standard error that a command is waiting, after a second without progress.

Invariants: nothing is printed while there is progress, each wait is reported once, also if the
client warns of its cause, and nothing is printed after the command has ended.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from ottla import ConnectionStatus
from ottla.cli.messages import say

# Shorter waits are not reported.
SECONDS = 1.0
# The client warns of a cause that lasts within two seconds: then the warning is report enough.
_PATIENT = 3  # times SECONDS
# "connecting to broker 2 has been failing for 2 s: connection refused".
_CAUSE = re.compile(r".* for \d+ s: (?P<cause>.*)", re.DOTALL)


class _Reports:
    """What the command that runs has reported: all threads of a process share it."""

    said: tuple[str, ...] = ()
    warnings = 0


def is_news(record: logging.LogRecord) -> bool:
    """Return whether a warning of the client says more than what the command has reported."""
    found = _CAUSE.fullmatch(record.getMessage())
    if found is not None and any(found["cause"] in each for each in _Reports.said):
        return False
    _Reports.warnings += 1
    return True


@contextlib.contextmanager
def report_waiting(
    describe: Callable[[], str | None], otherwise: str | None = None
) -> Iterator[Callable[[], None]]:
    """Report what the block waits for; yield a function that the block calls on progress.

    Args:
        describe: returns what the command waits for, or None if it does not wait or does not know.
            It is called in another thread.
        otherwise: what a command that does not know waits for; reported after three seconds,
            unless the client has warned of the cause. Default: nothing is reported.
    """
    progress, ended = threading.Event(), threading.Event()

    def watch() -> None:
        reported = False
        began, warned = time.monotonic(), _Reports.warnings
        while not ended.is_set():
            if progress.wait(SECONDS):
                progress.clear()
                reported = False
                began, warned = time.monotonic(), _Reports.warnings
                # A busy command wakes this thread once per interval, not once per record.
                ended.wait(SECONDS)
            elif not reported and not ended.is_set():
                message = describe()
                if not message and time.monotonic() - began >= _PATIENT * SECONDS:
                    message = otherwise if _Reports.warnings == warned else None
                    reported = True
                if message:
                    reported = True
                    _Reports.said += (message,)
                    say(f"waiting for {message}")

    thread = threading.Thread(target=watch, name="ottla-waiting", daemon=True)
    thread.start()
    before = _Reports.said
    try:
        yield progress.set
    finally:
        ended.set()
        progress.set()
        thread.join(SECONDS)
        _Reports.said = before


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
