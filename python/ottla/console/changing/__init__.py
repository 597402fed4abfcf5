"""The changes that pages may make: each is planned, shown, and confirmed by its plan's digest.

One file a noun: ``topics.py``, ``records.py``, ``groups.py``, ``acls.py``, ``users.py``,
``quotas.py``. A function
of ``CHANGES`` reads what a page asks for, and returns it as a ``Change``; ``routes/changes.py``
plans it and carries it out.
"""

from __future__ import annotations

from ottla.console.changing import acls, groups, quotas, records, topics, users
from ottla.console.changing.change import Maker

CHANGES: dict[str, Maker] = {
    **topics.CHANGES,
    **records.CHANGES,
    **groups.CHANGES,
    **acls.CHANGES,
    **users.CHANGES,
    **quotas.CHANGES,
}
"""The changes, by their names in the address."""

PLANNED_READ_ONLY = frozenset({"groups/reset"})
"""The changes whose plans a console shows even if it may not carry them out."""
