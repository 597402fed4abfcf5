"""The calls of ``AIOKafkaProducer`` that start it, flush it and stop it.

Invariant: nothing connects before ``start``; ``stop`` sends all records first.
"""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Any

import ottla
from ottla import errors as ottla_errors
from ottla.compat.aiokafka._error_mapping import peer_error, translated
from ottla.compat.aiokafka.producer._transactional import TransactionalProducer
from ottla.compat.aiokafka.producer.transaction_manager import TransactionState

if TYPE_CHECKING:
    from typing_extensions import Self

    from ottla.compat.aiokafka.client import AIOKafkaClient
    from ottla.compat.aiokafka.cluster import ClusterMetadata
    from ottla.compat.aiokafka.producer._options import ProducerOptions

__all__ = ["ProducerLifecycle"]


class ProducerLifecycle(TransactionalProducer):
    """The base of ``AIOKafkaProducer`` with its lifecycle."""

    _loop: asyncio.AbstractEventLoop
    client: AIOKafkaClient
    _metadata: ClusterMetadata
    _options: ProducerOptions
    _is_transactional: bool

    def __del__(self, _warnings: Any = warnings) -> None:
        """Warn of a producer that was not stopped."""
        if self._closed is False:
            _warnings.warn(f"Unclosed AIOKafkaProducer {self!r}", ResourceWarning, source=self)
            context = {"producer": self, "message": "Unclosed AIOKafkaProducer"}
            self._loop.call_exception_handler(context)

    async def start(self) -> None:
        """Connect, and get a producer id if there is a ``transactional_id``.

        Raises:
            KafkaConnectionError: no bootstrap server could be used.
            KafkaError: the brokers refuse the transactional id.
            ValueError: the configuration is invalid.
        """
        if self._loop is not asyncio.get_running_loop():
            raise AssertionError("the producer belongs to another event loop")
        try:
            engine = ottla.AsyncProducer(
                **self.client.options.to_config(self._loop),
                **self._options.to_config(self._metadata),
            )
        except ottla_errors.KafkaError as error:
            raise peer_error(error) from error
        self._engine = engine
        await self.client.connect(engine)
        # A batch without records waits for its topic, and lets brokers create it.
        self.client.attach(engine, lambda topic: engine.send_batch(topic, []))
        if self._is_transactional:
            await translated(engine.init_transactions(timeout=self._request_timeout))
            self._txn_manager.state = TransactionState.READY

    async def stop(self) -> None:
        """Send all records, and close the connections."""
        if self._closed:
            return
        self._closed = True
        if self._engine is not None:
            # After a timeout, the futures of the records have the error.
            with contextlib.suppress(ottla_errors.TimeoutError):
                await self._engine.close(timeout=2 * self._request_timeout)
        await self.client.close()

    async def __aenter__(self) -> Self:
        """Start the producer."""
        await self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        """Stop the producer."""
        await self.stop()

    async def flush(self) -> None:
        """Send all records, and wait until each is acknowledged or has failed."""
        await translated(self._started().flush())
