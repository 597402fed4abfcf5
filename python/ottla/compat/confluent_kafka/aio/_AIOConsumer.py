"""``AIOConsumer``: a ``Consumer`` for asyncio, whose calls run on threads.

Invariants: polls run one after the other; a call from a callback does not wait for the poll that
called it; after ``close`` each call raises ``RuntimeError``.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from types import TracebackType
from typing import Any

from ottla.compat import confluent_kafka
from ottla.compat.confluent_kafka.aio import _common


class AIOConsumer:
    """A consumer for asyncio; make it on the loop that uses it.

    Args:
        consumer_conf: the configuration of a ``Consumer``; its callbacks are coroutine functions.
        max_workers: the number of threads for blocking calls.
        executor: threads of the application instead.
    """

    def __init__(
        self,
        consumer_conf: dict[str, Any],
        max_workers: int = 100,
        executor: concurrent.futures.Executor | None = None,
    ) -> None:
        self._closed = False
        self._owns_executor = executor is None
        if executor is None:
            if max_workers < 1:
                raise ValueError("max_workers must be at least 1")
            executor = concurrent.futures.ThreadPoolExecutor(max_workers=max_workers)
        self.executor = executor
        self._polls = asyncio.Lock()
        config = _common.config_on_loop(asyncio.get_running_loop(), consumer_conf, "on_commit")
        self._consumer = confluent_kafka.Consumer(config)

    async def __aenter__(self) -> AIOConsumer:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _call(self, blocking: Any, *args: Any, **kwargs: Any) -> Any:
        if self._closed:
            raise RuntimeError("Consumer closed")
        return await _common.async_call(self.executor, blocking, *args, **kwargs)

    async def poll(self, *args: Any, **kwargs: Any) -> Any:
        """Return a message, or None: see ``Consumer.poll``."""
        async with self._polls:
            return await self._call(self._consumer.poll, *args, **kwargs)

    async def consume(self, *args: Any, **kwargs: Any) -> Any:
        """Return messages: see ``Consumer.consume``. It costs less than single polls."""
        async with self._polls:
            return await self._call(self._consumer.consume, *args, **kwargs)

    async def subscribe(self, *args: Any, **kwargs: Any) -> Any:
        """Subscribe to topics: see ``Consumer.subscribe``; callbacks are coroutine functions."""
        loop = asyncio.get_running_loop()
        for name in ("on_assign", "on_revoke", "on_lost"):
            if name in kwargs:
                kwargs[name] = _common.on_loop(loop, kwargs[name], self)
        return await self._call(self._consumer.subscribe, *args, **kwargs)

    async def unsubscribe(self, *args: Any, **kwargs: Any) -> Any:
        """Leave the group."""
        return await self._call(self._consumer.unsubscribe, *args, **kwargs)

    async def commit(self, *args: Any, **kwargs: Any) -> Any:
        """Commit offsets: see ``Consumer.commit``."""
        return await self._call(self._consumer.commit, *args, **kwargs)

    async def close(self, *args: Any, **kwargs: Any) -> Any:
        """Commit what is stored, leave the group, and close."""
        try:
            return await self._call(self._consumer.close, *args, **kwargs)
        finally:
            self._closed = True
            if self._owns_executor:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(None, self.executor.shutdown, True)

    async def seek(self, *args: Any, **kwargs: Any) -> Any:
        """Continue at an offset."""
        return await self._call(self._consumer.seek, *args, **kwargs)

    async def pause(self, *args: Any, **kwargs: Any) -> Any:
        """Stop returning messages of partitions."""
        return await self._call(self._consumer.pause, *args, **kwargs)

    async def resume(self, *args: Any, **kwargs: Any) -> Any:
        """Return messages of partitions again."""
        return await self._call(self._consumer.resume, *args, **kwargs)

    async def store_offsets(self, *args: Any, **kwargs: Any) -> Any:
        """Store offsets for the next commit."""
        return await self._call(self._consumer.store_offsets, *args, **kwargs)

    async def committed(self, *args: Any, **kwargs: Any) -> Any:
        """Return the offsets that the group has committed."""
        return await self._call(self._consumer.committed, *args, **kwargs)

    async def assign(self, *args: Any, **kwargs: Any) -> Any:
        """Read exactly these partitions."""
        return await self._call(self._consumer.assign, *args, **kwargs)

    async def unassign(self, *args: Any, **kwargs: Any) -> Any:
        """Stop reading all partitions."""
        return await self._call(self._consumer.unassign, *args, **kwargs)

    async def incremental_assign(self, *args: Any, **kwargs: Any) -> Any:
        """Read these partitions too."""
        return await self._call(self._consumer.incremental_assign, *args, **kwargs)

    async def incremental_unassign(self, *args: Any, **kwargs: Any) -> Any:
        """Stop reading these partitions."""
        return await self._call(self._consumer.incremental_unassign, *args, **kwargs)

    async def assignment(self, *args: Any, **kwargs: Any) -> Any:
        """Return the assigned partitions."""
        return await self._call(self._consumer.assignment, *args, **kwargs)

    async def position(self, *args: Any, **kwargs: Any) -> Any:
        """Return partitions with the offsets after the last messages."""
        return await self._call(self._consumer.position, *args, **kwargs)

    async def consumer_group_metadata(self, *args: Any, **kwargs: Any) -> Any:
        """Return what a transactional producer needs to know of this member."""
        return await self._call(self._consumer.consumer_group_metadata, *args, **kwargs)

    async def set_sasl_credentials(self, *args: Any, **kwargs: Any) -> Any:
        """Use another user's name and password for new connections."""
        return await self._call(self._consumer.set_sasl_credentials, *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """Return the cluster's metadata."""
        return await self._call(self._consumer.list_topics, *args, **kwargs)

    async def cluster_id(self, *args: Any, **kwargs: Any) -> Any:
        """Return the cluster's id."""
        return await self._call(self._consumer.cluster_id, *args, **kwargs)

    async def get_watermark_offsets(self, *args: Any, **kwargs: Any) -> Any:
        """Return the first offset and the end of a partition."""
        return await self._call(self._consumer.get_watermark_offsets, *args, **kwargs)

    async def offsets_for_times(self, *args: Any, **kwargs: Any) -> Any:
        """Return the first offsets at or after times."""
        return await self._call(self._consumer.offsets_for_times, *args, **kwargs)
