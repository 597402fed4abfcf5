"""Both kinds of consumer behind one face, so that the same test runs on either."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any

import ottla

SOON = 120.0


class AsyncTwin:
    """An ``AsyncConsumer`` that is called as a ``Consumer`` is: its loop runs during each call."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.consumer = ottla.AsyncConsumer(*args, **kwargs)
        self.loop = asyncio.new_event_loop()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Wait for something, for a while at most."""
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, 150))

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self.consumer, name)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **kwargs: Any) -> Any:
            async def work() -> Any:
                result = attribute(*args, **kwargs)
                return await result if inspect.isawaitable(result) else result

            return self.run(work())

        return call

    def __iter__(self) -> Iterator[ottla.Record]:
        return self

    def __next__(self) -> ottla.Record:
        async def work() -> ottla.Record:
            return await self.consumer.__anext__()

        record: ottla.Record = self.run(work())
        return record

    def close(self, timeout: float = 30.0) -> None:
        """Close the consumer; the loop goes with it."""
        if not self.loop.is_closed():
            try:
                self.run(self.consumer.close(timeout))
            finally:
                self.loop.close()

    def __enter__(self) -> AsyncTwin:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.loop.is_closed():
            try:
                self.run(self.consumer.__aexit__(kind, error, trace))
            finally:
                self.loop.close()


KINDS: dict[str, Any] = {"sync": ottla.Consumer, "asyncio": AsyncTwin}


def read(consumer: Any, count: int) -> list[ottla.Record[Any, Any]]:
    """Poll until there are so many records."""
    records: list[ottla.Record[Any, Any]] = []
    deadline = time.monotonic() + SOON
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came"
        records += consumer.poll(timeout=0.5)
    return records


def partition_offsets(records: list[ottla.Record]) -> list[tuple[int, int]]:
    """Return the partition and offset of each record."""
    return [(record.partition, record.offset) for record in records]
