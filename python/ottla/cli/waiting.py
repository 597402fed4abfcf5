"""Reports on standard error that a command is waiting, after a second without progress.

Invariants: nothing is printed while there is progress, each wait is reported once, and nothing is
printed after the command has ended.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from ottla import ConnectionStatus
from ottla.cli.messages import say

# Shorter waits are not reported.
SECONDS = 1.0


@contextlib.contextmanager
def report_waiting(describe: Callable[[], str | None]) -> Iterator[Callable[[], None]]:
    """Report what the block waits for; yield a function that the block calls on progress.

    Args:
        describe: returns what the command waits for, or None if it does not wait. It is called in
            another thread.
    """
    progress, ended = threading.Event(), threading.Event()

    def watch() -> None:
        reported = False
        while not ended.is_set():
            if progress.wait(SECONDS):
                progress.clear()
                reported = False
                # A busy command wakes this thread once per interval, not once per record.
                ended.wait(SECONDS)
            elif not reported and not ended.is_set():
                message = describe()
                if message is not None:
                    reported = True
                    say(f"waiting for {message}")

    thread = threading.Thread(target=watch, name="ottla-waiting", daemon=True)
    thread.start()
    try:
        yield progress.set
    finally:
        ended.set()
        progress.set()
        thread.join(SECONDS)


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
