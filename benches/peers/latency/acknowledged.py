"""Python clients that produce: the time from produce to acknowledgement.

At a low rate, a record is acknowledged before the next one is sent. At a high one, records are sent
when they are due, whatever is in flight, and a callback of each notes its acknowledgement.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from benches.peers.latency.raw_socket import RawProducer
from benches.peers.latency.schedule import VALUE_BYTES, Pace, Schedule

VALUE = b"v" * VALUE_BYTES
SETTINGS = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,
    "socket.nagle.disable": True,
}


def one_by_one(schedule: Schedule, send: Callable[[], object]) -> list[float]:
    """Send each record after the one before it was acknowledged."""
    pace, took = Pace(schedule), []
    for _ in range(schedule.total):
        began = pace.wait()
        send()
        took.append(time.perf_counter() - began)
    return took


def when_due(
    schedule: Schedule,
    send: Callable[[Callable[[object], None]], object],
    finish: Callable[[], object],
) -> list[float]:
    """Send records when they are due; `send` gets what to call with an error or None."""
    pace, took = Pace(schedule), [0.0] * schedule.total
    failures: list[object] = []
    for number in range(schedule.total):
        began = pace.wait()

        def done(error: object, number: int = number, began: float = began) -> None:
            took[number] = time.perf_counter() - began
            if error is not None:
                failures.append(error)

        send(done)
    finish()
    if failures or not all(took):
        raise SystemExit(f"not all records were acknowledged: {failures[:1]}")
    return took


def ottla_send(bootstrap: str, topic: str, schedule: Schedule, *, waits: bool) -> list[float]:
    import ottla

    with ottla.Producer(bootstrap, linger_ms=0) as producer:
        producer.send(topic, VALUE).result()
        if waits:
            return one_by_one(schedule, lambda: producer.send(topic, VALUE).result())
        return when_due(
            schedule,
            lambda done: producer.send(topic, VALUE, on_delivery=lambda error, _: done(error)),
            producer.flush,
        )


def ottla_await(bootstrap: str, topic: str, schedule: Schedule, *, waits: bool) -> list[float]:
    import ottla

    async def work() -> list[float]:
        took = [0.0] * schedule.total
        async with ottla.AsyncProducer(bootstrap, linger_ms=0) as producer:
            await producer.send(topic, VALUE)
            pace = Pace(schedule)
            sent: list[asyncio.Future[Any]] = []
            for number in range(schedule.total):
                pause = pace.pause()
                if pause > 0:
                    await asyncio.sleep(pause)
                began = pace.began(pause)
                if waits:
                    await producer.send(topic, VALUE)
                    took[number] = time.perf_counter() - began
                    continue

                def done(_: object, number: int = number, began: float = began) -> None:
                    took[number] = time.perf_counter() - began

                future = asyncio.ensure_future(producer.send(topic, VALUE))
                future.add_done_callback(done)
                sent.append(future)
                if pause <= 0:
                    # Lets the loop look at its sockets and timers.
                    await asyncio.sleep(0)
            await asyncio.gather(*sent)
        return took

    return asyncio.run(work())


def confluent(bootstrap: str, topic: str, schedule: Schedule, *, waits: bool) -> list[float]:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, **SETTINGS})
    if not waits:
        # Callbacks are called by polls, and a poll of less than a millisecond does not wait.
        threading.Thread(target=_poll_forever, args=(producer,), daemon=True).start()
        return when_due(
            schedule,
            lambda done: producer.produce(topic, VALUE, on_delivery=lambda error, _: done(error)),
            producer.flush,
        )
    acknowledged: list[object] = []

    def send() -> None:
        acknowledged.clear()
        producer.produce(topic, VALUE, on_delivery=lambda error, _: acknowledged.append(error))
        while not acknowledged:
            producer.poll(1)
        if acknowledged[0] is not None:
            raise SystemExit(f"not delivered: {acknowledged[0]}")

    return one_by_one(schedule, send)


def _poll_forever(producer: Any) -> None:
    while True:
        producer.poll(0.1)


def raw(leader: str, topic: str, schedule: Schedule, *, waits: bool) -> list[float]:
    if not waits:
        raise SystemExit("the raw socket only sends one record after the other")
    producer = RawProducer(leader, topic, VALUE)
    return one_by_one(schedule, producer.send)


CLIENTS: dict[str, Callable[..., list[float]]] = {
    "ottla": ottla_send,
    "ottla, await": ottla_await,
    "confluent-kafka": confluent,
}
