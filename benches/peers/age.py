"""The age of records when a slow application receives them, at every client's default settings.

    python -m benches.peers.age [--rounds 3] [--seconds 25] [--warm 5] [--work 20] [--rate 1000]
        [--clients ottla,Java]

A process writes 1,000 records a second to twelve partitions on three brokers
(`background_producer.py`). The application simulates 20 ms of work after each poll by sleeping. A
record's age is the time from producing it to the return of the poll with it. Clients take turns,
each alone in its own process, once acknowledgements keep up with the producer and after a warm-up
that is not counted. Partitions are assigned and read from their end. The time to acknowledgement
is reported for each turn, since ages include it. The table shows the medians of the rounds; CPU
is that of the consumer's process.

confluent-kafka has two rows: `consume(500)` with a timeout of one second, which returns 500
records or those received before the timeout, and with a timeout of zero, which returns at once.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from benches.peers import client_option, ranking, runner
from benches.peers.background_producer import SENT, background_producer
from benches.peers.ranking import CPU, Row
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

PARTITIONS = 12
RESULTS = Path(".ottla-build/age.json")
GOAL = "ottla's defaults deliver the youngest records at the lowest CPU"
# The share of its turn's records that a client receives unless the machine pauses.
MIN_SEEN = 0.9
# The brokers' JVMs need this to warm up; until then, acknowledgements take seconds.
BROKER_WARM_SECONDS = 40
PROGRAMS = runner.Programs("ConsumeAge.java", "age", "benches.peers.age")

CALLS = {
    "ottla": ["poll"],
    "confluent-kafka": ["consume(500, 1)", "consume(500, 0)"],
    "Java": ["poll"],
    "franz-go": ["PollFetches"],
}


@dataclass(frozen=True)
class Reader:
    """A Python client's poll, and the accessor of a record's value."""

    poll: Callable[[], list[Any]]
    value: Callable[[Any], bytes]


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--seconds", type=int, default=25, help="per turn")
    parser.add_argument("--warm", type=int, default=5, help="seconds before each turn, not counted")
    parser.add_argument("--work", type=int, default=20, help="milliseconds after each poll")
    parser.add_argument("--rate", type=float, default=1000, help="records a second")
    client_option.add_to(parser)
    options = parser.parse_args()
    if options.child:
        return _run_child(*json.loads(options.child))
    client_option.prepare(options.clients)
    scenario = (f"{options.rate:,.0f} a second", f"{options.work} ms")
    rows = [Row(scenario, client, call) for client in options.clients for call in CALLS[client]]
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        topic = f"age-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, PARTITIONS, 1)
        arguments = (
            kafka.bootstrap,
            topic,
            PARTITIONS,
            options.warm,
            options.seconds,
            options.work,
        )
        with background_producer(kafka.bootstrap, topic, PARTITIONS, options.rate) as producer:
            time.sleep(BROKER_WARM_SECONDS)
            for turn in range(options.rounds):
                for row in runner.rotated(rows, turn):
                    producer.catch_up()
                    took = _measure(row, arguments)
                    _check(row, took, options.rate * options.seconds)
                    row.add(_figures(**took))
                    runner.log_progress(f"acknowledged meanwhile after {producer.catch_up()}")
    print(ranking.table(["records", "work a poll"], rows))
    print(ranking.verdict(GOAL, rows))
    runner.save_json(options.json, [asdict(row) for row in rows])
    return 0


def _measure(row: Row, arguments: Sequence[object]) -> dict[str, Any]:
    """Return the `micros` of each record and the `cpu_seconds` of one turn."""
    took: dict[str, Any] = runner.run_client(PROGRAMS, row.client, row.call, arguments)
    return took


def _check(row: Row, took: dict[str, Any], expected: float) -> None:
    seen = len(took["micros"])
    if seen < 100:
        raise SystemExit(f"{row.name}: {seen} records")
    if not MIN_SEEN <= seen / expected <= 2 - MIN_SEEN:
        runner.log_progress(
            f"{row.name}: {seen} records instead of {expected:.0f}: the machine pauses"
        )


def _figures(micros: list[int], cpu_seconds: float) -> dict[str, float]:
    cuts = statistics.quantiles(micros, n=100)
    return {
        "p50 ms": cuts[49] / 1000,
        "p99 ms": cuts[98] / 1000,
        "max ms": max(micros) / 1000,
        CPU: cpu_seconds / len(micros) * 1e6,
    }


def _run_child(client: str, call: str, *arguments: Any) -> int:
    bootstrap, topic, partitions, warm, seconds, work_ms = arguments
    with READERS[client, call](bootstrap, topic, partitions) as reader:
        _ages(reader, warm, work_ms / 1000)
        cpu = time.process_time()
        micros = _ages(reader, seconds, work_ms / 1000)
        cpu = time.process_time() - cpu
    print(json.dumps({"micros": micros, "cpu_seconds": cpu}))
    return 0


def _ages(reader: Reader, seconds: float, work: float) -> list[int]:
    """Poll for `seconds`, sleeping after each poll; return the ages in microseconds."""
    micros: list[int] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        records = reader.poll()
        now = time.time_ns()
        for record in records:
            (sent,) = SENT.unpack_from(reader.value(record))
            micros.append((now - sent) // 1000)
        time.sleep(work)
    return micros


@contextmanager
def _ottla(bootstrap: str, topic: str, partitions: int) -> Iterator[Reader]:
    import ottla

    with ottla.Consumer(bootstrap) as consumer:
        consumer.assign([(topic, partition) for partition in range(partitions)])
        yield Reader(lambda: consumer.poll(timeout=1.0), attrgetter("value"))


@contextmanager
def _confluent(bootstrap: str, topic: str, partitions: int, timeout: float) -> Iterator[Reader]:
    from confluent_kafka import OFFSET_END, Consumer, KafkaException, TopicPartition

    def value(message: Any) -> bytes:
        if message.error() is not None:
            raise KafkaException(message.error())
        return bytes(message.value())

    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "age"})
    consumer.assign([TopicPartition(topic, n, OFFSET_END) for n in range(partitions)])
    yield Reader(lambda: consumer.consume(500, timeout), value)
    consumer.close()


READERS: dict[tuple[str, str], Callable[..., AbstractContextManager[Reader]]] = {
    ("ottla", "poll"): _ottla,
    ("confluent-kafka", "consume(500, 1)"): partial(_confluent, timeout=1.0),
    ("confluent-kafka", "consume(500, 0)"): partial(_confluent, timeout=0.0),
}


if __name__ == "__main__":
    sys.exit(main())
