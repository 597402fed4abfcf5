"""Every client's ways to produce, on one real cluster: records per client CPU second.

    python -m benches.peers.produce [--rounds 5] [--scale 1.0] [--sizes 100,1000] [--codecs none]

Each run is a process of its own, whose CPU seconds, those of all its threads, are counted from when
its client has written a first record until all is acknowledged. In a round every way has its turn;
shown are the medians of the rounds. After each run the log must hold every record once.
aiokafka and kafka-python take part if they are installed.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import uuid
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benches.peers import cheapness, turns
from benches.peers.cheapness import Result
from benches.peers.producers.task import AT_ONCE, Kind, Task, Way
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = {
    "ottla": "ottla",
    "confluent": "confluent_kafka",
    "aiokafka": "aiokafka",
    "kafka_python": "kafka",
}
RECORDS = {100: 5_000_000, 1000: 1_000_000}
PARTITIONS = 6
RESULTS = Path(".ottla-build/produce.json")
# What of ours is to be how many times cheaper than what of confluent-kafka.
GOALS = {
    Kind.ARROW: (8.0, (Kind.RECORD, Kind.LIST)),
    Kind.LIST: (4.0, (Kind.RECORD, Kind.LIST)),
    Kind.RECORD: (1.5, (Kind.RECORD, Kind.LIST)),
    Kind.FUTURES: (5.0, (Kind.FUTURES,)),
    Kind.TASKS: (5.0, (Kind.TASKS,)),
}


def main() -> int:
    options = cheapness.parser(__doc__, RESULTS, RECORDS, ["none", "lz4", "zstd"]).parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size, codec in itertools.product(options.sizes, options.codecs):
            results += _scenario(kafka, size, codec, options.rounds, options.scale)
    cheapness.report(options.json, results, lambda result: _goal(result, results))
    return 0


def _ways() -> Iterator[tuple[str, int, str, Way]]:
    for client, package in CLIENTS.items():
        if find_spec(package) is None:
            print(f"{client} is not installed and takes no part", file=sys.stderr)
            continue
        module = importlib.import_module(f"benches.peers.producers.{client}_ways")
        for number, way in enumerate(module.WAYS):
            yield client, number, module.NAME, way


def _scenario(
    kafka: KafkaCluster, size: int, codec: str, rounds: int, scale: float
) -> list[Result]:
    results = [
        (client, number, way.share, Result(size, codec, name, way.name, way.kind.value))
        for client, number, name, way in _ways()
        if codec in way.codecs
    ]
    for _ in range(rounds):
        for client, number, share, result in results:
            records = max(1, round(RECORDS[size] * scale * share / AT_ONCE)) * AT_ONCE
            result.add(records, *_measure(kafka, client, number, size, codec, records))
    return [result for *_, result in results]


def _measure(
    kafka: KafkaCluster, client: str, number: int, size: int, codec: str, records: int
) -> tuple[float, float]:
    """The CPU seconds and the seconds of one run, on a topic of its own."""
    topic = f"produce-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, PARTITIONS, 1)
    order = {
        "client": client,
        "number": number,
        "task": [kafka.bootstrap, topic, size, records, codec],
    }
    took = turns.in_python("benches.peers.produce", order)
    # And the one that it began with.
    written = sum(kafka.end_offset(topic, partition) for partition in range(PARTITIONS))
    if written != records + 1:
        raise SystemExit(
            f"{client} {number}: {written - 1} records in the log instead of {records}"
        )
    kafka.delete_topic(topic)
    return took["cpu_seconds"], took["seconds"]


def _run_child(order: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.producers.{order['client']}_ways")
    task = Task(*order["task"])  # type: ignore[misc]
    module.WAYS[order["number"]].run(task)
    print(json.dumps({"cpu_seconds": task.cpu_seconds, "seconds": task.seconds}))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    goal, beside = GOALS[Kind(result.kind)]
    times = cheapness.times_confluent(result, results, [kind.value for kind in beside])
    return f"{times:.1f} (goal {goal:g})"


if __name__ == "__main__":
    sys.exit(main())
