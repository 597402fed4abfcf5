"""Runs coroutines from blocking tests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], timeout: float = 300) -> T:
    """Run a coroutine on a new event loop; a timeout fails the test."""
    return asyncio.run(asyncio.wait_for(coroutine, timeout))


async def eventually(condition: Callable[[], bool], timeout: float = 60) -> None:
    """Wait on the loop until a condition holds; a timeout fails the test."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        await asyncio.sleep(0.01)
