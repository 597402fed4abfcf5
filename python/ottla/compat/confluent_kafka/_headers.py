"""Headers in the forms that confluent-kafka takes, as the pairs that ottla sends.

Invariant: only a list of pairs or a dict is accepted; names are text, values text, bytes or None.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Headers: TypeAlias = list[tuple[str, bytes | None]]


def _value(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode()
    if value is None or isinstance(value, bytes):
        return value
    raise TypeError(f"expected header value to be str, bytes or None, not {type(value).__name__}")


def header_pairs(headers: Any) -> Headers | None:
    """Return headers as pairs of a name and bytes; None if there are none.

    Raises:
        TypeError: they are neither a list of pairs nor a dict, or of other types.
    """
    if not headers:
        return None
    if isinstance(headers, dict):
        headers = list(headers.items())
    if not isinstance(headers, list):
        raise TypeError("expected headers to be a dict or a list of (key, value) tuples")
    pairs: Headers = []
    for pair in headers:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("expected each header to be a (key, value) tuple")
        name, value = pair
        if not isinstance(name, str):
            raise TypeError(f"expected header key to be str, not {type(name).__name__}")
        pairs.append((name, _value(value)))
    return pairs
