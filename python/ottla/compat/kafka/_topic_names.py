"""Which names of topics are valid."""

from __future__ import annotations

import re

__all__ = ["check_topic_name"]

_LONGEST = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(topic: object) -> None:
    """Raise an exception unless a topic's name is valid.

    Raises:
        TypeError: it is not a string.
        ValueError: it is empty, too long, ``.`` or ``..``, or has another character.
    """
    if not isinstance(topic, str):
        raise TypeError("All topics must be strings")
    if topic in ("", ".", "..") or len(topic) > _LONGEST or not _LEGAL.fullmatch(topic):
        raise ValueError(
            f'Topic name "{topic}" is illegal: 1 to {_LONGEST} ASCII letters, digits, ".", "_" and '
            '"-", and not "." or ".."'
        )
