"""The client's warnings while a live view has the terminal."""

from __future__ import annotations

import logging
from queue import SimpleQueue

from ottla.cli.watch.lines import line


class WarningLines(logging.Handler):
    """Collects the client's warnings, which would otherwise be printed over the view."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: SimpleQueue[str] = SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.put(line("warning", record.getMessage()))

    def take(self) -> list[str]:
        """Return the warnings since the last call."""
        return [self._lines.get_nowait() for _ in range(self._lines.qsize())]

    def __enter__(self) -> WarningLines:
        logging.getLogger("ottla").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("ottla").removeHandler(self)
