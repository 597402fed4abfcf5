"""Coroutines run from tests that are none, always ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], timeout: float = 300) -> T:
    """Run a coroutine on a loop of its own; one that hangs fails the test."""
    return asyncio.run(asyncio.wait_for(coroutine, timeout))
