"""The exceptions of aiokafka, under their names and with their hierarchy.

Invariant: a program's ``except`` clauses catch the same conditions as with aiokafka.
``_error_mapping`` raises these classes for ottla's errors, with ottla's error as the cause. The
stub beside this file lists the names for type checkers.
"""

from __future__ import annotations

from ottla.compat.aiokafka import _client_errors
from ottla.compat.aiokafka._broker_errors import ALIASES, CLASSES
from ottla.compat.aiokafka._client_errors import BrokerResponseError

_names: dict[str, type[Exception]] = {
    **{name: getattr(_client_errors, name) for name in _client_errors.__all__},
    **{error.__name__: error for error in CLASSES.values()},
    **ALIASES,
}
globals().update(_names)

__all__ = ["for_code", "kafka_errors"]
__all__ += sorted(_names)

kafka_errors: dict[int, type[BrokerResponseError]] = CLASSES


def for_code(error_code: int) -> type[BrokerResponseError]:
    """Return the exception for a broker's code; ``UnknownError`` for an unknown one."""
    return kafka_errors.get(error_code, kafka_errors[-1])
