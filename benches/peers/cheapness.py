"""Records per client CPU second, by client, call, size and codec: of produce and consume."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benches.peers import turns


@dataclass(frozen=True)
class Result:
    """One way in one scenario: what each round took."""

    value_bytes: int
    compression: str
    client: str
    way: str
    kind: str
    per_cpu_second: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)

    @property
    def cheapness(self) -> float:
        """Records per CPU second."""
        return statistics.median(self.per_cpu_second)

    def add(self, records: int, cpu_seconds: float, seconds: float) -> None:
        """One more round."""
        self.per_cpu_second.append(records / cpu_seconds)
        self.per_second.append(records / seconds)
        turns.tell(
            f"{len(self.per_second)}: {self.value_bytes} B {self.compression}: {self.client} "
            f"{self.way} ({self.kind}) {records / cpu_seconds:,.0f} a CPU second"
        )


def times_confluent(result: Result, results: list[Result], kinds: Collection[str]) -> float:
    """How many times cheaper than the best that confluent-kafka has of these kinds."""
    best = max(
        other.cheapness
        for other in results
        if other.client == "confluent-kafka"
        and other.kind in kinds
        and (other.value_bytes, other.compression) == (result.value_bytes, result.compression)
    )
    return result.cheapness / best


def table(results: list[Result], goal: Callable[[Result], str]) -> str:
    """In Markdown; `goal` says of a result of ours what it is beside its goal."""
    lines = [
        "",
        "| values | codec | client | call | CPU s a million | a CPU s | a s | times confluent |",
        "|---|---|---|---|---:|---:|---:|---:|",
    ]
    for result in results:
        rate = statistics.median(result.per_second)
        lines.append(
            f"| {result.value_bytes} B | {result.compression} | {result.client} "
            f"| {result.way}, {result.kind} | {1e6 / result.cheapness:.3f} "
            f"| {result.cheapness:,.0f} | {rate:,.0f} "
            f"| {goal(result) if result.client == 'ottla' else ''} |"
        )
    return "\n".join(lines)


def parser(
    description: str | None, results: Path, sizes: Mapping[int, int], codecs: Sequence[str]
) -> argparse.ArgumentParser:
    """With the choice of scenarios: the records of each size of value, and the codecs."""
    made = turns.parser(description, results)
    made.add_argument("--scale", type=float, default=1.0, help="fraction of the records")
    made.add_argument("--sizes", type=turns.numbers, default=list(sizes))
    made.add_argument("--codecs", type=turns.names, default=list(codecs))
    return made


def report(path: Path, results: list[Result], goal: Callable[[Result], str]) -> None:
    """Print the table, and keep the figures."""
    print(table(results, goal))
    turns.save(path, [asdict(result) for result in results])
