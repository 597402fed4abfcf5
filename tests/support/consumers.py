"""The blocking and the asyncio consumer behind one interface, to run the same test on both."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Coroutine, Iterator
from types import TracebackType
from typing import Any

import ottla

TIMEOUT = 120.0


class BlockingAsyncConsumer:
    """An ``AsyncConsumer`` with the interface of ``Consumer``: its loop runs during each call."""

    consumer_class: Any = ottla.AsyncConsumer

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.consumer = self.consumer_class(*args, **kwargs)
        self.loop = asyncio.new_event_loop()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine on the loop, with a timeout of 150 s."""
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
            record: ottla.Record = await self.consumer.__anext__()
            return record

        record: ottla.Record = self.run(work())
        return record

    def close(self, timeout: float = 30.0) -> None:
        """Close the consumer and its loop."""
        if not self.loop.is_closed():
            try:
                self.run(self.consumer.close(timeout=timeout))
            finally:
                self.loop.close()

    def __enter__(self) -> BlockingAsyncConsumer:
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


class BlockingAsyncShareConsumer(BlockingAsyncConsumer):
    """An ``AsyncShareConsumer`` with the interface of ``ShareConsumer``."""

    consumer_class: Any = ottla.AsyncShareConsumer


SHARE_KINDS: dict[str, Any] = {"sync": ottla.ShareConsumer, "asyncio": BlockingAsyncShareConsumer}
KINDS: dict[str, Any] = {"sync": ottla.Consumer, "asyncio": BlockingAsyncConsumer}


def read(consumer: Any, count: int, timeout: float = 0.5) -> list[ottla.Record[Any, Any]]:
    """Poll, each time with this timeout, until `count` records have arrived."""
    records: list[ottla.Record[Any, Any]] = []
    deadline = time.monotonic() + TIMEOUT
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records arrived"
        records += consumer.poll(timeout=timeout)
    return records


def positions_of(records: list[ottla.Record]) -> list[tuple[int, int]]:
    """Return the partition and offset of each record."""
    return [(record.partition, record.offset) for record in records]
