"""The figures of a page, each compared with the place that it is from.

Invariant: a figure is compared with a cell or a sentence that the caller names, never with any
number of a page, so that two figures that change places are found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tests.support.jars import REPOSITORY

_NUMBER = r"\d+(?:[.,]\d+)*"


def prose(page: str) -> str:
    """Return a page below ``docs`` in one line, without code blocks and the targets of links."""
    text = re.sub(r"```.*?```", "", _text(page), flags=re.DOTALL)
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


def cell(page: str, heading: str, row: str, column: str) -> str:
    """Return the first number of a cell, in the table of a section that has the column.

    ``row`` is the row's first cells, joined by " | "; ``column`` is the header's.
    """
    first = row.split(" | ")
    [found] = [each for cells, each in _column(page, heading, column) if _is_row(cells, first)]
    return _number(found)


def column(page: str, heading: str, name: str, place: int) -> list[float]:
    """Return the numbers ``place`` cells after the column with that name."""
    return [float(_number(each)) for _, each in _column(page, heading, name, place)]


def sentence(page: str, heading: str, pattern: str) -> str:
    """Return what the group of a pattern matches in a section; the pattern matches once."""
    [found] = re.findall(pattern, " ".join(_section(page, heading).split()))
    assert isinstance(found, str), pattern
    return found


def differences(text: str, figures: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the statements whose figures are not those that were measured.

    Each "#" in a statement is a figure; commas between digits do not count.
    """
    found = []
    for statement, measured in figures.items():
        matches = list(re.finditer(_pattern(statement), text))
        stated = [match.groups() for match in matches]
        if [_plain(stated_one) for stated_one in stated] != [_plain(measured)]:
            found.append(f"{statement}: {stated}, measured {list(measured)}")
    return found


def without(text: str, statements: Sequence[str]) -> str:
    """Return a text without the figures of statements."""
    spans = [
        match.span(group)
        for statement in statements
        for match in re.finditer(_pattern(statement), text)
        for group in range(1, (match.lastindex or 0) + 1)
    ]
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]}#{text[end:]}"
    return text


def _text(page: str) -> str:
    return (REPOSITORY / "docs" / page).read_text(encoding="utf-8")


def _section(page: str, heading: str) -> str:
    """Return the text from a heading to the next one."""
    [found] = re.findall(
        rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", _text(page), re.MULTILINE | re.DOTALL
    )
    return str(found)


def _column(page: str, heading: str, name: str, place: int = 0) -> list[tuple[list[str], str]]:
    """Return the rows of the section's one table that has the column, and their cells of it."""
    tables = re.findall(
        r"^\|(.*)\|\n\|[-:| ]+\|\n((?:\|.*\n)+)", _section(page, heading), re.MULTILINE
    )
    [(header, rows)] = [each for each in tables if name in _cells(each[0])]
    number = _cells(header).index(name) + place
    lines = [_cells(line.strip("|")) for line in rows.splitlines()]
    return [(cells, cells[number]) for cells in lines]


def _cells(line: str) -> list[str]:
    return [each.strip(" *") for each in line.split("|")]


def _is_row(cells: Sequence[str], first: Sequence[str]) -> bool:
    return list(cells[: len(first)]) == list(first)


def _number(text: str) -> str:
    found = re.search(_NUMBER, text)
    assert found is not None, text
    return found[0]


def _pattern(statement: str) -> str:
    return re.escape(statement).replace(r"\#", rf"({_NUMBER})")


def _plain(figures: Sequence[str]) -> list[str]:
    return [each.replace(",", "") for each in figures]
