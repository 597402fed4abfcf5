"""The records that ``ottla produce`` could not write, told in few and short lines.

Invariants: people are told each cause once, when it first occurs; memory and this text are bounded,
whatever the number of failures; a record that may have been written is called that.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from ottla._internal.stderr_log import prints_warnings
from ottla._internal.text import clean, counted, listed
from ottla.cli.messages import is_json, say_error, shortened
from ottla.errors import KafkaError

# The number of causes that are told; others are only counted.
_CAUSES = 5
_RANGES = 5
LENGTH = 400
"""The characters of an error that are printed."""


_CONTEXT = re.compile(r" \[[^\]]*\]$")
_NUMBER = re.compile(r"\d+")
# What the client says of records that this command counts.
_COUNTED = ("not checked", "dropped with unacknowledged records")


class Failures:
    """Counts failed records by cause.

    Args:
        topic: the topic that they were for.

    Attributes:
        count: the number of failed records.
        maybe_written: how many of them may have been written nevertheless.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self.count = 0
        self.maybe_written = 0
        self._causes: Counter[str] = Counter()
        # The first and last number of adjacent failed records; only the first such ranges.
        self._ranges: list[list[int]] = []
        self._range_count = 0
        self._last = 0

    def add(self, number: int, error: KafkaError) -> None:
        """Add the failure of a record, in the order of the input.

        Args:
            number: the number of the record in the input, from 1.
            error: why it was not written.
        """
        self.count += 1
        self.maybe_written += error.maybe_done
        self._add_number(number)
        cause = _cause(error)
        # Programs get them all.
        if is_json() or (cause not in self._causes and len(self._causes) < _CAUSES):
            item = {"topic": self._topic, "index": number - 1}
            say_error(error, prefix="not written: ", item=item, limit=LENGTH)
        if cause in self._causes or len(self._causes) < _CAUSES:
            self._causes[cause] += 1
        else:
            self._causes["other causes"] += 1

    def _add_number(self, number: int) -> None:
        if self._last and number == self._last + 1:
            if len(self._ranges) == self._range_count:
                self._ranges[-1][1] = number
        else:
            self._range_count += 1
            if len(self._ranges) < _RANGES:
                self._ranges.append([number, number])
        self._last = number

    def add_refused(self, number: int) -> None:
        """Add the record after the last one, which was never sent, and whose error was printed."""
        self.count += 1
        self._add_number(number)

    def summary(self, written: int) -> str:
        """Return how many records were written, and which were not."""
        text = f"{counted(written, 'record')} written, {self.count} failed"
        if not self.count:
            return text
        ranges = [f"{a}" if a == b else f"{a}-{b}" for a, b in self._ranges]
        text += f": {'record' if self.count == 1 else 'records'} "
        text += f"{listed(ranges, _RANGES, self._range_count)} of the input"
        if len(self._causes) > 1:
            text += " (" + ", ".join(f"{n} {cause}" for cause, n in self._causes.items()) + ")"
        if self.maybe_written:
            text += f"; {self.maybe_written} of them may have been written nevertheless"
        return text


def _cause(error: KafkaError) -> str:
    """Return a text that errors of the same cause share."""
    if error.name is not None:
        return error.name
    # Messages differ in places and sizes.
    general = _NUMBER.sub("N", _CONTEXT.sub("", str(error)))
    return f"{type(error).__name__}: {shortened(clean(general), 60)}"


@contextmanager
def without_unchecked() -> Iterator[None]:
    """Print no warnings about failures whose results were not checked: the block checks all.

    The command's own handler prints none until the process ends: the thread that logs may be behind
    the block, and after a signal the client warns when Python drops it, of records that the block
    has counted.
    """
    handlers = logging.getLogger("ottla").handlers
    for handler in handlers:
        handler.addFilter(_is_other)
    is_interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        is_interrupted = True
        raise
    finally:
        for handler in handlers if not is_interrupted else ():
            if not prints_warnings(handler):
                handler.removeFilter(_is_other)


def _is_other(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(known in message for known in _COUNTED)
