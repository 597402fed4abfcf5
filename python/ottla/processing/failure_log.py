"""Warnings of failures that repeat: one when they begin, one line when they end.

Invariant: each warning is followed by exactly one line at INFO, at the latest when the log closes.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

from ottla._internal.text import counted, duration

__all__ = ["FailureLog"]

# Seconds without another failure after which a series has ended.
_QUIET = 60.0


@dataclass
class _Series:
    began: float
    last: float
    count: int = 1


class FailureLog:
    """The series of failures that are not over."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._series: dict[str, _Series] = {}

    def failed(self, what: str, message: str) -> None:
        """Report one failure; the first of a series is a warning with this message."""
        now = time.monotonic()
        if series := self._series.get(what):
            series.count += 1
            series.last = now
            return
        self._series[what] = _Series(now, now)
        self._logger.warning("%s; further failures of this kind are only counted", message)

    def ended(self, what: str) -> None:
        """Report that a series is over."""
        if series := self._series.pop(what, None):
            took = duration(series.last - series.began)
            self._logger.info("%s: %s in %s", what, counted(series.count, "failure"), took)

    def check(self) -> None:
        """End the series that have had no failure for a while."""
        now = time.monotonic()
        for what in [key for key, each in self._series.items() if now - each.last > _QUIET]:
            self.ended(what)

    def close(self) -> None:
        """End all series."""
        for what in list(self._series):
            self.ended(what)
