"""How text is shown on a terminal: colours, characters and details.

It is shared by reports, tables and commands; a command imports no report for it.
"""

from __future__ import annotations

from dataclasses import dataclass

_COLORS = {"ok": "32", "bad": "31", "warning": "33", "faint": "2", "bold": "1"}


@dataclass(frozen=True)
class Style:
    """How to format a report.

    Attributes:
        color: use terminal colours.
        ascii: use ASCII characters only.
        verbose: show every step of every broker; otherwise, healthy brokers of a large cluster
            share a line.
    """

    color: bool = False
    ascii: bool = False
    verbose: bool = False

    def paint(self, name: str, text: str) -> str:
        """Return the text in a named colour, if colours are on."""
        return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if self.color else text

    def mark(self, ok: bool) -> str:
        """Return the mark for success or failure."""
        if ok:
            return self.paint("ok", "ok" if self.ascii else "✓")
        return self.paint("bad", "NO" if self.ascii else "✗")
