"""The errors of the serializers."""

from __future__ import annotations


class SerializerError(Exception):
    """A value cannot be serialized or deserialized.

    Args:
        message: the reason.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __repr__(self) -> str:
        return f"{type(self).__name__}(error={self.message})"

    def __str__(self) -> str:
        return self.message


class KeySerializerError(SerializerError):
    """A key cannot be serialized."""


class ValueSerializerError(SerializerError):
    """A value cannot be serialized."""
