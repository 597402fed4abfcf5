"""The changes that pages may make: each is planned, shown, and confirmed by its plan's digest.

One file a noun: ``topics.py``, ``records.py``, ``groups.py``. A function of ``CHANGES`` reads what
a page asks for, and returns it as a ``Change``; ``routes/changes.py`` plans it and carries it out.
"""

from __future__ import annotations

from ottla.console.changing import groups, records, topics
from ottla.console.changing.change import Maker

CHANGES: dict[str, Maker] = {
    **topics.CHANGES,
    **records.CHANGES,
    **groups.CHANGES,
}
"""The changes, by their names in the address."""
