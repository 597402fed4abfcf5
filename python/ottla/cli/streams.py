"""The standard streams of a command, and characters that they cannot show.

Invariants: a character that the output's encoding lacks, such as half of a surrogate pair, is
printed as an escape that is also valid in JSON, and the exit code shows it. A stream that is
closed, or whose reader is gone, causes a one-line error, and never a traceback when Python exits.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from ottla._internal.text import counted
from ottla.cli.messages import say

_ESCAPE = "ottla.escape"
# Every encoding can show what the commands print themselves.
_PLAIN = {"…": "..."}


class _Replaced:
    """Counts the characters that were replaced in this process."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: UnicodeError) -> tuple[str | bytes, int]:
        """Replace the first character that cannot be encoded, as a handler of ``codecs``."""
        if not isinstance(error, UnicodeEncodeError):
            raise error
        character, end = error.object[error.start], error.start + 1
        if character in _PLAIN:
            return _PLAIN[character], end
        self.count += 1
        return character.encode("ascii", "backslashreplace").decode(), end


_replaced = _Replaced()
codecs.register_error(_ESCAPE, _replaced)


def encoded(text: str) -> bytes:
    """Return a text as UTF-8; a half of a surrogate pair becomes its escape."""
    return text.encode(errors=_ESCAPE)


def print_done(line: str) -> None:
    """Print a completed action. A replaced character does not make the command fail."""
    encoding = sys.stdout.encoding or "utf-8"
    print(line.encode(encoding, "backslashreplace").decode(encoding))


class _Closed(io.RawIOBase):
    """A stream that was closed when the process started.

    Attributes:
        drops_output: whether it drops what is written, instead of raising an error.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name
        self.drops_output = False

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, _: object) -> int:
        raise OSError(f"standard {self._name} is closed")

    def write(self, data: Any) -> int:
        if self.drops_output:
            return memoryview(data).nbytes
        raise OSError(f"standard {self._name} is closed")


@contextmanager
def standard_streams() -> Iterator[None]:
    """Prepare the standard streams for the block, and end its output without an error."""
    given = stdin, stdout, stderr = sys.stdin, sys.stdout, sys.stderr
    if stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed("input")), encoding="utf-8")
    if stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed("output")), encoding="utf-8")
    if stderr is None:
        # Otherwise `print` would write errors between the records of standard output.
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the exit
    errors = getattr(stdout, "errors", None)
    _reconfigure(sys.stdout, _ESCAPE)
    try:
        yield
    finally:
        _flush(sys.stdout)
        sys.stdin, sys.stdout, sys.stderr = given
        if stdout is not None:
            _reconfigure(stdout, errors)


def _reconfigure(stream: TextIO, errors: str | None) -> None:
    """Set how a stream treats characters that it cannot show. Streams of notebooks are skipped."""
    if isinstance(stream, io.TextIOWrapper) and errors is not None:
        stream.reconfigure(errors=errors)


def _flush(stream: TextIO) -> None:
    """Flush a stream. Output that cannot be written is dropped, since Python would report it."""
    try:
        stream.flush()
    except OSError:
        raw = getattr(getattr(stream, "buffer", None), "raw", None)
        if isinstance(raw, _Closed):
            raw.drops_output = True
            stream.flush()  # Python 3.13 reports what is left when a stream is deleted.
            return
        try:
            descriptor = stream.fileno()
        except OSError:  # it has none: it was closed
            return
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, descriptor)
        os.close(devnull)


class Replacements:
    """Detects characters that were replaced since it was created."""

    def __init__(self) -> None:
        self._before = _replaced.count

    def exit_code(self, code: int) -> int:
        """Return the exit code. If characters were replaced, report them, and return at least 1."""
        count = _replaced.count - self._before
        if code or not count:
            return code
        say(
            f"{counted(count, 'character')} printed as an escape, such as \\ud83d: half of "
            f"a surrogate pair, or not in the output's encoding, {sys.stdout.encoding}",
            "warning",
        )
        return 1
