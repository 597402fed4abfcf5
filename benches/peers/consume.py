"""Every client's calls to consume, on one real cluster: records per client CPU second.

    python -m benches.peers.consume [--rounds 3] [--scale 1.0] [--sizes 100,1000] [--codecs none]

All clients consume the same topics, which confluent-kafka fills in batches of one megabyte;
partitions are assigned. Each run is its own process. The CPU seconds of all its threads are
counted from the first records to the last. Calls take turns; the table shows the medians of the
rounds. Calls that do not check CRCs are compared with others that do not. A run takes about seven
minutes on four idle cores.
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benches.peers import cpu_cost, runner
from benches.peers.consumers.task import Call, Kind, Task
from benches.peers.cpu_cost import Result
from benches.peers.topic_data import TopicData, fill_topic
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = ["ottla", "confluent", "raw"]
RECORDS = {100: 5_000_000, 1000: 1_000_000}
ROUNDS = 3
PARTITIONS = 6
RESULTS = Path(".ottla-build/consume.json")
# The factors by which ottla's calls are to be cheaper than confluent-kafka's, by size.
GOALS: dict[Kind, tuple[dict[int, float], Kind]] = {
    Kind.ARROW: ({100: 8.0, 1000: 3.0}, Kind.LIST),
    Kind.LIST: ({100: 1.5, 1000: 1.5}, Kind.LIST),
    Kind.ASYNC: ({100: 10.0, 1000: 10.0}, Kind.ASYNC),
    Kind.ARROW_UNCHECKED: ({}, Kind.LIST_UNCHECKED),
    Kind.LIST_UNCHECKED: ({}, Kind.LIST_UNCHECKED),
}


def main() -> int:
    parser = cpu_cost.argument_parser(__doc__, RESULTS, RECORDS, ["none", "lz4"])
    parser.set_defaults(rounds=ROUNDS)
    options = parser.parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size, codec in itertools.product(options.sizes, options.codecs):
            results += _scenario(kafka, size, codec, options.rounds, options.scale)
    cpu_cost.report(options.json, results, lambda result: _goal(result, results))
    return 0


def _calls() -> Iterator[tuple[str, int, str, Call]]:
    for client in CLIENTS:
        module = importlib.import_module(f"benches.peers.consumers.{client}_calls")
        for number, call in enumerate(module.CALLS):
            yield client, number, module.NAME, call


def _scenario(
    kafka: KafkaCluster, size: int, codec: str, rounds: int, scale: float
) -> list[Result]:
    calls = list(_calls())
    topics: dict[int, str] = {}
    for *_, call in calls:
        records = round(RECORDS[size] * scale * call.share)
        if records not in topics:
            topics[records] = fill_topic(kafka, TopicData(size, codec, records, PARTITIONS))
    results = [Result(size, codec, name, call.name, call.kind.value) for _, _, name, call in calls]
    for _ in range(rounds):
        for (client, number, _, call), result in zip(calls, results, strict=True):
            records = round(RECORDS[size] * scale * call.share)
            task = [kafka.bootstrap, topics[records], PARTITIONS, records, size]
            arguments = {"client": client, "number": number, "task": task}
            result.add(**runner.run_python("benches.peers.consume", arguments))
    for topic in topics.values():
        kafka.delete_topic(topic)
    return results


def _run_child(arguments: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.consumers.{arguments['client']}_calls")
    task = Task(*arguments["task"])  # type: ignore[misc]
    module.CALLS[arguments["number"]].run(task)
    task.check()
    took = {"records": task.measured, "cpu_seconds": task.cpu_seconds, "seconds": task.seconds}
    print(json.dumps(took))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    goals, baseline = GOALS[Kind(result.kind)]
    times = cpu_cost.times_confluent(result, results, [baseline.value])
    goal = goals.get(result.value_bytes)
    return f"{times:.1f}" if goal is None else f"{times:.1f} (goal {goal:g})"


if __name__ == "__main__":
    sys.exit(main())
