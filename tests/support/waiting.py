"""Waits of tests for what another thread or the cluster does."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 90.0
_INTERVAL = 0.01


def wait_until(condition: Callable[[], object], timeout: float = TIMEOUT) -> None:
    """Wait until a condition holds; after ``timeout`` seconds the test fails."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold within the deadline"
        time.sleep(_INTERVAL)
