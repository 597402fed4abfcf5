"""Every client's ways to consume, on one real cluster: records per client CPU second.

    python -m benches.peers.consume [--rounds 3] [--scale 1.0] [--sizes 100,1000] [--codecs none]

All consume the same topics, which confluent-kafka fills in batches of a megabyte, partitions by
assignment. Each run is a process of its own, whose CPU seconds, those of all its threads, are
counted from the first records on until all are there. In a round every way has its turn; shown are
the medians of the rounds. What checks no CRCs is compared with what checks none. It takes some
seven minutes on four quiet cores.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benches.peers import cheapness, turns
from benches.peers.cheapness import Result
from benches.peers.consumers.task import Kind, Task, Way
from benches.peers.filling import Contents, fill
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = ["ottla", "confluent"]
RECORDS = {100: 5_000_000, 1000: 1_000_000}
ROUNDS = 3
PARTITIONS = 6
RESULTS = Path(".ottla-build/consume.json")
# What of ours is to be how many times cheaper than what of confluent-kafka, by size.
GOALS: dict[Kind, tuple[dict[int, float], Kind]] = {
    Kind.ARROW: ({100: 8.0, 1000: 3.0}, Kind.LIST),
    Kind.LIST: ({100: 1.5, 1000: 1.5}, Kind.LIST),
    Kind.ASYNC: ({100: 10.0, 1000: 10.0}, Kind.ASYNC),
    Kind.ARROW_UNCHECKED: ({}, Kind.LIST_UNCHECKED),
    Kind.LIST_UNCHECKED: ({}, Kind.LIST_UNCHECKED),
}


def main() -> int:
    parser = cheapness.parser(__doc__, RESULTS, RECORDS, ["none", "lz4"])
    parser.set_defaults(rounds=ROUNDS)
    options = parser.parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size, codec in itertools.product(options.sizes, options.codecs):
            results += _scenario(kafka, size, codec, options.rounds, options.scale)
    cheapness.report(options.json, results, lambda result: _goal(result, results))
    return 0


def _ways() -> Iterator[tuple[str, int, str, Way]]:
    for client in CLIENTS:
        module = importlib.import_module(f"benches.peers.consumers.{client}_ways")
        for number, way in enumerate(module.WAYS):
            yield client, number, module.NAME, way


def _scenario(
    kafka: KafkaCluster, size: int, codec: str, rounds: int, scale: float
) -> list[Result]:
    ways = list(_ways())
    topics: dict[int, str] = {}
    for *_, way in ways:
        records = round(RECORDS[size] * scale * way.share)
        if records not in topics:
            topics[records] = fill(kafka, Contents(size, codec, records, PARTITIONS))
    results = [Result(size, codec, name, way.name, way.kind.value) for _, _, name, way in ways]
    for _ in range(rounds):
        for (client, number, _, way), result in zip(ways, results, strict=True):
            records = round(RECORDS[size] * scale * way.share)
            task = [kafka.bootstrap, topics[records], PARTITIONS, records, size]
            order = {"client": client, "number": number, "task": task}
            result.add(**turns.in_python("benches.peers.consume", order))
    for topic in topics.values():
        kafka.delete_topic(topic)
    return results


def _run_child(order: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.consumers.{order['client']}_ways")
    task = Task(*order["task"])  # type: ignore[misc]
    module.WAYS[order["number"]].run(task)
    task.check()
    took = {"records": task.measured, "cpu_seconds": task.cpu_seconds, "seconds": task.seconds}
    print(json.dumps(took))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    goals, beside = GOALS[Kind(result.kind)]
    times = cheapness.times_confluent(result, results, [beside.value])
    goal = goals.get(result.value_bytes)
    return f"{times:.1f}" if goal is None else f"{times:.1f} (goal {goal:g})"


if __name__ == "__main__":
    sys.exit(main())
