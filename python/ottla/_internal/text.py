"""Texts that findings, reports, notebooks and commands share: counts, times, lists and addresses.

Invariant: ``clean`` leaves no control character, whoever chose the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: ``1 record``, ``2 records``, or with an irregular plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def listed(items: Sequence[str], limit: int = 5, total: int | None = None) -> str:
    """Return the first items, and how many more there are: ``a, b and 3 more``.

    Args:
        items: the items.
        limit: how many of them to list.
        total: how many there are, if ``items`` has only the first ones. Default: ``len(items)``.
    """
    more = (len(items) if total is None else total) - limit
    return ", ".join(items[:limit]) + (f" and {more} more" if more > 0 else "")


def iso_date(seconds: float) -> str:
    """Return the date in UTC of a time in seconds since 1970."""
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


def duration(seconds: float) -> str:
    """Return a duration in one or two units: ``3 s``, ``12 min``, ``5 h 20 min``, ``3 d 4 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = int(seconds / 60)
    hours, minutes_of_hour = divmod(minutes, 60)
    days, hours_of_day = divmod(hours, 24)
    if days:
        return f"{days} d {hours_of_day} h"
    if hours:
        return f"{hours} h {minutes_of_hour} min"
    return f"{minutes} min"


def join(host: str, port: int) -> str:
    """Return ``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reason(error: Exception) -> str:
    """Return why an operation failed, without Python's number and repetition of a file's name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def is_encodable(text: str) -> bool:
    """Return whether a text can be encoded in UTF-8: it has no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean(text: str) -> str:
    """Return a text with its control characters escaped."""
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterable[str]:
    for character in text:
        yield character if character.isprintable() else character.encode("unicode_escape").decode()
