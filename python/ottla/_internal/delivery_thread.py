"""The thread that calls a producer's ``on_delivery`` and its deliveries' done callbacks.

It is a daemon with only Python frames on its stack while a callback runs, so the interpreter can
exit at any time without waiting for a callback that blocks.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import DeliveryReports


def start(reports: DeliveryReports) -> None:
    """Start the thread; a producer calls this for its first record with a callback."""
    threading.Thread(target=_run, args=(reports,), name="ottla-delivery", daemon=True).start()


def _run(reports: DeliveryReports) -> None:
    for callback, arguments, is_done_callback in reports:
        try:
            callback(*arguments)
        except BaseException as raised:  # flush() or close() raises that of on_delivery
            name = "a done callback" if is_done_callback else "on_delivery"
            if is_done_callback or not reports.raised(raised):
                # A done callback, or flush() has another exception to raise already.
                logging.getLogger("ottla.producer").exception("%s raised", name)
        # Do not keep the record alive while waiting for the next.
        del callback, arguments
