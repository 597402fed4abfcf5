"""The faults that are active in a simulation.

A mock cluster can remove only all of its faults at once; to remove one, the others are injected
again. Invariant: a fault for a limited time or for one request is no longer listed once it is over.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from ottla.errors import ClosedError
from ottla.testing import Fault, MockCluster


@dataclass
class _Active:
    fault: Fault
    conditions: dict[str, Any]
    number: int
    until: float | None


class Faults:
    """The faults of a mock cluster, by their descriptions.

    Args:
        mock: the cluster. No other code may inject faults into it.
    """

    def __init__(self, mock: MockCluster) -> None:
        self._mock = mock
        self._lock = threading.RLock()
        self._active: dict[str, _Active] = {}
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        self._thread = threading.Thread(
            target=self._expire, name="ottla-simulation-faults", daemon=True
        )
        self._thread.start()

    def set(
        self, text: str, fault: Fault, *, seconds: float | None = None, **conditions: Any
    ) -> None:
        """Inject a fault, and replace the one with the same description.

        Args:
            text: its description.
            fault: the fault.
            seconds: the seconds after which the fault is removed. Default: never.
            conditions: the conditions of ``MockCluster.inject``.
        """
        with self._changed:
            self._remove([text])
            until = None if seconds is None else time.monotonic() + seconds
            number = self._mock.inject(fault, **conditions)
            self._active[text] = _Active(fault, conditions, number, until)
            self._changed.notify_all()

    def remove_starting(self, text: str) -> None:
        """Remove the faults whose descriptions begin with a text."""
        with self._lock:
            self._remove([each for each in self._active if each.startswith(text)])

    def clear(self) -> None:
        """Remove all faults."""
        with self._lock:
            self._active.clear()
            self._mock.clear_faults()

    def state(self) -> list[dict[str, Any]]:
        """Return the descriptions of the faults, and the number of requests that each affected."""
        with self._lock:
            self._forget_spent()
            return [
                {"text": text, "hits": self._mock.fault_hits(each.number)}
                for text, each in self._active.items()
            ]

    def close(self) -> None:
        """Remove all faults, and end the thread."""
        with self._changed:
            self._is_closed = True
            self.clear()
            self._changed.notify_all()
        self._thread.join(5)

    def _remove(self, texts: list[str]) -> None:
        self._forget_spent()
        if not any(self._active.pop(text, None) for text in texts):
            return
        self._mock.clear_faults()
        for each in self._active.values():
            each.number = self._mock.inject(each.fault, **each.conditions)

    def _forget_spent(self) -> None:
        for text, each in list(self._active.items()):
            times = each.conditions.get("times")
            if times is not None and self._mock.fault_hits(each.number) >= times:
                del self._active[text]

    def _expire(self) -> None:
        """Remove faults whose time is over."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                over = [text for text, each in self._active.items() if (each.until or now) < now]
                try:
                    self._remove(over)
                except ClosedError:
                    return
                ends = [each.until - now for each in self._active.values() if each.until]
                self._changed.wait(max(0.01, min(ends)) if ends else None)
