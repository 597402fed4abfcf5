"""Tables as text, with colours on terminals only.

Invariant: a cell is never cut; a line that is wider than the terminal wraps.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ottla._internal.style import Style
from ottla._internal.text import clean
from ottla.cli.options import style

# A column is aligned to the right if all of its cells match. Empty cells match, too.
_NUMBER = re.compile(r"([-+]?\d[\d.,]*( ?(%|[KMGTP]?i?B))?|none)?")
_GAP = "  "


@dataclass(frozen=True)
class Table:
    """A table: a title, a header, rows of text, and lines below the rows.

    Attributes:
        bad: show the lines in red.
        warn: show the lines in yellow.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[str] = field(default_factory=list)
    bad: bool = False
    warn: bool = False


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables below each other."""
    sys.stdout.write(as_text(tables, style()))


def as_text(tables: Sequence[Table], style: Style) -> str:
    """Return tables below each other, with an empty line between them."""
    texts = ["".join(f"{line}\n" for line in _lines(table, style)) for table in tables]
    return "\n".join(text for text in texts if text)


def _lines(table: Table, style: Style) -> Iterator[str]:
    if table.title:
        yield style.paint("bold", clean(table.title))
    if table.header:
        rows = [[clean(cell) for cell in row] for row in table.rows]
        columns = list(zip(table.header, *rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        numbers = [all(map(_NUMBER.fullmatch, column[1:])) for column in columns]

        def aligned(row: Sequence[str]) -> str:
            cells = (
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(row, widths, numbers, strict=True)
            )
            return _GAP.join(cells).rstrip()

        yield style.paint("faint", aligned(table.header))
        yield from map(aligned, rows)
    color = "bad" if table.bad else "warning" if table.warn else None
    for line in map(clean, table.lines):
        yield style.paint(color, line) if color else line
