"""Numbers for people: sizes in bytes."""

from __future__ import annotations

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
