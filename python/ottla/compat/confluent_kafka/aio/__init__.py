"""The asyncio classes (``confluent_kafka.aio``).

Invariant: callbacks are coroutine functions that run on the loop on which the object was made.
"""

from __future__ import annotations

from ottla.compat.confluent_kafka.aio._AIOConsumer import AIOConsumer
from ottla.compat.confluent_kafka.aio._AsyncDeserializingConsumer import (
    AsyncDeserializingConsumer,
)
from ottla.compat.confluent_kafka.aio._AsyncSerializingProducer import AsyncSerializingProducer
from ottla.compat.confluent_kafka.aio.producer import AIOProducer

__all__ = ["AIOConsumer", "AIOProducer", "AsyncDeserializingConsumer", "AsyncSerializingProducer"]
