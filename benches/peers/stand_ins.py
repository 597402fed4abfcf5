"""The cost of `ottla.compat` beside the clients that it stands in for: the same programs, in turns.

    python -m benches.peers.stand_ins [--rounds 3] [--sizes 100,1000] [--clients aiokafka,…]

Each run is its own process, in the environment of the client's own test suite (tests/peer_suites),
on three brokers. The table shows the medians of the CPU time of the process,
and fails if a stand-in takes more than GOAL times that of the original.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

import ottla
from benches.peers import runner
from benches.peers.stand_in_programs import PROGRAMS
from ottla.testing import MockRegistry
from tests.peer_suites import environments
from tests.support.jars import REPOSITORY
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

GOAL = 0.7
WHICH = ("original", "stand-in")
# The name of each client's environment.
ENVIRONMENTS = {
    "confluent_kafka": "confluent-kafka",
    "aiokafka": "aiokafka",
    "kafka": "kafka-python",
}
RECORDS = 200_000
# Programs that take more time for each record.
FEWER = {"AIOProducer": 50_000, "AvroDeserializer": 100_000, "kafka": 50_000}
PARTITIONS = 3
SIZES = [100, 1000]
# Its record is always the same.
WITHOUT_VALUES = "AvroDeserializer"
RESULTS = Path(".ottla-build/stand-ins.json")


@dataclass
class Result:
    """The CPU time of a program in microseconds a record, by client and round."""

    client: str
    program: str
    value_bytes: int
    records: int
    original: list[float] = field(default_factory=list)
    stand_in: list[float] = field(default_factory=list)

    def add(self, which: str, cpu_seconds: float) -> None:
        """Add a run."""
        micros = cpu_seconds / self.records * 1e6
        (self.original if which == WHICH[0] else self.stand_in).append(micros)
        runner.log_progress(
            f"{self.client}: {self.program}, {self.value_bytes} B: {which} {micros:.2f} us a record"
        )

    @property
    def ratio(self) -> float:
        """The stand-in's median beside the original's."""
        return statistics.median(self.stand_in) / statistics.median(self.original)


def _run(which: str, result: Result, kafka: KafkaCluster, topic: str, registry: str) -> float:
    interpreter = environments.python(ENVIRONMENTS[result.client])
    command = [str(interpreter), "-m", "benches.peers.stand_in_programs", which, result.client]
    command += [result.program, kafka.bootstrap, topic, registry]
    command += [str(result.value_bytes), str(result.records)]
    path = os.pathsep.join([str(REPOSITORY / "python"), str(REPOSITORY)])
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=runner.TIMEOUT_SECONDS,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured["cpu_seconds"]


def _records(client: str, program: str) -> int:
    return FEWER.get(program, FEWER.get(client, RECORDS))


def _topics(kafka: KafkaCluster, size: int, results: list[Result]) -> tuple[str, str]:
    """Return a topic to read, with enough records of a size, and one to write to."""
    filled, written = (f"stand-ins-{uuid.uuid4().hex[:8]}" for _ in range(2))
    for topic in (filled, written):
        kafka.create_topic(topic, PARTITIONS, 1)
    most = max(result.records for result in results) + 1
    with ottla.Producer(kafka.bootstrap) as producer:
        for first in range(0, most, 1000):
            count = min(1000, most - first)
            partitions = [number % PARTITIONS for number in range(count)]
            producer.send_batch(filled, [b"x" * size] * count, partitions=partitions)
    return filled, written


def _table(results: list[Result]) -> str:
    lines = [
        "",
        "| client | program | values | original, us a record | stand-in | ratio |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for result in results:
        original, stand_in = map(statistics.median, (result.original, result.stand_in))
        row = f"| {result.client} | {result.program} | {result.value_bytes} B "
        row += f"| {original:.2f} | {stand_in:.2f} "
        lines.append(f"{row}| {result.ratio:.2f}{' (missed)' if result.ratio > GOAL else ''} |")
    return "\n".join(lines)


def main() -> int:
    """Run the benchmark; return 1 if a goal was missed."""
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.set_defaults(rounds=3)
    parser.add_argument("--sizes", type=runner.parse_numbers, default=SIZES)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--clients", type=runner.parse_names, default=list(PROGRAMS))
    parser.add_argument("--programs", type=runner.parse_names, help="only these, by first word")
    options = parser.parse_args()
    results = [
        Result(client, program, size, int(_records(client, program) * options.scale))
        for client in options.clients
        for program in PROGRAMS[client]
        for size in options.sizes
        if options.programs is None or program.split(",")[0] in options.programs
        if program != WITHOUT_VALUES or size == options.sizes[-1]
    ]
    with KafkaCluster(jvm=LONG_LIVED) as kafka, MockRegistry() as registry:
        topics = {size: _topics(kafka, size, results) for size in options.sizes}
        for turn in range(options.rounds):
            for result in results:
                filled, written = topics[result.value_bytes]
                writes = any(word in result.program for word in ("produce", "send", "AIOProducer"))
                topic = written if writes else filled
                for which in runner.rotated(WHICH, turn):
                    result.add(which, _run(which, result, kafka, topic, registry.url))
    print(_table(results))
    runner.save_json(options.json, [asdict(result) for result in results])
    return 1 if any(result.ratio > GOAL for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
