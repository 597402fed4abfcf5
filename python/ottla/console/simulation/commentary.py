"""The running commentary: the actions on the cluster, and the client's reactions and their reasons.

Invariant: any thread may comment at any time; without a console, the latest comments are kept.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

# The number of comments that are kept until a console shows them.
_KEPT = 100
# The number of keys whose last comment is remembered.
_MAX_KEYS = 256


class Commentary:
    """Comments, which a console shows in its time line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._show: Callable[[dict[str, Any]], None] | None = None
        self._last: dict[str, float] = {}

    def connect(self, show: Callable[[dict[str, Any]], None] | None) -> None:
        """Show the kept comments and all later ones. With None, keep comments again."""
        with self._lock:
            self._show = show
            while show is not None and self._kept:
                show(self._kept.popleft())

    def action(self, message: str) -> None:
        """Comment on an action on the cluster."""
        self._add("action", message)

    def note(self, message: str, *, key: str = "", every: float = 0.0) -> bool:
        """Comment on a reaction of the client.

        Args:
            message: the comment.
            key: the subject of a comment that may repeat itself.
            every: the seconds in which at most one comment on the subject is made.

        Returns:
            Whether the comment was made.
        """
        if key:
            now = time.monotonic()
            with self._lock:
                if now - self._last.get(key, -every) < every:
                    return False
                if len(self._last) >= _MAX_KEYS:
                    self._last.clear()
                self._last[key] = now
        self._add("note", message)
        return True

    def _add(self, kind: str, message: str) -> None:
        event = {"time": time.time(), "kind": kind, "message": message}
        with self._lock:
            if self._show is None:
                self._kept.append(event)
            else:
                self._show(event)
