"""Compares ``format("ottla")`` with Spark's own connector: same topics, same session, one table.

    python -m benches.spark.run [--records 3000000] [--repeat 5] [--json FILE] [--only TEXT]

It counts the CPU seconds of Spark's whole process tree (driver, JVM, Python workers), without the
brokers, which the parent process runs. The variants of a scenario take turns, after warm-up rounds
in which the JVM compiles its code; the table shows the median round. "hand-over alone" generates
the same rows in Spark, or discards the rows that Spark passes: the difference to it is ottla's own
share. Cold sessions run in processes of their own.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from benches.spark.cold import VARIANTS, first_rows
from benches.spark.cpu import tree_cpu
from benches.spark.scenarios import MANY, Variant, variants
from benches.spark.session import fill, fill_typed, session
from benches.spark.typed import typed_records, typed_variants

COLD = "first row of a cold session"
# Rounds that are not counted: with fewer, the JVM's compiler dominates the measurement.
_WARM_UP = 8


@dataclass(frozen=True)
class Result:
    """The median run of one variant: elapsed seconds, and CPU seconds of JVMs and of Python."""

    scenario: str
    name: str
    records: int
    seconds: float
    jvm: float
    python: float

    @property
    def per_million(self) -> float:
        return (self.jvm + self.python) / self.records * 1e6

    @property
    def rate(self) -> float:
        """Records per second of elapsed time."""
        return self.records / self.seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="only scenarios whose name contains this")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        bootstrap, registry = options.child
        return _measure(bootstrap, registry, options)
    from ottla.testing import MockRegistry
    from tests.support.kafka_cluster import LONG_LIVED, KafkaCluster

    print("starting three brokers", flush=True)
    with KafkaCluster(jvm=LONG_LIVED) as kafka, MockRegistry() as served:
        print("producing", flush=True)
        fill(kafka, options.records)
        fill_typed(kafka, served.url, typed_records(options.records))
        command = [sys.executable, "-m", "benches.spark.run", *sys.argv[1:]]
        command += ["--child", kafka.bootstrap, served.url]
        return subprocess.run(command, check=False).returncode


def _measure(bootstrap: str, registry: str, options: argparse.Namespace) -> int:
    results: list[Result] = []
    if options.only != COLD:
        results += _measure_warm(bootstrap, registry, options)
    if options.only in COLD:
        results += _measure_cold(bootstrap, options.repeat)
        _record(results, options.json)
    print(render(results))
    return 0


def _measure_warm(bootstrap: str, registry: str, options: argparse.Namespace) -> list[Result]:
    spark = session()
    results: list[Result] = []
    for scenario, group in itertools.groupby(
        itertools.chain(
            variants(spark, bootstrap, options.records),
            typed_variants(spark, bootstrap, registry, typed_records(options.records)),
        ),
        key=lambda variant: variant.scenario,
    ):
        if options.only in scenario:
            results += _measure_scenario(list(group), options.repeat)
            _record(results, options.json)
    spark.stop()
    return results


def _record(results: list[Result], path: Path | None) -> None:
    if path is not None:
        path.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")


def _measure_scenario(group: list[Variant], repeat: int) -> list[Result]:
    repeated = [variant for variant in group if not variant.once]
    for variant in repeated * _WARM_UP:
        variant.run()
    runs: dict[str, list[Result]] = {variant.name: [] for variant in group}
    for number in range(repeat):
        for variant in group if number == 0 else repeated:
            before, clock = tree_cpu(), time.perf_counter()
            variant.run()
            seconds, after = time.perf_counter() - clock, tree_cpu()
            jvm, python = (after[i] - before[i] for i in (0, 1))
            result = Result(variant.scenario, variant.name, variant.records, seconds, jvm, python)
            runs[variant.name].append(result)
            print(
                f"  {result.scenario}: {result.name}: {result.per_million:.2f} CPU s/M, "
                f"{seconds:.1f} s",
                flush=True,
            )
    return [_median(results, lambda result: result.per_million) for results in runs.values()]


def _median(results: list[Result], value: Callable[[Result], float]) -> Result:
    return sorted(results, key=value)[len(results) // 2]


def _measure_cold(bootstrap: str, repeat: int) -> list[Result]:
    """Measure the seconds from the start of a new process to its first row."""
    runs: dict[str, list[Result]] = {name: [] for name in VARIANTS}
    since_session: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for name, row in first_rows(bootstrap, repeat):
        runs[name].append(Result(COLD, name, 1, row.seconds, row.jvm, row.python))
        since_session[name].append(row.since_session)
        print(
            f"  {COLD}: {name}: {row.seconds:.2f} s, of which since the session started "
            f"{row.since_session:.2f} s; CPU {row.jvm:.1f} s JVM, {row.python:.1f} s Python",
            flush=True,
        )
    for name, seconds in since_session.items():
        print(f"  {COLD}: {name}: median since the session started {median(seconds):.2f} s")
    return [_median(results, lambda result: result.seconds) for results in runs.values()]


def render(results: list[Result]) -> str:
    """Return the results as a Markdown table.

    The column "times" is relative to the tuned connector: in CPU seconds, or in elapsed seconds for
    scenarios that measure those.
    """
    lines = ["", "| | | CPU s/M | JVM | Python | rows/s | seconds | times |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    for scenario, group in itertools.groupby(results, key=lambda result: result.scenario):
        rows = list(group)
        theirs = [r for r in rows if r.name.startswith("connector")][-1]
        for r in rows:
            jvm, python = (f"{part / r.records * 1e6:.2f}" for part in (r.jvm, r.python))
            is_elapsed = scenario in (COLD, MANY)
            times = r.seconds / theirs.seconds if is_elapsed else r.per_million / theirs.per_million
            # These scenarios take so long that Spark ends idle Python processes, whose CPU time is
            # then not counted.
            cpu = ["", "", ""] if is_elapsed else [f"{r.per_million:.2f}", jvm, python]
            rate = "" if scenario == COLD else f"{r.rate:,.0f}"
            lines.append(
                f"| {scenario} | {r.name} | {' | '.join([*cpu, rate])} | "
                f"{r.seconds:.2f} | {'' if r.records < theirs.records else f'{times:.2f}'} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
