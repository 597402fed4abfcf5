"""The latency of single records with ``linger.ms`` 0: ottla, confluent-kafka, Java and franz-go.

    python -m benches.peers.latency [--rounds 5] [--count 2000] [--rates 200,5000] [--replicas 1,3]
        [--what acknowledged,end-to-end] [--other-ottla DIR]

Records of 100 bytes at an even pace; ``acks=all``, idempotence; three brokers, one partition.
"acknowledged" is the time from produce to acknowledgement: at 200 records a second each record is
sent after the one before it was acknowledged, at 5,000 when it is due. "end-to-end" is the time
until an application that polls has the record. Clients take turns and warm up before each. The raw
socket is the floor: one write and one read a record. ``--other-ottla`` names a directory with
another build, which takes its turns, too. The table shows the medians of the rounds.
"""

from __future__ import annotations

import json
import statistics
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.peers import go_program, runner
from benches.peers.latency import acknowledged, end_to_end
from benches.peers.latency.schedule import VALUE_BYTES, WARM, Run, Schedule, measured
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

RESULTS = Path(".ottla-build/latency.json")
# Up to this rate, a record is sent after the one before it was acknowledged.
MAX_RATE_ONE_BY_ONE = 1000
RAW = "raw socket"
OTHER = "ottla, other build"


@dataclass(frozen=True)
class Scenario:
    """What is measured."""

    what: str
    rate: int
    replicas: int

    @property
    def waits(self) -> bool:
        """Whether a record waits for the acknowledgement of the one before it."""
        return self.what == "acknowledged" and self.rate <= MAX_RATE_ONE_BY_ONE

    @property
    def clients(self) -> list[str]:
        """All clients that take part."""
        python = acknowledged.CLIENTS if self.what == "acknowledged" else end_to_end.CLIENTS
        raw = [RAW] if self.waits else []
        return [*python, "Java", "franz-go", *raw]


@dataclass(frozen=True)
class Turn:
    """The arguments of a client's process."""

    bootstrap: str
    leader: str
    topic: str
    count: int


def run_here(client: str, scenario: Scenario, turn: Turn) -> Run:
    """Run a Python client in this process."""
    schedule = Schedule(turn.count, 1 / scenario.rate)
    if client == RAW:
        return measured(
            schedule, lambda: acknowledged.raw(turn.leader, turn.topic, schedule, waits=True)
        )
    if scenario.what == "acknowledged":
        call = acknowledged.CLIENTS[client]
        return measured(
            schedule, lambda: call(turn.bootstrap, turn.topic, schedule, waits=scenario.waits)
        )
    receive = end_to_end.CLIENTS[client]
    return measured(schedule, lambda: receive(turn.bootstrap, turn.topic, schedule))


def run_elsewhere(client: str, scenario: Scenario, turn: Turn, other: str | None) -> Run:
    """Run a client in a process of its own."""
    how = "one-by-one" if scenario.waits else scenario.what
    nanos = round(1e9 / scenario.rate)
    arguments = [how, turn.bootstrap, turn.topic, VALUE_BYTES, WARM, turn.count, nanos]
    if client == "Java":
        found = runner.run_java("Latency.java", arguments)
    elif client == "franz-go":
        found = runner.run_go(["latency", *arguments])
    else:
        build = other if client == OTHER else None
        child = ["ottla" if client == OTHER else client, asdict(scenario), asdict(turn)]
        found = runner.run_python("benches.peers.latency", child, first_on_path=build)
    return Run([each / 1e6 for each in found["micros"]], found["cpu"] / 1e6)


def percentiles(run: Run) -> dict[str, float]:
    """Return microseconds by column."""
    cuts = statistics.quantiles(run.took, n=1000)
    return {
        "p50": cuts[499] * 1e6,
        "p99": cuts[989] * 1e6,
        "p99.9": cuts[998] * 1e6,
        "CPU": run.cpu * 1e6,
    }


def main() -> int:
    parser = runner.argument_parser(__doc__, RESULTS)
    parser.add_argument("--count", type=int, default=2000, help="records at 200 a second")
    parser.add_argument("--rates", type=runner.parse_numbers, default=[200, 5000])
    parser.add_argument("--replicas", type=runner.parse_numbers, default=[1, 3])
    parser.add_argument("--what", type=runner.parse_names, default=["acknowledged", "end-to-end"])
    parser.add_argument(
        "--without", type=runner.parse_names, default=[], help="clients to leave out"
    )
    parser.add_argument("--other-ottla", help="a directory with another build of ottla")
    options = parser.parse_args()
    if options.child:
        client, scenario, turn = json.loads(options.child)
        run = run_here(client, Scenario(**scenario), Turn(**turn))
        print(json.dumps({"micros": [each * 1e6 for each in run.took], "cpu": run.cpu * 1e6}))
        return 0
    if "franz-go" not in options.without:
        go_program.program()
    results: list[dict[str, Any]] = []
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for scenario in _scenarios(options):
            results.append({**asdict(scenario), "clients": _measure(kafka, scenario, options)})
            _print(results[-1])
    runner.save_json(options.json, results)
    return 0


def _scenarios(options: Any) -> Iterator[Scenario]:
    for what in options.what:
        for replicas in options.replicas:
            for rate in options.rates:
                yield Scenario(what, rate, replicas)


def _measure(kafka: KafkaCluster, scenario: Scenario, options: Any) -> dict[str, dict[str, float]]:
    """Return the medians of each client's rounds."""
    topic = f"latency-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, 1, scenario.replicas)
    # As many seconds of records at a higher rate, up to ten times as many records.
    count = options.count * min(10, max(1, scenario.rate // 200))
    turn = Turn(kafka.bootstrap, _leader(kafka.bootstrap, topic), topic, count)
    clients = [client for client in scenario.clients if client not in options.without]
    if options.other_ottla:
        clients.append(OTHER)
    rounds: dict[str, list[dict[str, float]]] = {client: [] for client in clients}
    for number in range(options.rounds):
        for client in runner.rotated(clients, number):
            found = percentiles(run_elsewhere(client, scenario, turn, options.other_ottla))
            rounds[client].append(found)
            figures = ", ".join(f"{name} {figure:.0f}" for name, figure in found.items())
            runner.log_progress(f"{scenario}: {client}: {figures}")
    written = kafka.end_offset(topic, 0)
    least = options.rounds * len(clients) * (WARM + count)
    if written < least:
        raise SystemExit(f"{written} records in the log instead of {least} or more")
    return {
        client: {name: statistics.median(each[name] for each in found) for name in found[0]}
        for client, found in rounds.items()
    }


def _leader(bootstrap: str, topic: str) -> str:
    """The address of the leader of partition 0."""
    import ottla

    with ottla.Admin(bootstrap) as admin:
        leader = admin.describe_topics([topic])[topic].partitions[0].leader
        brokers = {broker.id: broker for broker in admin.describe_cluster().brokers}
    if leader is None:
        raise SystemExit(f"{topic} has no leader")
    return f"{brokers[leader].host}:{brokers[leader].port}"


def _print(result: dict[str, Any]) -> None:
    what, rate, replicas = result["what"], result["rate"], result["replicas"]
    print(f"\n{what}, {rate} records a second, replicas: {replicas}; in µs\n")
    print("| client | p50 | p99 | p99.9 | CPU |\n|---|---:|---:|---:|---:|")
    for client, found in result["clients"].items():
        print(f"| {client} | " + " | ".join(f"{figure:.0f}" for figure in found.values()) + " |")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
