"""The base classes of serializers and deserializers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["Deserializer", "Serializer"]


class Serializer(ABC):
    """Converts a key or a value to bytes."""

    @abstractmethod
    def serialize(self, topic: str, headers: Any, data: Any) -> Any:
        """Return the bytes of a key or a value."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release resources; the producer calls it when it is closed."""


class Deserializer(ABC):
    """Converts the bytes of a key or a value."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """Return the key or the value."""

    def close(self) -> None:  # noqa: B027 - optional
        """Release resources; the consumer calls it when it is closed."""
