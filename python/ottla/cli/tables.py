"""Tables, drawn by rich; plain text if the output is not a terminal."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING

from ottla.cli.options import style
from ottla.doctor.tree import clean
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console, Group

# Cells of a column that is aligned to the right; empty ones do not matter.
_NUMBER = re.compile(r"([-+]?\d[\d.,]*( ?(%|[KMGTP]?i?B))?|none)?")
# Wider than any table, so that nothing is cut if the output is not a terminal.
_WIDE = 10_000


@dataclass(frozen=True)
class Table:
    """A title, a header and rows of text, and lines below them.

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


def require_rich() -> ModuleType:
    """Return rich.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import rich
    except ImportError as error:
        raise ConfigError(
            "tables need rich, which is not installed: pip install 'ottla[cli]' (--json works "
            "without it)"
        ) from error
    return rich


def console() -> Console:
    """Return a console that uses colours on terminals only."""
    require_rich()
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(no_color=not style().color, highlight=False, emoji=False, markup=False)
    return Console(width=_WIDE, color_system=None, highlight=False, emoji=False, markup=False)


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables below each other."""
    console().print(render(tables), soft_wrap=False)


def render(tables: Sequence[Table]) -> Group:
    """Convert tables to rich's."""
    require_rich()
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    parts: list[RichTable | Text] = []
    for table in tables:
        if parts:
            parts.append(Text(""))
        if table.title:
            parts.append(Text(clean(table.title), style="bold"))
        if table.header:
            drawn = RichTable(box=None, pad_edge=False, header_style="dim")
            for index, name in enumerate(table.header):
                is_number = all(_NUMBER.fullmatch(row[index]) for row in table.rows)
                drawn.add_column(name, no_wrap=True, justify="right" if is_number else "left")
            for row in table.rows:
                drawn.add_row(*(Text(clean(cell)) for cell in row))
            parts.append(drawn)
        color = "red" if table.bad else "yellow" if table.warn else ""
        parts += [Text(clean(line), style=color) for line in table.lines]
    return Group(*parts)
