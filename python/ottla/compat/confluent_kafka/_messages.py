"""``Message``, which ottla's core makes from records without a detour."""

from ottla._core import Message

__all__ = ["Message"]
