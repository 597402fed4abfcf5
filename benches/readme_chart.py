"""The chart of README.md: records per client CPU second, compared with the usual choice.

    python -m benches.readme_chart

`BARS` are figures of docs/benchmarks/index.md; a test compares them.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

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
        parts.append(_text(10, top + 14, title, weight="bold"))
        parts.append(_text(_WIDTH - 10, top + 14, unit, anchor="end", colour="#666"))
        top += 24
        longest = max(figure for _, figure in ways)
        for (name, figure), colour in zip(ways, _COLOURS, strict=True):
            width = max(int(figure / longest * (_WIDTH - _LEFT - 60)), 1)
            parts.append(_text(_LEFT - 8, top + 14, name, anchor="end"))
            bar = f'width="{width}" height="{_BAR}" rx="2" fill="{colour}"'
            parts.append(f'<rect x="{_LEFT}" y="{top}" {bar}/>')
            parts.append(_text(_LEFT + width + 6, top + 14, f"{figure:.2f}"))
            top += _BAR + 5
        top += 12
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        f'viewBox="0 0 {_WIDTH} {top}" font-family="sans-serif" font-size="13">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _text(
    x: int,
    y: int,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = "#222",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    TARGET.write_text(chart())
