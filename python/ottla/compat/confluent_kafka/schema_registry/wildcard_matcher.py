"""Patterns of names with dots, as the tags of a schema's metadata have them."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["wildcard_match"]

_TOKEN = re.compile(r"\*\*|\\.|.", re.DOTALL)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = []
    # Any names followed by one name are any names.
    for part in _TOKEN.findall(pattern.replace("**.*", "**")):
        if part == "**":
            parts.append(".*")
        elif part == "*":
            parts.append(r"[^.]*")
        elif part == "?":
            parts.append(r"[^.]")
        else:
            parts.append(re.escape(part[-1]))
    return re.compile("".join(parts), re.DOTALL)


def wildcard_match(text: str, matcher: str) -> bool:
    """Return whether a name matches a pattern.

    Args:
        text: the name, such as ``shop.Order.id``.
        matcher: the pattern: ``?`` stands for a character and ``*`` for any characters of one part
            of the name, ``**`` for any characters with dots. A backslash takes the next character
            as it is.
    """
    return _compiled(matcher).fullmatch(text) is not None
