"""The values that topics inherit from keys of the brokers in another unit.

Brokers list the places that a value may come from as its synonyms, apart from those with another
unit: of ``retention.ms``, they do not mention ``log.retention.hours``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.admin.configs import ConfigEntry

_MINUTE, _HOUR = 60_000, 3_600_000

BROKER_KEYS: Mapping[str, Sequence[tuple[str, int]]] = {
    "retention.ms": (
        ("log.retention.ms", 1),
        ("log.retention.minutes", _MINUTE),
        ("log.retention.hours", _HOUR),
    ),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", _HOUR)),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", _HOUR)),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
}
"""By key of a topic, the keys of a broker and their units in milliseconds; the first set counts."""


def inherited_value(key: str, broker: Mapping[str, ConfigEntry]) -> str | None:
    """Return the value that a topic inherits in another unit.

    Args:
        key: the key of the topic.
        broker: the configuration of a broker.

    Returns:
        The value; None if the key has no such counterpart, or the broker did not report it.
    """
    for name, unit in BROKER_KEYS.get(key, ()):
        entry = broker.get(name)
        if entry is not None and entry.value is not None:
            # A negative number means no limit.
            return str(max(int(entry.value) * unit, -1))
    return None
