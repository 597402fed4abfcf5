"""Every client's ways to produce, on one real cluster: records per client CPU second.

    python -m benches.peers.produce [--rounds 5] [--scale 1.0] [--sizes 100,1000] [--codecs none]

Each run is a process of its own, whose CPU seconds, those of all its threads, are counted from when
its client has written a first record until all is acknowledged. In a round every way has its turn;
shown are the medians of the rounds. After each run the log must hold every record once.
aiokafka and kafka-python take part if they are installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from benches.peers.producers.task import AT_ONCE, Kind, Task, Way
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = {
    "ottla": "ottla",
    "confluent": "confluent_kafka",
    "aiokafka": "aiokafka",
    "kafka_python": "kafka",
}
RECORDS = {100: 3_000_000, 1000: 800_000}
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


@dataclass(frozen=True)
class Result:
    """One way in one scenario: what each round took."""

    value_bytes: int
    compression: str
    client: str
    way: str
    kind: str
    per_cpu_second: list[float]
    per_second: list[float]

    @property
    def cheapness(self) -> float:
        """Records per CPU second."""
        return statistics.median(self.per_cpu_second)


def main() -> int:
    options = _parser().parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size in map(int, options.sizes.split(",")):
            for codec in options.codecs.split(","):
                results += _scenario(kafka, size, codec, options.rounds, options.scale)
                print(
                    _table(results[-1:] and [r for r in results if r.value_bytes == size]),
                    flush=True,
                )
    print(_table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
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
        (client, number, way.share, Result(size, codec, name, way.name, way.kind.value, [], []))
        for client, number, name, way in _ways()
        if codec in way.codecs
    ]
    for turn in range(rounds):
        for client, number, share, result in results:
            records = max(1, round(RECORDS[size] * scale * share / AT_ONCE)) * AT_ONCE
            cpu, seconds = _measure(kafka, client, number, size, codec, records)
            result.per_cpu_second.append(records / cpu)
            result.per_second.append(records / seconds)
            print(
                f"  {turn + 1}/{rounds} {size} B {codec}: {result.client} {result.way}"
                f" ({result.kind}) {records / cpu:,.0f} a CPU second",
                file=sys.stderr,
                flush=True,
            )
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
    command = [sys.executable, "-m", "benches.peers.produce", "--child", json.dumps(order)]
    # NumPy comes with pyarrow, and its threads would spin for a while after import.
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=quiet
    )
    if done.returncode != 0:
        raise SystemExit(f"{client} {number} with {size} B {codec} failed:\n{done.stderr}")
    # And the one that it began with.
    written = sum(kafka.end_offset(topic, partition) for partition in range(PARTITIONS))
    if written != records + 1:
        raise SystemExit(
            f"{client} {number}: {written - 1} records in the log instead of {records}"
        )
    kafka.delete_topic(topic)
    took = json.loads(done.stdout.splitlines()[-1])
    return took["cpu_seconds"], took["seconds"]


def _run_child(order: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.producers.{order['client']}_ways")
    task = Task(*order["task"])  # type: ignore[misc]
    module.WAYS[order["number"]].run(task)
    print(json.dumps({"cpu_seconds": task.cpu_seconds, "seconds": task.seconds}))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    """How many times cheaper than confluent-kafka's best, and than what the goal is."""
    if result.client != "ottla":
        return ""
    times, beside = GOALS[Kind(result.kind)]
    names = [kind.value for kind in beside]
    best = max(
        other.cheapness
        for other in results
        if other.client == "confluent-kafka"
        and other.kind in names
        and (other.value_bytes, other.compression) == (result.value_bytes, result.compression)
    )
    return f"{result.cheapness / best:.1f} (goal {times:g})"


def _table(results: list[Result]) -> str:
    lines = [
        "",
        "| values | codec | client | call | records per CPU s | records/s | times confluent |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for result in results:
        call = f"{result.way}, {result.kind}"
        rate = statistics.median(result.per_second)
        lines.append(
            f"| {result.value_bytes} B | {result.compression} | {result.client} | {call} "
            f"| {result.cheapness:,.0f} | {rate:,.0f} | {_goal(result, results)} |"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--sizes", default=",".join(map(str, RECORDS)))
    parser.add_argument("--codecs", default="none,lz4,zstd")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
