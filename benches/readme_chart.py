"""The chart of README.md: records per client CPU second, compared with the usual choice.

    python -m benches.readme_chart

`BARS` are figures of docs/benchmarks/index.md; a test compares them.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.svg import picture, text

TARGET = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "readme.svg"

# Title, unit, then each way with its figure; the first is ottla's.
BARS = [
    (
        "Read 100-byte records into columns",
        "million records per CPU second",
        [("ottla, poll_arrow", 7.484), ("confluent-kafka, consume(500)", 0.733)],
    ),
    (
        "Write 100-byte records one by one",
        "million records per CPU second",
        [("ottla, send", 1.664), ("confluent-kafka, produce", 0.585)],
    ),
    (
        "Read 100-byte records in Spark",
        "CPU seconds per million rows, less is better",
        [('format("ottla")', 1.05), ('format("kafka"), tuned', 1.55)],
    ),
]

_WIDTH, _LEFT, _BAR = 760, 230, 20
_COLOURS = ("#d9480f", "#9aa5b1")


def chart() -> str:
    """Return the SVG."""
    parts: list[str] = []
    top = 10
    for title, unit, ways in BARS:
        parts.append(text(10, top + 14, title, weight="bold"))
        parts.append(text(_WIDTH - 10, top + 14, unit, anchor="end", colour="#666"))
        top += 24
        longest = max(figure for _, figure in ways)
        for (name, figure), colour in zip(ways, _COLOURS, strict=True):
            width = max(int(figure / longest * (_WIDTH - _LEFT - 60)), 1)
            parts.append(text(_LEFT - 8, top + 14, name, anchor="end"))
            bar = f'width="{width}" height="{_BAR}" rx="2" fill="{colour}"'
            parts.append(f'<rect x="{_LEFT}" y="{top}" {bar}/>')
            parts.append(text(_LEFT + width + 6, top + 14, f"{figure:.2f}"))
            top += _BAR + 5
        top += 12
    return picture(_WIDTH, top, parts, font_size=13)


if __name__ == "__main__":
    TARGET.write_text(chart())
