"""The thread that passes the core's log events to Python's loggers.

It is a daemon with only Python frames on its stack while a handler runs, so the interpreter can
exit at any time without waiting for a handler that blocks.
"""

from __future__ import annotations

import logging
import threading
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import LogEvents


def start(events: LogEvents) -> None:
    """Start the thread; the core calls this once per process, with its runtime."""
    threading.Thread(target=_run, args=(events,), name="ottla-logging", daemon=True).start()


def _run(events: LogEvents) -> None:
    for name, level, path, line, message in events:
        logger = logging.getLogger(name)
        try:
            if logger.isEnabledFor(level):
                logger.handle(logger.makeRecord(name, level, path, line, message, (), None))
        except Exception:  # noqa: BLE001 - an application's handler may raise anything
            # As `logging` itself does for handlers that fail.
            if logging.raiseExceptions:
                traceback.print_exc()
