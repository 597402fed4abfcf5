"""Python clients that produce and consume: the time until the application has a record.

One thread or task sends records when they are due; the other polls them. A value begins with its
record's number and the time from which it is measured.
"""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections.abc import Callable

from benches.peers.latency.acknowledged import SETTINGS
from benches.peers.latency.schedule import VALUE_BYTES, Pace, Schedule

_PREFIX = struct.Struct(">qd")
_REST = bytes(VALUE_BYTES - _PREFIX.size)
# Long enough for the consumer to look up the end of the partition.
_SETTLE_SECONDS = 1.0


def value(number: int, began: float) -> bytes:
    """Return the value of a record."""
    return _PREFIX.pack(number, began) + _REST


class Arrivals:
    """The time that each record took."""

    def __init__(self, schedule: Schedule) -> None:
        self.took = [0.0] * schedule.total
        self.waiting = True

    def take(self, value: bytes | None) -> None:
        """Note that a record has arrived."""
        now = time.perf_counter()
        number, began = _PREFIX.unpack_from(value or b"")
        self.took[number] = now - began
        self.waiting = number + 1 < len(self.took)


def _receive(
    schedule: Schedule,
    send: Callable[[bytes], object],
    poll: Callable[[Arrivals], object],
) -> list[float]:
    """Send on a thread, and poll on this one until the last record has arrived."""
    arrivals = Arrivals(schedule)
    until = time.monotonic() + _SETTLE_SECONDS
    while time.monotonic() < until:
        poll(arrivals)

    def run() -> None:
        pace = Pace(schedule)
        for number in range(schedule.total):
            send(value(number, pace.wait()))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while arrivals.waiting:
        poll(arrivals)
    thread.join()
    return arrivals.took


def ottla_poll(bootstrap: str, topic: str, schedule: Schedule) -> list[float]:
    import ottla

    with (
        ottla.Producer(bootstrap, linger_ms=0) as producer,
        ottla.Consumer(bootstrap, auto_offset_reset="latest") as consumer,
    ):
        consumer.assign([(topic, 0)])

        def poll(arrivals: Arrivals) -> None:
            for record in consumer.poll(timeout=0.5):
                arrivals.take(record.value)

        return _receive(schedule, lambda value: producer.send(topic, value), poll)


def ottla_async_for(bootstrap: str, topic: str, schedule: Schedule) -> list[float]:
    import ottla

    arrivals = Arrivals(schedule)

    async def send(producer: ottla.AsyncProducer) -> None:
        await asyncio.sleep(_SETTLE_SECONDS)
        pace, sent = Pace(schedule), []
        for number in range(schedule.total):
            pause = pace.pause()
            await asyncio.sleep(max(pause, 0))
            record = value(number, pace.began(pause))
            sent.append(asyncio.ensure_future(producer.send(topic, record)))
        await asyncio.gather(*sent)

    async def work() -> None:
        async with (
            ottla.AsyncProducer(bootstrap, linger_ms=0) as producer,
            ottla.AsyncConsumer(bootstrap, auto_offset_reset="latest") as consumer,
        ):
            consumer.assign([(topic, 0)])
            sending = asyncio.ensure_future(send(producer))
            async for record in consumer:
                arrivals.take(record.value)
                if not arrivals.waiting:
                    break
            await sending

    asyncio.run(work())
    return arrivals.took


def confluent(bootstrap: str, topic: str, schedule: Schedule) -> list[float]:
    from confluent_kafka import (
        OFFSET_END,
        Consumer,
        KafkaException,
        Producer,
        TopicPartition,
    )

    producer = Producer({"bootstrap.servers": bootstrap, **SETTINGS})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "latency",
            "enable.auto.commit": False,
            "socket.nagle.disable": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])

    def poll(arrivals: Arrivals) -> None:
        message = consumer.poll(0.5)
        if message is None:
            return
        if message.error() is not None:
            raise KafkaException(message.error())
        arrivals.take(message.value())

    def send(value: bytes) -> None:
        producer.produce(topic, value)
        producer.poll(0)

    took = _receive(schedule, send, poll)
    producer.flush()
    consumer.close()
    return took


CLIENTS: dict[str, Callable[[str, str, Schedule], list[float]]] = {
    "ottla": ottla_poll,
    "ottla, async for": ottla_async_for,
    "confluent-kafka": confluent,
}
