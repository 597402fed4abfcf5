"""Draws the chart of docs/benchmarks/index.md from figures of `benches.spark.run --json`.

python -m benches.spark.chart F.json docs/benchmarks/spark-benchmark.svg
"""

from __future__ import annotations

import itertools
import json
import sys
from html import escape
from pathlib import Path

from benches.spark.run import Result
from benches.spark.scenarios import MANY

_COLOURS = {"connector": "#9aa5b1", "ottla": "#d9480f", "hand-over": "#e9c46a"}
_WIDTH, _BAR, _GAP, _HEAD, _LEFT = 780, 18, 6, 30, 215


def chart(results: list[Result]) -> str:
    """Return an SVG with bars for each scenario: CPU seconds per million rows, or seconds."""
    measured = [r for r in results if r.records > 1]
    parts: list[str] = []
    top = 40
    for scenario, group in itertools.groupby(measured, key=lambda r: r.scenario):
        is_elapsed = scenario == MANY
        bars = [(r.name, r.seconds if is_elapsed else r.per_million) for r in group]
        heading = f"{scenario}: seconds by the clock" if is_elapsed else scenario
        parts.append(_text(10, top + 14, heading, weight="bold"))
        top += _HEAD - 8
        longest = max(value for _, value in bars)
        for name, value in bars:
            width = max(int(value / longest * (_WIDTH - _LEFT - 70)), 1)
            colour = _COLOURS[name.split(",")[0].split()[0]]
            parts.append(_text(_LEFT - 8, top + 13, name, anchor="end"))
            parts.append(
                f'<rect x="{_LEFT}" y="{top}" width="{width}" height="{_BAR}" rx="2" '
                f'fill="{colour}"/>'
            )
            parts.append(_text(_LEFT + width + 6, top + 13, f"{value:.2f}"))
            top += _BAR + _GAP
        top += 10
    title = "CPU seconds of all of Spark's processes per million rows (less is better)"
    body = "\n".join([_text(10, 22, title, weight="bold", size=14), *parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        f'viewBox="0 0 {_WIDTH} {top}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(
    x: int, y: int, text: str, *, anchor: str = "start", weight: str = "normal", size: int = 12
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="#222">{escape(text)}</text>'
    )


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    results = [Result(**result) for result in json.loads(source.read_text())]
    target.write_text(chart(results))


if __name__ == "__main__":
    main()
