"""Phrases that findings, reports and commands share: counts, dates and lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 record``, ``2 records``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


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
