"""The three classes that all exceptions of kafka-python derive from."""

from __future__ import annotations

from typing import Any

__all__ = ["InvalidMetadataError", "KafkaError", "RetriableError"]


class KafkaError(Exception):
    """The base of all exceptions of this module.

    Attributes:
        retriable: whether the same call may succeed later.
        invalid_metadata: whether the metadata was out of date.
    """

    retriable = False
    invalid_metadata = False

    def __str__(self) -> str:
        name = type(self).__name__
        return f"{name}: {super().__str__()}" if self.args else name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == getattr(other, "args", None)

    def __hash__(self) -> int:
        return hash((type(self), self.args))


class RetriableError(KafkaError):
    """The same call may succeed later."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """The metadata was out of date; the client has asked for new metadata."""

    invalid_metadata = True


def _module(*classes: Any) -> None:
    # Tracebacks and pickles name the public module.
    for each in classes:
        each.__module__ = "ottla.compat.kafka.errors"


_module(KafkaError, RetriableError, InvalidMetadataError)
