"""CPU cost of producing and consuming: records per CPU second, by client, call, size and codec."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benches.peers import runner


@dataclass(frozen=True)
class Result:
    """The measurements of one call in one scenario, one per round."""

    value_bytes: int
    compression: str
    client: str
    call: str
    kind: str
    per_cpu_second: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)

    @property
    def records_per_cpu_second(self) -> float:
        """The median of records per CPU second."""
        return statistics.median(self.per_cpu_second)

    def add(self, records: int, cpu_seconds: float, seconds: float) -> None:
        """Add a round."""
        self.per_cpu_second.append(records / cpu_seconds)
        self.per_second.append(records / seconds)
        runner.log_progress(
            f"{len(self.per_second)}: {self.value_bytes} B {self.compression}: {self.client} "
            f"{self.call} ({self.kind}) {records / cpu_seconds:,.0f} a CPU second"
        )


def times_confluent(result: Result, results: list[Result], kinds: Collection[str]) -> float:
    """Return how many times cheaper this is than confluent-kafka's best of these kinds."""
    best = max(
        other.records_per_cpu_second
        for other in results
        if other.client == "confluent-kafka"
        and other.kind in kinds
        and (other.value_bytes, other.compression) == (result.value_bytes, result.compression)
    )
    return result.records_per_cpu_second / best


def table(results: list[Result], goal: Callable[[Result], str]) -> str:
    """Return the table in Markdown; `goal` compares one of ottla's results with its goal."""
    lines = [
        "",
        "| values | codec | client | call | CPU s a million | a CPU s | a s | times confluent |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for result in results:
        rate = statistics.median(result.per_second)
        lines.append(
            f"| {result.value_bytes} B | {result.compression} | {result.client} "
            f"| {result.call}, {result.kind} | {1e6 / result.records_per_cpu_second:.3f} "
            f"| {result.records_per_cpu_second:,.0f} | {rate:,.0f} "
            f"| {goal(result) if result.client == 'ottla' else ''} |"
        )
    return "\n".join(lines)


def argument_parser(
    description: str | None, results: Path, sizes: Mapping[int, int], codecs: Sequence[str]
) -> argparse.ArgumentParser:
    """Return a parser with the options of scenarios: value sizes and codecs."""
    parser = runner.argument_parser(description, results)
    parser.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    parser.add_argument("--sizes", type=runner.parse_numbers, default=list(sizes))
    parser.add_argument("--codecs", type=runner.parse_names, default=list(codecs))
    return parser


def report(path: Path, results: list[Result], goal: Callable[[Result], str]) -> None:
    """Print the table and save the figures."""
    print(table(results, goal))
    runner.save_json(path, [asdict(result) for result in results])
