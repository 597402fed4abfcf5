"""The thread that calls a producer's ``on_delivery`` and its deliveries' done callbacks.

It is a daemon, and all of its frames are Python's while a callback runs: the interpreter may end at
any time without waiting for one that blocks.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla._core import DeliveryReports


def start(reports: DeliveryReports) -> None:
    """Start it; a producer does so with the first record that has a callback."""
    threading.Thread(target=_run, args=(reports,), name="ottla-delivery", daemon=True).start()


def _run(reports: DeliveryReports) -> None:
    for callback, arguments, is_done_callback in reports:
        try:
            callback(*arguments)
        except BaseException as raised:  # that of on_delivery is raised again by flush() or close()
            name = "a done callback" if is_done_callback else "on_delivery"
            if is_done_callback or not reports.raised(raised):
                # One is waiting to be raised already.
                logging.getLogger("ottla.producer").exception("%s raised", name)
        # Nothing of a record is kept alive until the next one comes.
        del callback, arguments
