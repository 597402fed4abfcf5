"""``AIOProducer``: a ``Producer`` for asyncio; each message has a future.

A thread waits for reports, and the loop serves all that there are at once. Invariants: each future
ends, with the message or with an error; no blocking call runs on the loop; a full queue makes
``produce`` wait and loses nothing.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
import weakref
from types import TracebackType
from typing import Any

from ottla.compat import confluent_kafka
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka._messages import Message
from ottla.compat.confluent_kafka.aio import _common

# Seconds that the thread waits for reports at a time, and that a full queue is left alone.
_WAIT, _PAUSE = 0.2, 0.005


def _complete(future: asyncio.Future[Message], error: KafkaError | None, message: Message) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(message)
    else:
        future.set_exception(KafkaException(error))


class AIOProducer:
    """A producer for asyncio; make it on the loop that uses it.

    Args:
        producer_conf: the configuration of a ``Producer``; its callbacks are coroutine functions.
        max_workers: the number of threads for blocking calls.
        executor: threads of the application instead.
        batch_size: without effect: messages are batched as ``linger.ms`` says.
        buffer_timeout: without effect.
    """

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int = 4,
        executor: concurrent.futures.Executor | None = None,
        batch_size: int = 1000,
        buffer_timeout: float = 1.0,
    ) -> None:
        del buffer_timeout
        if executor is None:
            executor = concurrent.futures.ThreadPoolExecutor(max_workers=max_workers)
        self.executor = executor
        self._loop = asyncio.get_running_loop()
        self._producer = confluent_kafka.Producer(_common.config_on_loop(self._loop, producer_conf))
        self._produce = self._producer.produce
        self._batch_size = batch_size
        self._is_closed = False
        self._stopped = threading.Event()
        self._loop_thread = threading.get_ident()
        self._reports_served = threading.Event()
        self._thread = threading.Thread(target=_serve, args=(weakref.ref(self),), daemon=True)
        self._thread.start()

    async def __aenter__(self) -> AIOProducer:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Deliver all messages, and close."""
        if self._is_closed:
            return
        self._is_closed = True
        await self.flush()
        self._stopped.set()
        await self._call(self._thread.join)
        await self._call(self._producer.close)
        self.executor.shutdown(wait=False)

    async def poll(self, timeout: float = 0, *args: Any, **kwargs: Any) -> Any:
        """Serve callbacks: see ``Producer.poll``. It is not needed: a thread does it."""
        return await self._call(self._producer.poll, timeout, *args, **kwargs)

    async def produce(
        self, topic: str, value: Any = None, key: Any = None, **kwargs: Any
    ) -> asyncio.Future[Message]:
        """Queue a message, and return the future of its delivery.

        Args:
            topic: the topic.
            value: the payload.
            key: the key.
            kwargs: ``partition``, ``timestamp`` or ``headers``.

        Returns:
            A future of the delivered message; it raises ``KafkaException``.
        """
        future: asyncio.Future[Message] = self._loop.create_future()
        kwargs["on_delivery"] = functools.partial(self._delivered, future)
        while True:
            try:
                self._produce(topic, value, key, **kwargs)
            except BufferError:
                await asyncio.sleep(_PAUSE)
            except KafkaException as error:
                future.set_exception(error)
                return future
            else:
                return future

    async def flush(self, *args: Any, **kwargs: Any) -> Any:
        """Wait until all messages are delivered: see ``Producer.flush``."""
        return await self._call(self._producer.flush, *args, **kwargs)

    async def purge(self, *args: Any, **kwargs: Any) -> Any:
        """Give up messages: see ``Producer.purge``."""
        return await self._call(self._producer.purge, *args, **kwargs)

    async def list_topics(self, *args: Any, **kwargs: Any) -> Any:
        """Return the cluster's metadata."""
        return await self._call(self._producer.list_topics, *args, **kwargs)

    async def cluster_id(self, *args: Any, **kwargs: Any) -> Any:
        """Return the cluster's id."""
        return await self._call(self._producer.cluster_id, *args, **kwargs)

    async def init_transactions(self, *args: Any, **kwargs: Any) -> Any:
        """Get a producer id: see ``Producer.init_transactions``."""
        return await self._call(self._producer.init_transactions, *args, **kwargs)

    async def begin_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Begin a transaction."""
        return await self._call(self._producer.begin_transaction, *args, **kwargs)

    async def send_offsets_to_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Commit a consumer's offsets with the transaction."""
        return await self._call(self._producer.send_offsets_to_transaction, *args, **kwargs)

    async def commit_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Deliver the messages of the transaction, and commit it."""
        return await self._call(self._producer.commit_transaction, *args, **kwargs)

    async def abort_transaction(self, *args: Any, **kwargs: Any) -> Any:
        """Give up the messages of the transaction, and abort it."""
        return await self._call(self._producer.abort_transaction, *args, **kwargs)

    async def set_sasl_credentials(self, *args: Any, **kwargs: Any) -> Any:
        """Use another user's name and password for new connections."""
        return await self._call(self._producer.set_sasl_credentials, *args, **kwargs)

    async def _call(self, blocking: Any, *args: Any, **kwargs: Any) -> Any:
        return await _common.async_call(self.executor, blocking, *args, **kwargs)

    def _delivered(
        self, future: asyncio.Future[Message], error: KafkaError | None, message: Message
    ) -> None:
        if threading.get_ident() == self._loop_thread:
            _complete(future, error, message)
            return
        try:
            self._loop.call_soon_threadsafe(_complete, future, error, message)
        except RuntimeError:
            return  # the loop is closed, and nobody waits for the future

    def _serve_once(self) -> bool:
        """Serve events, and let the loop serve reports; return False once this is closed."""
        if self._stopped.is_set():
            return False
        try:
            if self._producer._serve_events(_WAIT):
                self._reports_served.clear()
                self._loop.call_soon_threadsafe(self._serve_reports)
                self._reports_served.wait()
        except RuntimeError as error:
            if "closed" in str(error):
                return False
            self._raise_on_loop(error)
        except Exception as error:  # noqa: BLE001 - whatever a callback raises
            self._raise_on_loop(error)
        return True

    def _serve_reports(self) -> None:
        try:
            if not self._stopped.is_set():
                self._producer._serve_reports()
        finally:
            self._reports_served.set()

    def _raise_on_loop(self, error: Exception) -> None:
        context = {"message": "a callback of AIOProducer has failed", "exception": error}
        try:
            self._loop.call_soon_threadsafe(self._loop.call_exception_handler, context)
        except RuntimeError:
            return


def _serve(reference: weakref.ref[AIOProducer]) -> None:
    """Serve a producer until it is closed, or nothing else refers to it."""
    while (producer := reference()) is not None and producer._serve_once():
        del producer
