"""Runs every client's profiles on one real cluster and prints one table.

    python -m benches.peers.run [--json FILE] [--clients ottla,confluent] [--scale 1.0] [--repeat 3]

Each run is a process of its own (`--child`), so that one client's threads and memory do not weigh
on the next. Interpreter start and imports are not counted. Of the repeats the one with the least
CPU is shown: the others measured the machine.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import time
import uuid
from pathlib import Path

from benches.peers.scenario import Job, Result, Scenario
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
            for client in options.clients.split(","):
                for run in _runs(client, scenario, kafka, options.repeat):
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


def _runs(client: str, scenario: Scenario, kafka: KafkaCluster, repeat: int) -> list[Result | str]:
    """The best of `repeat` runs of each profile and operation, or what went wrong."""
    shown: list[Result | str] = []
    for number in range(_profile_count(client)):
        best: dict[str, Result] = {}
        for _ in range(repeat):
            topic = f"peers-{uuid.uuid4().hex[:8]}"
            kafka.create_topic(topic, scenario.partitions, 1)
            for operation in ("produce", "consume"):
                child = _start_child(client, number, operation, scenario, topic, kafka.bootstrap)
                if isinstance(child, str):
                    return [*shown, *best.values(), child]
                print(
                    f"  {child.client} ({child.profile}) {operation} {scenario.name}: "
                    f"{child.cpu_per_million:.2f} CPU s/M",
                    flush=True,
                )
                if operation not in best or child.cpu_seconds < best[operation].cpu_seconds:
                    best[operation] = child
            kafka.delete_topic(topic)
        shown += best.values()
    return shown


def _profile_count(client: str) -> int:
    counting = f"import {CLIENTS[client]} as client; print(len(client.PROFILES))"
    done = subprocess.run(
        [sys.executable, "-c", counting], capture_output=True, text=True, check=False
    )
    # A client that cannot be imported is one failing run, with its own traceback.
    return int(done.stdout) if done.returncode == 0 else 1


def _start_child(
    client: str, profile: int, operation: str, scenario: Scenario, topic: str, bootstrap: str
) -> Result | str:
    order = {
        "client": client,
        "profile": profile,
        "operation": operation,
        "scenario": scenario.__dict__,
        "topic": topic,
        "bootstrap": bootstrap,
    }
    command = [sys.executable, "-m", "benches.peers.run", "--child", json.dumps(order)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return f"{client} {operation} {scenario.name}: not done after 600 s"
    if done.returncode != 0:
        return f"{client} {operation} {scenario.name} failed:\n{done.stderr}"
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def _run_child(order: dict[str, object]) -> int:
    client = importlib.import_module(CLIENTS[str(order["client"])])
    profile = client.PROFILES[order["profile"]]
    scenario = Scenario(**order["scenario"])  # type: ignore[arg-type]
    job = Job(str(order["bootstrap"]), str(order["topic"]), scenario)
    operation = str(order["operation"])
    cpu, clock = _cpu(), time.perf_counter()
    records = getattr(profile, operation)(job)
    seconds, cpu = time.perf_counter() - clock, _cpu() - cpu
    if records != scenario.records:
        raise SystemExit(f"{records} records instead of {scenario.records}")
    result = Result(
        client.NAME, profile.name, operation, scenario.value_bytes, records, seconds, cpu
    )
    print(json.dumps(result.__dict__))
    return 0


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def render(results: list[Result]) -> str:
    """The table, as Markdown; the cheapest client first within each kind of run."""
    lines = [
        "",
        "| run | client | profile | records/s | MB/s | client CPU s per million |",
        "|---|---|---|---:|---:|---:|",
    ]
    ordered = sorted(results, key=lambda r: (r.value_bytes, r.operation, r.cpu_per_million))
    lines += [
        f"| {r.operation} {r.value_bytes} B | {r.client} | {r.profile} "
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
