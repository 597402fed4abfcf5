"""Every client's calls to produce, on one real cluster: records per client CPU second.

    python -m benches.peers.produce [--rounds 5] [--scale 1.0] [--sizes 100,1000] [--codecs none]

Each run is its own process. The CPU seconds of all its threads are counted from the
acknowledgement of a first record until all records are acknowledged. Calls take turns; the table
shows the medians of the rounds. After each run, the log must contain every record once. aiokafka
and kafka-python take part if they are installed.
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

from benches.peers import cpu_cost, runner
from benches.peers.cpu_cost import Result
from benches.peers.producers.task import AT_ONCE, Call, Kind, Task
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = {
    "ottla": "ottla",
    "confluent": "confluent_kafka",
    "aiokafka": "aiokafka",
    "kafka_python": "kafka",
    "raw": "socket",
}
RECORDS = {100: 5_000_000, 1000: 1_000_000}
PARTITIONS = 6
RESULTS = Path(".ottla-build/produce.json")
# The factors by which ottla's calls are to be cheaper than confluent-kafka's.
GOALS = {
    Kind.ARROW: (8.0, (Kind.RECORD, Kind.LIST)),
    Kind.LIST: (4.0, (Kind.RECORD, Kind.LIST)),
    Kind.RECORD: (1.5, (Kind.RECORD, Kind.LIST)),
    Kind.FUTURES: (5.0, (Kind.FUTURES,)),
    Kind.TASKS: (5.0, (Kind.TASKS,)),
}


def main() -> int:
    options = cpu_cost.argument_parser(
        __doc__, RESULTS, RECORDS, ["none", "lz4", "zstd"]
    ).parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size, codec in itertools.product(options.sizes, options.codecs):
            results += _scenario(kafka, size, codec, options.rounds, options.scale)
    cpu_cost.report(options.json, results, lambda result: _goal(result, results))
    return 0


def _calls() -> Iterator[tuple[str, int, str, Call]]:
    for client, package in CLIENTS.items():
        if find_spec(package) is None:
            print(f"{client} is not installed and does not take part", file=sys.stderr)
            continue
        module = importlib.import_module(f"benches.peers.producers.{client}_calls")
        for number, call in enumerate(module.CALLS):
            yield client, number, module.NAME, call


def _scenario(
    kafka: KafkaCluster, size: int, codec: str, rounds: int, scale: float
) -> list[Result]:
    results = [
        (client, number, call.share, Result(size, codec, name, call.name, call.kind.value))
        for client, number, name, call in _calls()
        if codec in call.codecs
    ]
    for _ in range(rounds):
        for client, number, share, result in results:
            records = max(1, round(RECORDS[size] * scale * share / AT_ONCE)) * AT_ONCE
            result.add(records, *_measure(kafka, client, number, size, codec, records))
    return [result for *_, result in results]


def _measure(
    kafka: KafkaCluster, client: str, number: int, size: int, codec: str, records: int
) -> tuple[float, float]:
    """Return the CPU seconds and the seconds of one run, on its own topic."""
    topic = f"produce-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, PARTITIONS, 1)
    arguments = {
        "client": client,
        "number": number,
        "task": [kafka.bootstrap, topic, size, records, codec],
    }
    took = runner.run_python("benches.peers.produce", arguments)
    # Plus the first record, which is not counted.
    written = sum(kafka.end_offset(topic, partition) for partition in range(PARTITIONS))
    if written != records + 1:
        raise SystemExit(
            f"{client} {number}: {written - 1} records in the log instead of {records}"
        )
    kafka.delete_topic(topic)
    return took["cpu_seconds"], took["seconds"]


def _run_child(arguments: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.producers.{arguments['client']}_calls")
    task = Task(*arguments["task"])  # type: ignore[misc]
    module.CALLS[arguments["number"]].run(task)
    print(json.dumps({"cpu_seconds": task.cpu_seconds, "seconds": task.seconds}))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    goal, baseline = GOALS[Kind(result.kind)]
    times = cpu_cost.times_confluent(result, results, [kind.value for kind in baseline])
    return f"{times:.1f} (goal {goal:g})"


if __name__ == "__main__":
    sys.exit(main())
