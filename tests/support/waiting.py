"""Waits of tests for what another thread or the cluster does."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 90.0
_INTERVAL = 0.01


def wait_until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; after ``TIMEOUT`` seconds the test fails."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, "the condition did not hold within the deadline"
        time.sleep(_INTERVAL)
