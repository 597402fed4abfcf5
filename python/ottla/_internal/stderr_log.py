"""Prints warnings to standard error in processes that configure no logging.

Used by the command line, and by ``ottla.spark`` in the processes that Spark starts: there, no
program configures logging, and warnings such as skipped records would be lost. Invariant: as soon
as another handler is configured, before or after, only that handler gets the warnings.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

_LOGGER = "ottla"
# Spark's own format, since the lines appear between Spark's.
_SPARK_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_SPARK_TIME_FORMAT = "%y/%m/%d %H:%M:%S"


class _Warnings(logging.Handler):
    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        # Looked up for each record: Spark and rich's live view replace the stream.
        if sys.stderr is None or _has_other_handler():
            return
        try:
            # In one piece, as other threads print too.
            sys.stderr.write(f"{self.format(record)}\n")
            sys.stderr.flush()
        except Exception:  # noqa: BLE001 - as all handlers of logging do
            self.handleError(record)


def show_warnings(
    formatter: logging.Formatter | None = None,
    is_shown: Callable[[logging.LogRecord], bool] | None = None,
) -> None:
    """Start to print warnings, unless another handler is configured. Later calls have no effect.

    Args:
        formatter: returns the lines. Default: in Spark's format.
        is_shown: whether a warning is printed. Default: all are.
    """
    logger = logging.getLogger(_LOGGER)
    if not _has_other_handler() and not any(
        isinstance(handler, _Warnings) for handler in logger.handlers
    ):
        handler = _Warnings(formatter or logging.Formatter(_SPARK_FORMAT, _SPARK_TIME_FORMAT))
        if is_shown is not None:
            handler.addFilter(is_shown)
        logger.addHandler(handler)


def prints_warnings(handler: logging.Handler) -> bool:
    """Whether a handler is the one of ``show_warnings``."""
    return isinstance(handler, _Warnings)


def _has_other_handler() -> bool:
    # Spark captures its workers' logs with a handler of the root logger.
    silent = (logging.NullHandler, _Warnings)
    own = logging.getLogger(_LOGGER).handlers
    return bool(logging.getLogger().handlers) or any(not isinstance(h, silent) for h in own)
