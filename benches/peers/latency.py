"""Time from produce to acknowledgement, ``linger.ms`` 0, modest pace: ottla, Java, confluent.

    python -m benches.peers.latency [--rounds 5] [--count 3000] [--rate 200]

One record of 100 bytes at a time, acknowledged before the next is sent; ``acks=all``,
idempotence; three brokers, the partition has one replica. A record that is sent late because its
predecessor was not yet acknowledged is measured from the time it was due. Clients take turns and
warm up before each. The table shows the medians of the rounds' percentiles.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from benches.peers import runner
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

VALUE_BYTES = 100
WARM = 1000
RESULTS = Path(".ottla-build/latency.json")


class Pace:
    """An even pace: the time at which each record is due, and from which it is measured."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._due = time.perf_counter()

    def pause(self) -> float:
        """Return the seconds until the next record is due; not positive if it is late."""
        self._due += self._interval
        return self._due - time.perf_counter()

    def began(self, pause: float) -> float:
        """Return the time from which the record is measured, after the pause."""
        return self._due if pause <= 0 else time.perf_counter()


def _paced(send: Callable[[], object], count: int, interval: float) -> list[float]:
    pace, took = Pace(interval), []
    for _ in range(WARM + count):
        pause = pace.pause()
        if pause > 0:
            time.sleep(pause)
        began = pace.began(pause)
        send()
        took.append(time.perf_counter() - began)
    return took[WARM:]


def _ottla(bootstrap: str, topic: str, count: int, interval: float) -> list[float]:
    import ottla

    value = b"v" * VALUE_BYTES
    with ottla.Producer(bootstrap, linger_ms=0) as producer:
        return _paced(lambda: producer.send(topic, value).result(), count, interval)


def _ottla_async(bootstrap: str, topic: str, count: int, interval: float) -> list[float]:
    import ottla

    async def work() -> list[float]:
        took: list[float] = []
        value = b"v" * VALUE_BYTES
        async with ottla.AsyncProducer(bootstrap, linger_ms=0) as producer:
            await producer.send(topic, value)
            pace = Pace(interval)
            for _ in range(WARM + count):
                pause = pace.pause()
                if pause > 0:
                    await asyncio.sleep(pause)
                began = pace.began(pause)
                await producer.send(topic, value)
                took.append(time.perf_counter() - began)
        return took[WARM:]

    return asyncio.run(work())


def _confluent(bootstrap: str, topic: str, count: int, interval: float) -> list[float]:
    from confluent_kafka import Producer

    value = b"v" * VALUE_BYTES
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 0,
        "socket.nagle.disable": True,
    }
    producer = Producer(settings)
    acknowledged: list[object] = []

    def send() -> None:
        acknowledged.clear()
        producer.produce(topic, value, on_delivery=lambda error, _: acknowledged.append(error))
        while not acknowledged:
            producer.poll(1)
        if acknowledged[0] is not None:
            raise SystemExit(f"not delivered: {acknowledged[0]}")

    return _paced(send, count, interval)


PYTHON = {"ottla": _ottla, "ottla, await": _ottla_async, "confluent-kafka": _confluent}


def _measure(client: str, arguments: Sequence[object]) -> list[float]:
    if client == "Java":
        bootstrap, topic, count, interval = arguments
        nanos = round(float(str(interval)) * 1e9)
        micros = runner.run_java(
            "ProduceLatency.java", [bootstrap, topic, VALUE_BYTES, WARM, count, nanos]
        )
        return [each / 1e6 for each in micros]
    took: list[float] = runner.run_python("benches.peers.latency", [client, *arguments])
    return took


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=200, help="records a second")
    options = parser.parse_args()
    if options.child:
        client, *arguments = json.loads(options.child)
        print(json.dumps(PYTHON[client](*arguments)))
        return 0
    clients = [*PYTHON, "Java"]
    rounds: dict[str, list[tuple[float, float]]] = {client: [] for client in clients}
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = f"latency-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, 1, 1)
        arguments = (kafka.bootstrap, topic, options.count, 1 / options.rate)
        for turn in range(options.rounds):
            for client in runner.rotated(clients, turn):
                cuts = statistics.quantiles(_measure(client, arguments), n=100)
                rounds[client].append((cuts[49] * 1e6, cuts[98] * 1e6))
                runner.log_progress(
                    f"{client}: p50 {cuts[49] * 1e6:.0f} µs, p99 {cuts[98] * 1e6:.0f} µs"
                )
        written = kafka.end_offset(topic, 0)
    least = options.rounds * len(clients) * (WARM + options.count)
    if written < least:
        raise SystemExit(f"{written} records in the log instead of {least} or more")
    print("\n| client | p50 in µs | p99 in µs |\n|---|---:|---:|")
    for client, cuts_of_rounds in rounds.items():
        p50, p99 = (statistics.median(column) for column in zip(*cuts_of_rounds, strict=True))
        print(f"| {client} | {p50:.0f} | {p99:.0f} |")
    runner.save_json(options.json, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
