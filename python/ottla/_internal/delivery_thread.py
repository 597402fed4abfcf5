"""The thread that calls a producer's ``on_delivery`` and its deliveries' done callbacks.

It is a daemon with only Python frames on its stack while a callback runs, so the interpreter can
exit at any time without waiting for a callback that blocks.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from ottla._internal.callback_results import check_callback

if TYPE_CHECKING:
    from ottla._core import DeliveryReports


def start(reports: DeliveryReports) -> None:
    """Start the thread; a producer calls this for its first record with a callback."""
    threading.Thread(target=_run, args=(reports,), name="ottla-delivery", daemon=True).start()


def _run(reports: DeliveryReports) -> None:
    for is_done_callback, calls in reports:
        if is_done_callback:
            for callback, delivery in calls:
                try:
                    returned = callback(delivery)
                    if returned is not None:
                        check_callback(returned)
                except BaseException:
                    logging.getLogger("ottla.producer").exception("a done callback raised")
            del callback, delivery
        else:
            for callback, error, metadata in calls:
                try:
                    returned = callback(error, metadata)
                    if returned is not None:
                        check_callback(returned)
                except BaseException as raised:  # flush() or close() raises it
                    if not reports.raised(raised):
                        # It has another exception to raise already.
                        logging.getLogger("ottla.producer").exception("on_delivery raised")
            del callback, error, metadata
        # Do not keep the records alive while waiting for the next.
        returned = None
        del calls
