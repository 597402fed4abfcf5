"""The blocking and the asyncio registry client behind one interface, to run a test on both."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from ottla.schema import AsyncRegistry, Registry


class BlockingAsyncRegistry:
    """An ``AsyncRegistry`` with the interface of ``Registry``: its loop runs during each call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.registry = AsyncRegistry(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.registry, name)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **kwargs: Any) -> Any:
            async def work() -> Any:
                result = attribute(*args, **kwargs)
                return await result if inspect.isawaitable(result) else result

            return asyncio.run(work())

        return call

    def __enter__(self) -> BlockingAsyncRegistry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


REGISTRIES: dict[str, Any] = {"blocking": Registry, "asyncio": BlockingAsyncRegistry}
