"""Trees and paragraphs as plain text of 80 columns, with optional terminal colours.

Invariant: control characters in text from the network are escaped, so that it cannot control the
terminal.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

from ottla._internal.style import Style
from ottla._internal.text import clean

WIDTH = 80
# The column at which notes begin, unless the text is longer.
_NOTES = 32
# A note with less room than this begins on a line of its own.
_NARROW = 30


@dataclass
class Node:
    """A line of the tree, with an optional note, and the nodes below it."""

    ok: bool
    text: str
    note: str = ""
    below: list[Node] = field(default_factory=list)


def tree(node: Node, style: Style, lead: str = "", link: str = "") -> list[str]:
    """Return the lines of a node and of the nodes below it."""
    tee, last, bar = ("|- ", "`- ", "|  ") if style.ascii else ("├─ ", "└─ ", "│  ")
    deeper = lead + {"": "", tee: bar, last: "   "}[link]
    mark = 2 if style.ascii else 1
    text, note = clean(node.text), clean(node.note)
    head = f"{style.paint('faint', lead + link)}{style.mark(node.ok)} {text}"
    width = len(lead) + len(link) + mark + 1 + len(text)
    below = deeper + (bar if node.below else "   ")
    lines = _with_note(head, width, note, below, style, node.ok)
    for i, child in enumerate(node.below):
        lines += tree(child, style, deeper, last if i == len(node.below) - 1 else tee)
    return lines


def _with_note(head: str, width: int, note: str, below: str, style: Style, ok: bool) -> list[str]:
    """Return a node's own lines; its note starts next to the text and wraps below itself."""
    if not note:
        return [head]
    column = max(width + 2, _NOTES + 2)
    lines, first = [head], ""
    if WIDTH - column < min(_NARROW, len(note)):
        column = len(below) + 4
    else:
        first = lines.pop() + " " * (column - width)
    parts = _wrapped(note, WIDTH - column)
    for part in parts:
        start = first or style.paint("faint", below) + " " * (column - len(below))
        lines.append(start + style.paint("faint" if ok else "bad", part))
        first = ""
    return lines


def paragraph(text: str, indent: str) -> list[str]:
    """Return a text's lines, with a hanging indent of two columns."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
