"""The text that a group stores with an offset, as librdkafka writes it: with a NUL at its end.

Invariant: what the stand-in writes the original can read, which needs the NUL, and the reverse: a
group may have members of both. None is an empty text without it.
"""

from __future__ import annotations


def written(metadata: str | None) -> str | None:
    """Return what is sent to the brokers."""
    return None if metadata is None else f"{metadata}\0"


def returned(metadata: str | None) -> str | None:
    """Return what an application has committed, from what the brokers return."""
    return metadata.partition("\0")[0] if metadata else None
