"""One table of ottla and other clients at their defaults, and the cells in which ottla is not best.

Every measure is a cost: less is better. A row shows the medians of its rounds. ottla's rows are
compared with the best row of another client in the same scenario, measure by measure.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benches.peers import runner

WALL = "wall s a million"
CPU = "CPU s a million"


@dataclass(frozen=True)
class Row:
    """One call of one client in one scenario, which is a value for each column."""

    scenario: tuple[str, ...]
    client: str
    call: str
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, figures: Mapping[str, float]) -> None:
        """Add the figures of one round, by measure."""
        for measure, figure in figures.items():
            self.rounds.setdefault(measure, []).append(figure)
        shown = ", ".join(f"{measure} {_shown(figure)}" for measure, figure in figures.items())
        runner.log_progress(f"{', '.join(self.scenario)}: {self.name}: {shown}")

    def add_run(self, took: Mapping[str, float]) -> None:
        """Add a run, given its `records`, `seconds` and `cpu_seconds`."""
        per_million = 1e6 / took["records"]
        wall, cpu = took["seconds"] * per_million, took["cpu_seconds"] * per_million
        self.add({WALL: wall, CPU: cpu})

    def median(self, measure: str) -> float:
        return statistics.median(self.rounds[measure])

    @property
    def name(self) -> str:
        return f"{self.client} `{self.call}`"


def take_turns(
    rows: Sequence[Row], rounds: int, run: Callable[[Row], Mapping[str, float]], warm: bool
) -> None:
    """Run each row once per round; if `warm`, run one row of each client before, not counted."""
    first_rows = {row.client: row for row in reversed(rows)}
    for row in first_rows.values() if warm else ():
        runner.log_progress(f"not counted: {row.name}: {run(row)}")
    for turn in range(rounds):
        for row in runner.rotated(rows, turn):
            row.add_run(run(row))


def table(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the table, as Markdown."""
    measures = list(rows[0].rounds)
    heads = [*columns, "client", "call", *measures, "times the best peer"]
    aligned = ["---"] * (len(columns) + 2) + ["---:"] * (len(measures) + 1)
    lines = ["", f"| {' | '.join(heads)} |", f"|{'|'.join(aligned)}|"]
    for row in rows:
        medians = [_shown(row.median(measure)) for measure in measures]
        times = [f"{ratio:.2f}" for _, _, ratio in _ratios(row, rows)]
        cells = [*row.scenario, row.client, f"`{row.call}`", *medians, ", ".join(times)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(goal: str, rows: Sequence[Row]) -> str:
    """Return whether the goal is met, and the cells in which another client is better."""
    compared = [(row, *cell) for row in rows for cell in _ratios(row, rows)]
    missed = [
        f"- {', '.join(row.scenario)}: {row.name}, {measure}: {ratio:.2f} times {best.name}"
        for row, measure, best, ratio in compared
        if ratio > 1
    ]
    return judge(goal, len(compared), missed)


def judge(goal: str, cells: int, missed: Sequence[str]) -> str:
    """Return whether a goal is met, and the cells that miss it."""
    if not cells:
        return f"\n{goal}: nothing to compare"
    if not missed:
        return f"\n{goal}: yes, in all {cells} cells"
    return "\n".join([f"\n{goal}: no, {len(missed)} of {cells} cells miss it", *missed])


def _ratios(row: Row, rows: Sequence[Row]) -> list[tuple[str, Row, float]]:
    """Return each measure, the best peer and the factor to it; nothing for a peer's row."""
    peers = [it for it in rows if it.scenario == row.scenario and it.client != "ottla"]
    if row.client != "ottla" or not peers:
        return []
    found = []
    for measure in row.rounds:
        best = min(peers, key=lambda peer: peer.median(measure))
        found.append((measure, best, row.median(measure) / best.median(measure)))
    return found


def _shown(figure: float) -> str:
    whole = len(str(int(figure))) if figure >= 1 else 0
    return f"{figure:,.{max(0, 3 - whole)}f}"
