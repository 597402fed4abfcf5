"""Files of events as rows of integers, which parts append to and the run reads.

Invariants: a part keeps at most a second of its events in memory, so that its own bookkeeping does
not grow; a row is in the file once `flush` returned, in the order of the calls.
"""

from __future__ import annotations

import threading
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np

_FLUSH_SECONDS = 1.0


class Ledger:
    """Appends rows of a fixed number of columns; several threads may do so."""

    def __init__(self, path: Path, columns: int) -> None:
        self._file = path.open("ab")
        self._columns = columns
        self._rows: array[int] = array("q")
        self._lock = threading.Lock()
        self._flushed = time.monotonic()

    def add(self, *row: int) -> None:
        """Append a row."""
        assert len(row) == self._columns
        with self._lock:
            self._rows.extend(row)
            if time.monotonic() - self._flushed >= _FLUSH_SECONDS:
                self._write()

    def flush(self) -> None:
        """Write all rows to the file."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        self._rows.tofile(self._file)
        self._file.flush()
        # A new array: a cleared one would keep the size of its longest second.
        self._rows = array("q")
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Write all rows, and close the file."""
        self.flush()
        self._file.close()


def read_rows(path: Path, columns: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return all rows of a file; none if a part never wrote one."""
    if not path.exists():
        return np.empty((0, columns), dtype=np.int64)
    return np.fromfile(path, dtype=np.int64).reshape(-1, columns)
