"""The access log of a gateway: a line of JSON for each connection that has ended.

Invariants: no connection is left out in silence: a line says how many are missing. A file that
cannot be written ends nothing but the log.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

from ottla import _core
from ottla.errors import ConfigError
from ottla.gateway.connection import connection_of

STANDARD_ERROR = Path("-")
_STANDARD_ERROR_NUMBER = 2

_log = logging.getLogger("ottla.gateway")


class AccessLog:
    """Writes the connections of a gateway that have ended.

    Args:
        gateway: the gateway.
        path: the file to append to; ``-`` for standard error.

    Raises:
        ConfigError: the file cannot be opened.
    """

    def __init__(self, gateway: _core.Gateway, path: Path) -> None:
        self._gateway = gateway
        self._name = "standard error" if path == STANDARD_ERROR else str(path)
        # A buffer would keep lines that could not be written, and fail again when it is closed.
        try:
            self._file = (
                FileIO(_STANDARD_ERROR_NUMBER, "wb", closefd=False)
                if path == STANDARD_ERROR
                else FileIO(path, "ab")
            )
        except OSError as error:
            raise ConfigError(f"--access-log: {path}: {error.strerror or error}") from error
        # The connections that no line has, and whether the last line was cut off.
        self._missing = 0
        self._is_torn = False
        self._is_failing = False
        # From now on they are kept.
        gateway.take_ended()

    def write(self) -> None:
        """Write the connections that have ended since the last call.

        Those that cannot be written are counted, and a warning is logged if the line before could
        be.
        """
        ended, missing = self._gateway.take_ended()
        self._missing += missing
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        left = len(ended)
        try:
            if self._missing:
                self._write_line({"missing": self._missing})
                self._missing = 0
            for values in ended:
                self._write_line({"time": now, **asdict(connection_of(values))})
                left -= 1
        except OSError as error:
            self._missing += left
            self._warn(error)

    def _write_line(self, document: dict[str, Any]) -> None:
        rest = memoryview(json.dumps(document).encode() + b"\n")
        if self._is_torn:
            rest = memoryview(b"\n" + rest)
        while rest:
            written = self._file.write(rest)
            if not written:
                raise BlockingIOError("its reader is too slow")
            self._is_torn = True
            rest = rest[written:]
        self._is_torn = self._is_failing = False

    def _warn(self, error: OSError) -> None:
        if not self._is_failing:
            self._is_failing = True
            _log.warning(
                "the access log cannot be written, and connections will be missing in it: %s: %s",
                self._name,
                error.strerror or error,
            )

    def __enter__(self) -> AccessLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the rest, and close the file."""
        try:
            self.write()
        finally:
            try:
                self._file.close()
            except OSError as failed:
                # A network's file system may report only now what it could not write.
                self._warn(failed)
