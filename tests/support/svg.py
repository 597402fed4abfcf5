"""SVG pictures of charts: the page, and text on it. Invariant: text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def picture(width: int, height: int, parts: Iterable[str], *, font_size: int) -> str:
    """Return a white page of this size, in pixels, with these elements."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="{font_size}">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def text(
    x: int,
    y: int,
    words: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = "#222",
    size: int | None = None,
) -> str:
    """Return an element with text; its size is the page's unless it has its own."""
    own = "" if size is None else f'font-size="{size}" '
    return (
        f'<text x="{x}" y="{y}" {own}font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
    )
