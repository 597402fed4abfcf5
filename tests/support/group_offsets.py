"""The offsets that a group has committed, without their metadata."""

from __future__ import annotations

import ottla


def group_offsets(admin: ottla.Admin, group: str) -> dict[tuple[str, int], int]:
    """Return the committed offsets by topic and partition."""
    [committed] = admin.list_group_offsets([group]).values()
    return {place: each.offset for place, each in committed.items()}
