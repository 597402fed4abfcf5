"""From sending to having, and from joining to the first record: ottla, Java, confluent.

    python -m benches.peers.delivery [--rounds 3] [--count 1000] [--rate 200]

One producer sends records of 100 bytes at an even pace, all the time; each begins with the time
when it was sent. Each consumer in its turn joins a group of its own, in a process of its own, with
settings as they come; the first record counts from before the consumer is made. Three brokers, the
partition has one replica. Shown are the medians of the rounds.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import struct
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benches.peers import turns
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
WARM = 500
RESULTS = Path(".ottla-build/delivery.json")


class Ages:
    """How long the first record took, and how old each was after so many."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._start = time.monotonic_ns()
        self._seen = -WARM
        self.micros: list[int] = []

    def take(self, value: bytes | None) -> bool:
        """Note one record; says whether more are wanted."""
        now = time.monotonic_ns()
        if not self.micros:
            self.micros.append((now - self._start) // 1000)
        if self._seen >= 0:
            (sent,) = struct.unpack_from(">q", value or b"")
            self.micros.append((now - sent) // 1000)
        self._seen += 1
        return self._seen < self._count


def _settings(bootstrap: str, group: str, protocol: str) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "latest",
        "enable.auto.commit": False,
    }


def _ottla(bootstrap: str, topic: str, group: str, protocol: str, count: int) -> list[int]:
    import ottla

    ages = Ages(count)
    with ottla.Consumer(config=_settings(bootstrap, group, protocol), topics=[topic]) as consumer:
        more = True
        while more:
            for record in consumer.poll(1.0):
                more = ages.take(record.value)
    return ages.micros[: 1 + count]


def _ottla_async(bootstrap: str, topic: str, group: str, protocol: str, count: int) -> list[int]:
    import ottla

    async def work() -> list[int]:
        ages = Ages(count)
        settings = _settings(bootstrap, group, protocol)
        async with ottla.AsyncConsumer(config=settings, topics=[topic]) as consumer:
            async for record in consumer:
                if not ages.take(record.value):
                    break
        return ages.micros[: 1 + count]

    return asyncio.run(work())


def _confluent(bootstrap: str, topic: str, group: str, protocol: str, count: int) -> list[int]:
    from confluent_kafka import Consumer, KafkaException

    ages = Ages(count)
    consumer = Consumer({**_settings(bootstrap, group, protocol), "socket.nagle.disable": True})
    consumer.subscribe([topic])
    more = True
    while more:
        message = consumer.poll(1.0)
        if message is None:
            continue
        if message.error() is not None:
            raise KafkaException(message.error())
        more = ages.take(message.value())
    consumer.close()
    return ages.micros[: 1 + count]


PYTHON = {"ottla": _ottla, "ottla, async for": _ottla_async, "confluent-kafka": _confluent}


def _measure(client: str, order: list[object]) -> list[int]:
    took: list[int]
    if client == "Java":
        *head, count = order
        took = turns.in_java("ConsumeLatency.java", [*head, WARM, count])
    else:
        took = turns.in_python("benches.peers.delivery", [client, *order])
    return took


@contextmanager
def _sending(bootstrap: str, topic: str, interval: float) -> Iterator[None]:
    """Sends a record each so many seconds."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "acks": "1"})
    ended = threading.Event()

    def send() -> None:
        due = time.monotonic()
        rest = bytes(VALUE_BYTES - 8)
        while not ended.is_set():
            producer.produce(topic, struct.pack(">q", time.monotonic_ns()) + rest)
            producer.poll(0)
            due += interval
            time.sleep(max(0.0, due - time.monotonic()))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        producer.flush(10)


def main() -> int:
    parser = turns.parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=200, help="records a second")
    options = parser.parse_args()
    if options.child:
        client, *order = json.loads(options.child)
        print(json.dumps(PYTHON[client](*order)))
        return 0
    clients = [*PYTHON, "Java"]
    rounds: dict[str, list[tuple[float, float, float]]] = {}
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = f"delivery-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, 1, 1)
        with _sending(kafka.bootstrap, topic, 1 / options.rate):
            # For the cluster's first group the brokers make the topic of offsets.
            _measure("confluent-kafka", [kafka.bootstrap, topic, "first", "classic", 10])
            for turn in range(options.rounds):
                for protocol in ("classic", "consumer"):
                    for client in turns.in_turn(clients, turn):
                        group = uuid.uuid4().hex
                        order = [kafka.bootstrap, topic, group, protocol, options.count]
                        first, *ages = _measure(client, order)
                        cuts = statistics.quantiles(ages, n=100)
                        name = f"{client} | {protocol}"
                        rounds.setdefault(name, []).append((first / 1000, cuts[49], cuts[98]))
                        turns.tell(f"{name}: {rounds[name][-1]}")
    print("\n| client | group | first record after ms | age p50 in µs | p99 in µs |")
    print("|---|---|---:|---:|---:|")
    for name, columns in rounds.items():
        first, p50, p99 = (statistics.median(column) for column in zip(*columns, strict=True))
        print(f"| {name} | {first:.0f} | {p50:.0f} | {p99:.0f} |")
    turns.save(options.json, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
