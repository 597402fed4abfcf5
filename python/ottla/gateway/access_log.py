"""The access log of a gateway: a line of JSON for each connection that has ended.

Invariant: no connection is left out in silence: a line says how many are missing.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import TextIO

from ottla import _core
from ottla.errors import ConfigError
from ottla.gateway.connection import connection_of

STANDARD_ERROR = Path("-")


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
        self._file: TextIO | None = None
        if path != STANDARD_ERROR:
            try:
                self._file = path.open("a", encoding="utf-8")
            except OSError as error:
                raise ConfigError(f"--access-log: {path}: {error.strerror or error}") from error
        # From now on they are kept.
        gateway.take_ended()

    def write(self) -> None:
        """Write the connections that have ended since the last call."""
        ended, missing = self._gateway.take_ended()
        if not ended and not missing:
            return
        file = sys.stderr if self._file is None else self._file
        if missing:
            file.write(json.dumps({"missing": missing}) + "\n")
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        for values in ended:
            document = asdict(connection_of(values))
            file.write(json.dumps({"time": now, **document}) + "\n")
        file.flush()

    def __enter__(self) -> AccessLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write the rest, and close the file."""
        self.write()
        if self._file is not None:
            self._file.close()
