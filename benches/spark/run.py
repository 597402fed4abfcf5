"""``format("ottla")`` beside Spark's own connector: the same topics, the same session, one table.

    python -m benches.spark.run [--records 2000000] [--repeat 3] [--json FILE] [--only TEXT]

Counted are the CPU seconds of Spark's whole process tree (driver, JVM, Python workers), without the
brokers, which the parent process runs. Ways of a scenario take turns, each once unmeasured before;
the run with the least CPU is shown. "hand-over alone" gives Spark ready-made batches of the same
rows: what is above it is ottla's own share. Cold sessions are processes of their own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benches.spark.cpu import tree_cpu
from benches.spark.scenarios import Way, ways
from benches.spark.session import fill, session

COLD = "first row of a cold session"


@dataclass(frozen=True)
class Result:
    """The cheapest run of one way: seconds by the clock and of CPU, of JVMs and of Python."""

    scenario: str
    name: str
    records: int
    seconds: float
    jvm: float
    python: float

    @property
    def per_million(self) -> float:
        return (self.jvm + self.python) / self.records * 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    parser.add_argument("--child", metavar="BOOTSTRAP", help=argparse.SUPPRESS)
    parser.add_argument("--cold", metavar="SOURCE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        return _first_row(options.child, options.cold)
    if options.child:
        return _measure(options.child, options)
    from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

    print("starting three brokers", flush=True)
    with KafkaCluster(jvm=LONG_LIVED) as kafka:
        print("producing", flush=True)
        fill(kafka, options.records)
        command = [sys.executable, "-m", "benches.spark.run", *sys.argv[1:]]
        return subprocess.run([*command, "--child", kafka.bootstrap], check=False).returncode


def _measure(bootstrap: str, options: argparse.Namespace) -> int:
    spark = session()
    best: list[Result] = []
    for scenario, some in itertools.groupby(
        ways(spark, bootstrap, options.records), key=lambda way: way.scenario
    ):
        if options.only in scenario:
            best += _scenario(list(some), options.repeat)
            _record(best, options.json)
    spark.stop()
    if options.only in COLD:
        best += _cold(bootstrap, options.repeat)
        _record(best, options.json)
    print(render(best))
    return 0


def _record(results: list[Result], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


def _scenario(some: list[Way], repeat: int) -> list[Result]:
    for way in some:
        way.run()
    runs: dict[str, list[Result]] = {way.name: [] for way in some}
    for _ in range(repeat):
        for way in some:
            before, clock = tree_cpu(), time.perf_counter()
            way.run()
            seconds, after = time.perf_counter() - clock, tree_cpu()
            jvm, python = (after[i] - before[i] for i in (0, 1))
            result = Result(way.scenario, way.name, way.records, seconds, jvm, python)
            runs[way.name].append(result)
            print(
                f"  {way.scenario}: {way.name}: {result.per_million:.2f} CPU s/M, {seconds:.1f} s",
                flush=True,
            )
    return [min(results, key=lambda result: result.per_million) for results in runs.values()]


def _cold(bootstrap: str, repeat: int) -> list[Result]:
    """Seconds from a session that is just made to its first row, each in a new process."""
    best = []
    for source, name in (("kafka", "connector, defaults"), ("ottla", "ottla")):
        command = [sys.executable, "-m", "benches.spark.run", "--child", bootstrap]
        told = [
            subprocess.run([*command, "--cold", source], check=True, capture_output=True, text=True)
            for _ in range(repeat)
        ]
        runs = [json.loads(done.stdout.splitlines()[-1]) for done in told]
        print(f"  {COLD}: {name}: {[round(run['seconds'], 2) for run in runs]} s", flush=True)
        best.append(min((Result(COLD, name, 1, **run) for run in runs), key=lambda r: r.seconds))
    return best


def _first_row(bootstrap: str, source: str) -> int:
    spark: Any = session()
    before, clock = tree_cpu(), time.perf_counter()
    options = {"kafka.bootstrap.servers": bootstrap, "subscribe": "bytes-100"}
    rows = spark.read.format(source).options(**options).load().limit(1).collect()
    seconds, after = time.perf_counter() - clock, tree_cpu()
    assert len(rows) == 1
    spark.stop()
    jvm, python = (after[i] - before[i] for i in (0, 1))
    print(json.dumps({"seconds": seconds, "jvm": jvm, "python": python}))
    return 0


def render(results: list[Result]) -> str:
    """The table, in Markdown; factors are CPU beside the last way of the connector."""
    lines = ["", "| | | CPU s/M | beside the connector | JVM | Python | seconds |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|")
    for scenario, some in itertools.groupby(results, key=lambda result: result.scenario):
        there = list(some)
        theirs = [r for r in there if r.name.startswith("connector")][-1]
        for r in there:
            cold = scenario == COLD
            jvm, python = (f"{part / r.records * 1e6:.2f}" for part in (r.jvm, r.python))
            factor = r.seconds / theirs.seconds if cold else r.per_million / theirs.per_million
            cpu = ["", "", ""] if cold else [f"{r.per_million:.2f}", jvm, python]
            lines.append(
                f"| {scenario} | {r.name} | {cpu[0]} | {factor:.2f} | {cpu[1]} | {cpu[2]} | "
                f"{r.seconds:.2f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
