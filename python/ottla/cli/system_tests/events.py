"""JSON lines on standard output, and the signals that end a client.

Invariant: a line is printed as a whole and at once, whichever thread prints it.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_lock = threading.Lock()


def emit(name: str, **fields: object) -> None:
    """Print an event with the current time."""
    print_json({"timestamp": round(time.time() * 1000), "name": name, **fields})


def print_json(fields: dict[str, Any]) -> None:
    """Print one line."""
    line = json.dumps(fields, ensure_ascii=False)
    with _lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def text(data: bytes | None) -> str | None:
    """Return a key or value as the Java clients show it."""
    return None if data is None else data.decode(errors="replace")


@contextlib.contextmanager
def stop_on_signal(stop: Callable[[], None] = lambda: None) -> Iterator[threading.Event]:
    """Yield an event that SIGTERM or SIGINT sets. The signal also calls ``stop``."""
    stopped = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        stopped.set()
        stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
