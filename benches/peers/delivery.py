"""From sending to having, and from joining to the first record: ottla, Java, confluent.

    python -m benches.peers.delivery [--rounds 3] [--count 2000] [--rate 200]

One producer sends records of 100 bytes at an even pace, all the time; each begins with the time
when it was sent. Each consumer joins a group of its own, in a process of its own, with settings as
they come. The first record counts from before the consumer is made, and consumers take turns. For
the ages all consume at once and of the same records: a broker that collects its garbage for 100 ms
makes the hundredth part of them late, and would do so for whoever's turn it is. Three brokers, the
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from benches.peers import turns
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
# Until then all have joined and are warm, in a JVM too.
WARM_SECONDS = 10
RESULTS = Path(".ottla-build/delivery.json")


class Ages:
    """How long the first record took, and how old each of so many was that were sent since."""

    def __init__(self, since: int, count: int) -> None:
        self._since = since
        self._count = count
        self._start = 0
        self.micros: list[int] = []

    def start(self) -> None:
        """Begin to wait for the first."""
        self._start = time.monotonic_ns()

    def take(self, value: bytes | None) -> bool:
        """Note one record; says whether more are wanted."""
        now = time.monotonic_ns()
        if not self.micros:
            self.micros.append((now - self._start) // 1000)
        (sent,) = struct.unpack_from(">q", value or b"")
        if sent >= self._since and len(self.micros) <= self._count:
            self.micros.append((now - sent) // 1000)
        return len(self.micros) <= self._count


def _settings(bootstrap: str, group: str, protocol: str) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "group.protocol": protocol,
        "auto.offset.reset": "latest",
        "enable.auto.commit": False,
    }


def _ottla(bootstrap: str, topic: str, group: str, protocol: str, ages: Ages) -> None:
    import ottla

    ages.start()
    with ottla.Consumer(config=_settings(bootstrap, group, protocol), topics=[topic]) as consumer:
        more = True
        while more:
            for record in consumer.poll(1.0):
                more = ages.take(record.value)


def _ottla_async(bootstrap: str, topic: str, group: str, protocol: str, ages: Ages) -> None:
    import ottla

    async def work() -> None:
        ages.start()
        settings = _settings(bootstrap, group, protocol)
        async with ottla.AsyncConsumer(config=settings, topics=[topic]) as consumer:
            async for record in consumer:
                if not ages.take(record.value):
                    break

    asyncio.run(work())


def _confluent(bootstrap: str, topic: str, group: str, protocol: str, ages: Ages) -> None:
    from confluent_kafka import Consumer, KafkaException

    ages.start()
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


PYTHON = {"ottla": _ottla, "ottla, async for": _ottla_async, "confluent-kafka": _confluent}


def _measure(client: str, bootstrap: str, topic: str, protocol: str, *what: int) -> list[int]:
    """Microseconds until the first record, and of how many sent since when what age."""
    order = [bootstrap, topic, uuid.uuid4().hex, protocol, *what]
    took: list[int]
    if client == "Java":
        took = turns.in_java("ConsumeLatency.java", order)
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
    parser.add_argument("--count", type=int, default=2000, help="records whose age is taken")
    parser.add_argument("--rate", type=float, default=200, help="records a second")
    options = parser.parse_args()
    if options.child:
        client, bootstrap, topic, group, protocol, since, count = json.loads(options.child)
        ages = Ages(since, count)
        PYTHON[client](bootstrap, topic, group, protocol, ages)
        print(json.dumps(ages.micros))
        return 0
    results: dict[str, dict[str, list[float]]] = {}
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = f"delivery-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, 1, 1)
        with _sending(kafka.bootstrap, topic, 1 / options.rate):
            # For the cluster's first group the brokers make the topic of offsets.
            _measure("confluent-kafka", kafka.bootstrap, topic, "classic", 0, 0)
            for turn in range(options.rounds):
                for protocol in ("classic", "consumer"):
                    _round(kafka.bootstrap, topic, protocol, turn, options.count, results)
    print("\n| client | group | first record after ms | age p50 in µs | p99 in µs |")
    print("|---|---|---:|---:|---:|")
    for name, columns in results.items():
        first, p50, p99 = map(statistics.median, columns.values())
        print(f"| {name} | {first:.0f} | {p50:.0f} | {p99:.0f} |")
    turns.save(options.json, results)
    return 0


def _round(
    bootstrap: str,
    topic: str,
    protocol: str,
    turn: int,
    count: int,
    results: dict[str, dict[str, list[float]]],
) -> None:
    clients = turns.in_turn([*PYTHON, "Java"], turn)
    firsts = [_measure(client, bootstrap, topic, protocol, 0, 0)[0] for client in clients]
    since = time.monotonic_ns() + WARM_SECONDS * 1_000_000_000
    with ThreadPoolExecutor(len(clients)) as pool:
        runs = [
            pool.submit(_measure, client, bootstrap, topic, protocol, since, count)
            for client in clients
        ]
    for client, first, run in zip(clients, firsts, runs, strict=True):
        cuts = statistics.quantiles(run.result()[1:], n=100)
        figures = {"first": first / 1000, "p50": cuts[49], "p99": cuts[98]}
        turns.tell(f"{client}, {protocol}: {figures}")
        columns = results.setdefault(f"{client} | {protocol}", {name: [] for name in figures})
        for name, figure in figures.items():
            columns[name].append(figure)


if __name__ == "__main__":
    sys.exit(main())
