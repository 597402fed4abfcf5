"""Warnings on standard error, in processes whose log nobody else sets up.

Called by the command line, and by ``ottla.spark`` in the processes that Spark starts. A library
leaves its log to the program; in these there is none that could take it, and what was skipped
would be skipped in silence. Invariant: whoever does take the log, before or after, has it alone.
"""

from __future__ import annotations

import logging
import sys

_OURS = "ottla"
# As Spark's own lines, beside which these stand.
_SPARKS = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_SPARKS_TIME = "%y/%m/%d %H:%M:%S"


class _Warnings(logging.Handler):
    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        # The stream of this moment: Spark, and what draws live pictures, put others in its place.
        if sys.stderr is None or _is_taken():
            return
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:  # noqa: BLE001 - as every handler of logging does
            self.handleError(record)


def show_warnings(formatter: logging.Formatter | None = None) -> None:
    """From now on print warnings, once a process, unless somebody else takes the log."""
    logger = logging.getLogger(_OURS)
    if not _is_taken() and not any(isinstance(taker, _Warnings) for taker in logger.handlers):
        logger.addHandler(_Warnings(formatter or logging.Formatter(_SPARKS, _SPARKS_TIME)))


def _is_taken() -> bool:
    # Where Spark captures its workers' log, it does so by a handler of the root logger.
    silent = (logging.NullHandler, _Warnings)
    own = logging.getLogger(_OURS).handlers
    return bool(logging.getLogger().handlers) or any(not isinstance(h, silent) for h in own)
