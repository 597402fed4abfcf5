"""Time from sending to receiving, and from joining to the first record: ottla, Java, confluent.

    python -m benches.peers.delivery [--rounds 3] [--count 2000] [--rate 200]

One producer continuously sends records of 100 bytes at an even pace; each begins with its send
time. Each consumer joins its own group in its own process, at default settings. The time to the
first record includes creating the consumer, and consumers take turns. For the ages, all consumers
run at once and read the same records: a broker's garbage collection of 100 ms delays one record
in a hundred, and would otherwise affect only the client whose turn it is. Three brokers; the
partition has one replica. The table shows the medians of the rounds.
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

from benches.peers import runner
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
# After this time all clients have joined and are warm, including the JVM.
WARM_SECONDS = 10
RESULTS = Path(".ottla-build/delivery.json")


class Ages:
    """The time to the first record, and the ages of `count` records sent after `since`."""

    def __init__(self, since: int, count: int) -> None:
        self._since = since
        self._count = count
        self._start = 0
        self.micros: list[int] = []

    def start(self) -> None:
        """Start the clock of the first record."""
        self._start = time.monotonic_ns()

    def take(self, value: bytes | None) -> bool:
        """Count one record; return whether more are needed."""
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
            for record in consumer.poll(timeout=1.0):
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


def _measure(
    client: str, bootstrap: str, topic: str, protocol: str, since: int, count: int
) -> list[int]:
    """Return the microseconds to the first record, and the ages of `count` later records."""
    arguments = [bootstrap, topic, uuid.uuid4().hex, protocol, since, count]
    took: list[int]
    if client == "Java":
        took = runner.run_java("ConsumeLatency.java", arguments)
    else:
        took = runner.run_python("benches.peers.delivery", [client, *arguments])
    return took


@contextmanager
def _sending(bootstrap: str, topic: str, interval: float) -> Iterator[None]:
    """Send a record every `interval` seconds."""
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
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--count", type=int, default=2000, help="records whose age is measured")
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
            # The cluster's first group makes the brokers create the offsets topic.
            _measure("confluent-kafka", kafka.bootstrap, topic, "classic", 0, 0)
            for turn in range(options.rounds):
                for protocol in ("classic", "consumer"):
                    _round(kafka.bootstrap, topic, protocol, turn, options.count, results)
    print("\n| client | group | first record after ms | age p50 in µs | p99 in µs |")
    print("|---|---|---:|---:|---:|")
    for name, columns in results.items():
        first, p50, p99 = map(statistics.median, columns.values())
        print(f"| {name} | {first:.0f} | {p50:.0f} | {p99:.0f} |")
    runner.save_json(options.json, results)
    return 0


def _round(
    bootstrap: str,
    topic: str,
    protocol: str,
    turn: int,
    count: int,
    results: dict[str, dict[str, list[float]]],
) -> None:
    clients = runner.rotated([*PYTHON, "Java"], turn)
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
        runner.log_progress(f"{client}, {protocol}: {figures}")
        columns = results.setdefault(f"{client} | {protocol}", {name: [] for name in figures})
        for name, figure in figures.items():
            columns[name].append(figure)


if __name__ == "__main__":
    sys.exit(main())
