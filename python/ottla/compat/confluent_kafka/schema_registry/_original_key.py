"""The key of the record whose value is serialized next, for rules that write dead letters.

The key's serializer leaves it here, in the same thread or asyncio task, and the value's takes it
away.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

_ORIGINAL_KEY: ContextVar[Any] = ContextVar("schema_registry_original_key", default=None)


def set_original_key(key: Any) -> None:
    """Keep a key for the value of its record."""
    _ORIGINAL_KEY.set(key)


def get_original_key() -> Any:
    """Return the key of the record, or None if no key was serialized."""
    return _ORIGINAL_KEY.get()


def clear_original_key() -> None:
    """Forget the key."""
    if _ORIGINAL_KEY.get() is not None:
        _ORIGINAL_KEY.set(None)
