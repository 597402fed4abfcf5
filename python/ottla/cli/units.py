"""Numbers for people: sizes in bytes, rates, and times of requests and connections."""

from __future__ import annotations

from datetime import datetime, timezone

from ottla._internal.text import duration

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def size(count: int) -> str:
    """Return a number of bytes in the unit that fits: ``512 B``, ``1.5 GiB``."""
    if count < 1024:
        return f"{count} B"
    number = float(count)
    for unit in _UNITS:
        number /= 1024
        if number < 1023.95 or unit == _UNITS[-1]:
            break
    return f"{number:.1f} {unit}"


def number(value: float) -> str:
    """Return a rate with three digits: ``0.25``, ``17.3``, ``1,234``."""
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}" if value else "0"


def elapsed(seconds: float) -> str:
    """Return a time that may be short: ``0.3 ms``, ``1.5 s``, ``12 min``."""
    if seconds < 0.99995:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds:.1f} s" if seconds < 59.95 else duration(seconds)


def iso_time(milliseconds: int) -> str:
    """Return a record's timestamp in UTC, to the second; beyond the year 9999, the number."""
    try:
        at = datetime.fromtimestamp(milliseconds / 1000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return str(milliseconds)
    return at.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
