"""HTML elements as text, for reports and notebooks.

Invariant: text becomes part of HTML only through ``escaped``, so that names, keys and messages from
a cluster are shown and never interpreted. Only ``element`` and constants make ``Markup``.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ottla._internal.text import clean

# Longer texts are cut: a broker may send megabytes as a name.
_MAX_TEXT = 2000
# Elements without content.
_VOID = {"meta"}


class Markup(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


def cut(text: str, limit: int) -> str:
    """Return the first ``limit`` characters of a text, with ``…`` if there are more."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def escaped(text: str) -> Markup:
    """Return a text as HTML: escaped, without control and bidirectional characters, and bounded."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(clean(cut(text, _MAX_TEXT)), quote=True))


def element(name: str, /, *children: str, **attributes: str) -> Markup:
    """Return an element. Children that are not ``Markup`` are escaped, as are attributes.

    Args:
        name: the element's name.
        children: its content.
        attributes: by name, with ``_`` for ``-``, and with ``_`` at the end of Python's keywords.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{''.join(map(escaped, children))}</{name}>")


def joined(parts: Iterable[Markup]) -> Markup:
    """Return elements one after the other, each on a line of its own."""
    return Markup("\n".join(parts))


def rows_of(
    cells: Iterable[Sequence[str]], limit: int, **attributes: str
) -> tuple[list[Markup], int]:
    """Return the first rows of a table's body, and how many more there are.

    Args:
        cells: the texts of each row; the first one is the row's heading.
        limit: how many rows to return.
        attributes: the attributes of each cell.
    """
    rows: list[Markup] = []
    more = 0
    for first, *others in cells:
        if len(rows) == limit:
            more += 1
            continue
        heading = element("th", first, scope="row", **attributes)
        rows.append(element("tr", heading, *(element("td", cell, **attributes) for cell in others)))
    return rows, more
