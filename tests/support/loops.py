"""Runs coroutines from blocking tests."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T], timeout: float = 300) -> T:
    """Run a coroutine on a new event loop; a timeout fails the test."""
    return asyncio.run(asyncio.wait_for(coroutine, timeout))
