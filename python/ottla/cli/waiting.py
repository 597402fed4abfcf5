"""Says on standard error what a command waits for, once a second has passed without progress.

Invariants: a command that makes progress prints nothing, each wait is reported once, and nothing is
printed after the command has ended.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence

from ottla import ConnectionStatus

# Shorter waits are none to a person.
SECONDS = 1.0


@contextlib.contextmanager
def report_waiting(describe: Callable[[], str | None]) -> Iterator[Callable[[], None]]:
    """Watch the block; what it yields reports progress.

    Args:
        describe: says what the command waits for, or None if it waits for nothing; it is called in
            another thread.
    """
    progress, ended = threading.Event(), threading.Event()

    def watch() -> None:
        reported = False
        while not ended.is_set():
            if progress.wait(SECONDS):
                progress.clear()
                reported = False
                # Busy commands wake this thread once an interval, not once a record.
                ended.wait(SECONDS)
            elif not reported and not ended.is_set():
                message = describe()
                if message is not None:
                    reported = True
                    print(f"ottla: waiting for {message}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=watch, name="ottla-waiting", daemon=True)
    thread.start()
    try:
        yield progress.set
    finally:
        ended.set()
        progress.set()
        thread.join(SECONDS)


def obstacles(connections: Sequence[ConnectionStatus]) -> str:
    """Return the connections that are wanted and not up, with the reason of each."""
    down = [
        each
        for each in connections
        # One that nobody uses is disconnected, and no obstacle.
        if each.state in {"connecting", "backing_off"}
        or (each.state == "disconnected" and each.last_error is not None)
    ]
    return "; ".join(dict.fromkeys(map(_obstacle, down)))


def _obstacle(connection: ConnectionStatus) -> str:
    doing = connection.state.replace("_", " ")
    if connection.phase is not None:
        doing += f", {connection.phase}"
    why = f": {connection.last_error}" if connection.last_error else ""
    return f"broker {connection.broker} at {connection.address} ({doing}){why}"
