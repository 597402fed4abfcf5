"""Every client consumes on one real cluster: one table. `produce.py` measures producing.

    python -m benches.peers.run [--json FILE] [--clients ottla,confluent] [--scale 1.0] [--repeat 3]

Each run is its own process (`--child`), so that one client's threads and memory do not affect the
next. Interpreter start and imports are not counted. The table shows the repeat with the least
CPU, since the others measured the machine's noise.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Producer

from benches.peers.scenario import Job, Result, Scenario, chunks
from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

CLIENTS = {"ottla": "benches.peers.ottla_client", "confluent": "benches.peers.confluent_client"}
SCENARIOS = [Scenario(100, 5_000_000), Scenario(1000, 1_000_000)]
RESULTS = Path(".ottla-build/peers.json")


def main() -> int:
    options = _parser().parse_args()
    if options.child:
        return _run_child(json.loads(options.child))
    results: list[Result] = []
    failures = 0
    print("starting three brokers", flush=True)
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        for base in SCENARIOS:
            records = max(10_000, int(base.records * options.scale))
            scenario = Scenario(base.value_bytes, records, base.partitions)
            with _filled_topic(kafka, scenario) as topic:
                for client in options.clients.split(","):
                    for run in _runs(client, scenario, kafka, topic, options.repeat):
                        if isinstance(run, str):
                            failures += 1
                            print(run, file=sys.stderr, flush=True)
                        else:
                            results.append(run)
    print(render(results))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps([r.as_json() for r in results], indent=2) + "\n")
    print(f"\n{options.json} holds the same as JSON")
    return 1 if failures else 0


@contextlib.contextmanager
def _filled_topic(kafka: KafkaCluster, scenario: Scenario) -> Iterator[str]:
    """Fill the topic that all clients consume, so that all read the same batches."""
    name = f"peers-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, scenario.partitions, 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 5, "acks": "all"})
    for values in chunks(scenario.values(), scenario.records):
        for value in values:
            while True:
                try:
                    producer.produce(name, value)
                    break
                except BufferError:
                    producer.poll(0.05)
    if producer.flush(120):
        raise SystemExit("the topic cannot be filled")
    yield name
    kafka.delete_topic(name)


def _runs(
    client: str, scenario: Scenario, kafka: KafkaCluster, filled: str, repeat: int
) -> Iterator[Result | str]:
    """Yield the best of `repeat` runs of each profile, or an error."""
    profiles = _profiles(client)
    if isinstance(profiles, str):
        yield profiles
        return
    for profile in range(profiles):
        runs: list[Result] = []
        for _ in range(repeat):
            run = _start_child(client, profile, scenario, filled, kafka.bootstrap)
            if isinstance(run, str):
                yield run
                break
            print(f"  {run.summary}", flush=True)
            runs.append(run)
        if runs:
            yield min(runs, key=lambda run: run.cpu_seconds)


def _profiles(client: str) -> int | str:
    """Return the number of profiles, from a separate process, or an error."""
    code = f"import {CLIENTS[client]} as client\nprint(len(client.PROFILES))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"{client} cannot be imported:\n{done.stderr}"
    return int(done.stdout)


def _start_child(
    client: str, profile: int, scenario: Scenario, topic: str, bootstrap: str
) -> Result | str:
    arguments = {
        "client": client,
        "profile": profile,
        "scenario": scenario.__dict__,
        "topic": topic,
        "bootstrap": bootstrap,
    }
    command = [sys.executable, "-m", "benches.peers.run", "--child", json.dumps(arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return f"{client} {scenario.name}: not done after 600 s"
    if done.returncode != 0:
        return f"{client} {scenario.name} failed:\n{done.stderr}"
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def _run_child(arguments: dict[str, object]) -> int:
    client = importlib.import_module(CLIENTS[str(arguments["client"])])
    profile = client.PROFILES[arguments["profile"]]
    scenario = Scenario(**arguments["scenario"])  # type: ignore[arg-type]
    job = Job(str(arguments["bootstrap"]), str(arguments["topic"]), scenario)
    cpu, clock = time.process_time(), time.perf_counter()
    records = profile.consume(job)
    seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
    if records != scenario.records:
        raise SystemExit(f"{records} records instead of {scenario.records}")
    result = Result(client.NAME, profile.name, scenario.value_bytes, records, seconds, cpu)
    print(json.dumps(result.__dict__))
    return 0


def render(results: list[Result]) -> str:
    """Return the table in Markdown; the cheapest client first for each value size."""
    lines = [
        "",
        "| values | client | profile | records/s | MB/s | client CPU s per million |",
        "|---|---|---|---:|---:|---:|",
    ]
    ordered = sorted(results, key=lambda r: (r.value_bytes, r.cpu_per_million))
    lines += [
        f"| {r.value_bytes} B | {r.client} | {r.profile} "
        f"| {r.records_per_second:,.0f} | {r.megabytes_per_second:,.0f} "
        f"| {r.cpu_per_million:.2f} |"
        for r in ordered
    ]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
