"""Which versions of confluent-kafka and librdkafka the layer stands for.

Invariant: programs that compare versions take the same path as with that release.
"""

from __future__ import annotations


def version() -> str:
    """Return the version of confluent-kafka whose behaviour this is."""
    return "2.16.1"


def libversion() -> tuple[str, int]:
    """Return the version of librdkafka whose behaviour this is, as text and as a number."""
    return "2.16.0", 0x021000FF
