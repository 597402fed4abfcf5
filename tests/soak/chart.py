"""The curves of a run as SVG: one small diagram for each process, all with the same time.

Each curve begins at zero, so that a flat one looks flat; a mark below it is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.soak.sampling import Sample
from tests.support.svg import picture, text

_WIDTH, _COLUMNS, _GAP = 760, 2, 16
_HEIGHT, _TITLE = 70, 20
_CELL = (_WIDTH - (_COLUMNS + 1) * _GAP) // _COLUMNS
_CURVE, _MARK, _GRID = "#d9480f", "#9aa5b1", "#e5e8eb"
_POINTS = 240
"""Points of a curve: more than a screen shows would only make the file large."""


def curves(
    title: str,
    field: str,
    unit: str,
    samples: Mapping[str, Sequence[Sample]],
    seconds: float,
    faults: Sequence[float],
) -> str:
    """Return the SVG of one field of the samples."""
    marks = "".join(f"M{at / seconds * _CELL:.0f} 0v4" for at in faults if at <= seconds)
    parts = [
        text(_GAP, 24, title, weight="bold", size=14),
        f'<defs><path id="faults" d="{marks}" stroke="{_MARK}"/></defs>',
    ]
    rows = -(-len(samples) // _COLUMNS)
    for place, (name, series) in enumerate(samples.items()):
        left = _GAP + place % _COLUMNS * (_CELL + _GAP)
        top = 40 + place // _COLUMNS * (_HEIGHT + _TITLE + _GAP)
        values = _thinned([(each.seconds, float(getattr(each, field))) for each in series])
        parts += _diagram(name, unit, values, seconds, left, top)
        parts.append(f'<use href="#faults" x="{left}" y="{top + _TITLE + _HEIGHT}"/>')
    height = 40 + rows * (_HEIGHT + _TITLE + _GAP) + 8
    return picture(_WIDTH, height, parts, font_size=12)


def _diagram(
    name: str,
    unit: str,
    values: Sequence[tuple[float, float]],
    seconds: float,
    left: int,
    top: int,
) -> list[str]:
    most = max(value for _, value in values)
    points = " ".join(
        f"{left + moment / seconds * _CELL:.1f},{top + _TITLE + _HEIGHT * (1 - value / most):.1f}"
        for moment, value in values
    )
    frame = f'width="{_CELL}" height="{_HEIGHT}" fill="none" stroke="{_GRID}"'
    return [
        text(left, top + 13, name),
        text(left + _CELL, top + 13, f"at most {most:.0f} {unit}", anchor="end", colour="#666"),
        f'<rect x="{left}" y="{top + _TITLE}" {frame}/>',
        f'<polyline points="{points}" fill="none" stroke="{_CURVE}" stroke-width="1.2"/>',
    ]


def _thinned(values: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the highest value of each of as many spans as a curve has points."""
    span = max(-(-len(values) // _POINTS), 1)
    return [
        max(values[first : first + span], key=lambda each: each[1])
        for first in range(0, len(values), span)
    ]
