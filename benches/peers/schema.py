"""Values with a schema, decoded to Arrow: records per second and CPU seconds per million.

    python -m benches.peers.schema [--rounds 3] [--scale 1.0] [--formats avro] [--shapes flat]

Avro, Protobuf and JSON in Confluent's format, each with 10 flat and 40 nested fields, written by
confluent-kafka's serializers to six partitions. A registry in this process serves all clients. Each
run is its own process, which decodes a part of the topic before it is measured, from creating the
consumer to the last array. All tables have the same sums. Calls take turns; the table shows the
medians of the rounds. Clients that decode record by record read fewer records. aiokafka takes part
if it is installed.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from benches.peers import runner
from benches.peers.topic_data import TopicData, write_records
from benches.peers.typed.task import Call, TypedTask
from benches.schemas import shapes
from benches.schemas.sums import leaf_sums
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = {"ottla": "ottla", "confluent": "confluent_kafka", "aiokafka": "aiokafka"}
# Of ottla, and of the other clients.
RECORDS = {"flat": (2_000_000, 100_000), "nested": (500_000, 25_000)}
DISTINCT = 5_000
WARM_RECORDS = 5_000
PARTITIONS = 6
RESULTS = Path(".ottla-build/schema.json")
# The factors by which ottla is to be cheaper than confluent-kafka with its deserializers.
GOALS = {"avro": 40.0, "protobuf": 30.0, "json": 20.0}


@dataclass(frozen=True)
class Result:
    """The measurements of one call, one per round."""

    format: str
    shape: str
    client: str
    call: str
    per_second: list[float] = field(default_factory=list)
    cpu_per_million: list[float] = field(default_factory=list)

    def add(self, records: int, cpu_seconds: float, seconds: float) -> None:
        """Add a round."""
        self.per_second.append(records / seconds)
        self.cpu_per_million.append(cpu_seconds / records * 1e6)
        runner.log_progress(
            f"{self.format} {self.shape}: {self.client} {self.call} "
            f"{self.per_second[-1]:,.0f}/s, CPU {self.cpu_per_million[-1]:.2f} s per million"
        )

    @property
    def cpu(self) -> float:
        """The median of CPU seconds per million records."""
        return statistics.median(self.cpu_per_million)


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--formats", type=runner.parse_names, default=list(GOALS))
    parser.add_argument("--shapes", type=runner.parse_names, default=list(shapes.SHAPES))
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_run_child(json.loads(options.child))))
        return 0
    from ottla.testing import MockRegistry

    results: list[Result] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka, MockRegistry() as registry:
        for name in options.formats:
            for shape in options.shapes:
                scenario = _Scenario(kafka, registry.url, name, shape)
                results += scenario.run(options.rounds, options.scale)
    print(table(results))
    runner.save_json(options.json, [asdict(result) for result in results])
    return 0


def _calls(format_name: str) -> Iterator[tuple[str, int, Call]]:
    """Yield each call with its module and its number there."""
    for module, package in CLIENTS.items():
        if find_spec(package):
            imported = importlib.import_module(f"benches.peers.typed.{module}_calls")
            for number, call in enumerate(imported.CALLS.get(format_name, [])):
                yield module, number, call


@dataclass(frozen=True)
class _Scenario:
    """A format and a shape."""

    kafka: KafkaCluster
    registry: str
    format: str
    shape: str

    def run(self, rounds: int, scale: float) -> list[Result]:
        """Measure all calls."""
        records = shapes.records(self.shape, DISTINCT)
        many, few = (max(1, round(count * scale / DISTINCT)) for count in RECORDS[self.shape])
        topics = {times: self._fill(records, times) for times in (many, few)}
        sums = self._sums(records)
        calls = list(_calls(self.format))
        results = [Result(self.format, self.shape, call.client, call.name) for _, _, call in calls]
        for turn in range(rounds):
            for (module, number, call), result in runner.rotated(
                list(zip(calls, results, strict=True)), turn
            ):
                times = many if call.client == "ottla" else few
                task = {
                    "bootstrap": self.kafka.bootstrap,
                    "topic": topics[times],
                    "partitions": PARTITIONS,
                    "records": times * DISTINCT,
                    "value_bytes": 0,
                    "shape": self.shape,
                    "registry": self.registry,
                }
                arguments = [self.format, module, number, task]
                measured = runner.run_python("benches.peers.schema", arguments)
                found = measured.pop("sums")
                if found != {path: count * times for path, count in sums.items()}:
                    raise SystemExit(f"{call.client} {call.name} has another table: {found}")
                result.add(**measured)
        for topic in topics.values():
            self.kafka.delete_topic(topic)
        return results

    def _fill(self, records: list[Any], times: int) -> str:
        from benches.schemas.serializers import serializer

        topic = f"typed-{uuid.uuid4().hex[:8]}"
        self.kafka.create_topic(topic, PARTITIONS, 1)
        serialize = serializer(self.format, self.shape, self.registry, topic)
        data = TopicData(0, "none", times * DISTINCT, PARTITIONS)
        write_records(self.kafka, topic, data, [serialize(record) for record in records])
        return topic

    def _sums(self, records: list[Any]) -> Counter[str]:
        """Return the sums of the table that each client is to have."""
        if self.format == "json":
            records = [shapes.as_json(record) for record in records]
        timestamp = pa.string() if self.format == "json" else None
        kind = shapes.arrow_type(shapes.avro_schema(self.shape), timestamp)
        return leaf_sums(pa.array(records, kind))


def _run_child(arguments: list[Any]) -> dict[str, Any]:
    format_name, module, number, fields = arguments
    calls = importlib.import_module(f"benches.peers.typed.{module}_calls").CALLS
    run = calls[format_name][number].run
    task = TypedTask(**fields)
    run(replace(task, records=min(WARM_RECORDS, task.records), sums=Counter()))
    task.begin()
    run(task)
    task.check()
    took = {"records": task.records, "seconds": task.seconds, "cpu_seconds": task.cpu_seconds}
    return {**took, "sums": task.sums}


def table(results: list[Result]) -> str:
    """Return the table in Markdown, compared with confluent-kafka's deserializer."""
    lines = ["", "| format | fields | client | call | records/s | CPU s per million | times |"]
    lines.append("|---|---|---|---|---:|---:|---:|")
    for result in results:
        scenario = result.format, result.shape
        baseline = next(
            other.cpu
            for other in results
            if (other.format, other.shape, other.client) == (*scenario, "confluent-kafka")
        )
        times = f"{baseline / result.cpu:.1f}"
        if result.client == "ottla":
            times += f" (goal {GOALS[result.format]:g})"
        lines.append(
            f"| {result.format} | {shapes.SHAPES[result.shape]}, {result.shape} | {result.client} "
            f"| {result.call} | {statistics.median(result.per_second):,.0f} | {result.cpu:.2f} "
            f"| {times} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
