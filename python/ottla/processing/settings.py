"""What a processor was created with: the arguments, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ottla._core import Record
from ottla.processing.observing import ProcessorChain
from ottla.processing.retry_policy import RetryPolicy

__all__ = ["Settings"]

Decode = Callable[[Record[Any, Any]], Any]


class _Flag(Protocol):
    def is_set(self) -> bool:
        """Return whether to end."""


@dataclass(frozen=True)
class Settings:
    """The settings of a processor; times are in seconds."""

    handler: Callable[[Any], Any]
    topics: Sequence[str]
    policy: RetryPolicy
    batch: bool
    exactly_once: bool
    max_records: int
    max_poll_interval: float
    decode: Decode
    describe: Callable[[BaseException], str]
    commit_timeout: float
    observers: ProcessorChain
    stop: _Flag
