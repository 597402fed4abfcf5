"""Finds tables of Markdown that a site would not draw as one table.

A blank line ends a table: the rows below it are printed as text. Code blocks are left out.
"""

from __future__ import annotations

import re

_SEPARATOR = re.compile(r"\|(?:\s*:?-+:?\s*\|)+")
_CELL_END = re.compile(r"(?<!\\)\|")


def broken_tables(text: str) -> list[tuple[int, str]]:
    """Return the line and the fault of each row that does not belong to a whole table."""
    found: list[tuple[int, str]] = []
    lines = text.split("\n")
    in_code = False
    columns: int | None = None
    for number, line in enumerate(lines, 1):
        row = line.strip()
        if row.startswith("```"):
            in_code = not in_code
        if in_code or not row.startswith("|"):
            columns = None
            continue
        cells = len(_CELL_END.findall(row)) - 1
        if columns is None:
            columns = cells
            following = lines[number].strip() if number < len(lines) else ""
            if _SEPARATOR.fullmatch(following) is None:
                found.append((number, "the row belongs to no table: is a blank line above it?"))
        elif cells != columns:
            found.append((number, f"the row has {cells} cells, and the table {columns}"))
        if not row.endswith("|"):
            found.append((number, "the row does not end with |"))
    return found
