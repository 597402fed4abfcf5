"""Every client's ways to consume, on one real cluster: records per client CPU second.

    python -m benches.peers.consume [--rounds 5] [--scale 1.0] [--sizes 100,1000] [--codecs none]

All consume the same topics, which confluent-kafka fills in batches of a megabyte, partitions by
assignment. Each run is a process of its own, whose CPU seconds, those of all its threads, are
counted from the first records on until all are there. In a round every way has its turn; shown are
the medians of the rounds.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import Producer

from benches.peers.consumers.task import Kind, Task, Way
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = ["ottla", "confluent"]
RECORDS = {100: 3_000_000, 1000: 800_000}
PARTITIONS = 6
RESULTS = Path(".ottla-build/consume.json")
# What of ours is to be how many times cheaper than what of confluent-kafka, by size.
GOALS = {
    Kind.ARROW: ({100: 8.0, 1000: 3.0}, Kind.LIST),
    Kind.LIST: ({100: 1.5, 1000: 1.5}, Kind.LIST),
    Kind.ASYNC: ({100: 10.0, 1000: 10.0}, Kind.ASYNC),
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
    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for size in map(int, options.sizes.split(",")):
            for codec in options.codecs.split(","):
                results += _scenario(kafka, size, codec, options.rounds, options.scale)
    print(_table(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
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
            topics[records] = _fill(kafka, size, codec, records)
    results = [
        Result(size, codec, name, way.name, way.kind.value, [], []) for _, _, name, way in ways
    ]
    for turn in range(rounds):
        for (client, number, _, way), result in zip(ways, results, strict=True):
            records = round(RECORDS[size] * scale * way.share)
            task = [kafka.bootstrap, topics[records], PARTITIONS, records, size]
            per_cpu_second, per_second = _measure(client, number, task)
            result.per_cpu_second.append(per_cpu_second)
            result.per_second.append(per_second)
            print(
                f"  {turn + 1}/{rounds} {size} B {codec}: {result.client} {result.way}"
                f" {per_cpu_second:,.0f} a CPU second, {per_second:,.0f}/s",
                file=sys.stderr,
                flush=True,
            )
    for topic in topics.values():
        kafka.delete_topic(topic)
    return results


def _fill(kafka: KafkaCluster, size: int, codec: str, records: int) -> str:
    """A topic of values of which half can be compressed."""
    topic = f"consume-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, PARTITIONS, 1)
    source = random.Random(size)
    half = size // 2
    values = [source.randbytes(half) + bytes(size - half) for _ in range(10_000)]
    failed: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "batch.num.messages": 100_000,
            "compression.type": codec,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1_048_576,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failed.append(error),
        }
    )
    for n in range(records):
        while True:
            try:
                producer.produce(topic, values[n % len(values)], partition=n % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(120) or failed:
        raise SystemExit(f"not all was delivered: {failed[:1]}")
    return topic


def _measure(client: str, number: int, task: list[object]) -> tuple[float, float]:
    order = {"client": client, "number": number, "task": task}
    command = [sys.executable, "-m", "benches.peers.consume", "--child", json.dumps(order)]
    # NumPy comes with pyarrow, and its threads would spin for a while after import.
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=quiet
    )
    if done.returncode != 0:
        raise SystemExit(f"{client} {number} with {task} failed:\n{done.stderr}")
    took = json.loads(done.stdout.splitlines()[-1])
    return took["records"] / took["cpu_seconds"], took["records"] / took["seconds"]


def _run_child(order: dict[str, object]) -> int:
    module = importlib.import_module(f"benches.peers.consumers.{order['client']}_ways")
    task = Task(*order["task"])  # type: ignore[misc]
    module.WAYS[order["number"]].run(task)
    task.check()
    took = {"records": task.measured, "cpu_seconds": task.cpu_seconds, "seconds": task.seconds}
    print(json.dumps(took))
    return 0


def _goal(result: Result, results: list[Result]) -> str:
    """How many times cheaper than confluent-kafka's best, and than what the goal is."""
    if result.client != "ottla":
        return ""
    goals, beside = GOALS[Kind(result.kind)]
    best = max(
        other.cheapness
        for other in results
        if other.client != "ottla"
        and other.kind == beside.value
        and (other.value_bytes, other.compression) == (result.value_bytes, result.compression)
    )
    return f"{result.cheapness / best:.1f} (goal {goals.get(result.value_bytes, 0):g})"


def _table(results: list[Result]) -> str:
    lines = [
        "",
        "| values | codec | client | call | records per CPU s | records/s | times confluent |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for result in results:
        rate = statistics.median(result.per_second)
        lines.append(
            f"| {result.value_bytes} B | {result.compression} | {result.client} | {result.way} "
            f"| {result.cheapness:,.0f} | {rate:,.0f} | {_goal(result, results)} |"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--sizes", default=",".join(map(str, RECORDS)))
    parser.add_argument("--codecs", default="none,lz4")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
