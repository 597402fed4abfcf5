"""The frame of a part: its settings, counts, logs and end.

A part is `python -m tests.soak.parts.NAME SETTINGS [OPTION ...]`. It prints a JSON line with its
counts every few seconds, and `closing` when it has done its work. A line "stop" on standard input
lets it finish: it reads what is left and closes. Other lines are commands.

Invariants: warnings and errors of the logger `ottla` and exceptions that a part does not expect are
in files; the part goes on after an exception, so that one failure hides no later one. A part whose
run has died ends, since its standard input ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO

from tests.soak.ledger import Ledger
from tests.soak.settings import Settings

_PAUSE_AFTER_FAILURE = 1.0


class Part:
    """What the code of a part is given."""

    def __init__(self, name: str, settings: Settings, options: list[str]) -> None:
        self.name, self.settings, self.options = name, settings, options
        self.stop = threading.Event()
        self.counts: Counter[str] = Counter()
        """Totals since the start."""
        self.gauges: dict[str, Callable[[], float]] = {}
        """Functions that return what is buffered now."""
        self.commands: Callable[[str], None] = lambda _: None
        """Called with each command, on the thread that reads them."""
        self._ledgers: list[Ledger] = []
        self._failures: IO[str] = (settings.directory / f"{name}.unexpected.log").open("w")
        self._output = threading.Lock()

    def ledger(self, kind: str, columns: int) -> Ledger:
        """Open a file of events of this part."""
        ledger = Ledger(self.settings.directory / f"{self.name}.{kind}.rows", columns)
        self._ledgers.append(ledger)
        return ledger

    @contextlib.contextmanager
    def surviving(self) -> Iterator[None]:
        """Count and write down any exception of a block, wait a little, and go on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 (the run fails because of it)
            self.unexpected(error)
            self.stop.wait(_PAUSE_AFTER_FAILURE)

    def unexpected(self, error: BaseException) -> None:
        """Count and write down an exception that must not happen."""
        self.counts["unexpected"] += 1
        self._failures.write(
            f"{time.strftime('%H:%M:%S')} {''.join(traceback.format_exception(error))}\n"
        )
        self._failures.flush()

    def report(self, event: str = "counts", **more: object) -> None:
        """Print the counts."""
        line = json.dumps({"event": event, "counts": self.counts, "gauges": self._gauges(), **more})
        with self._output:
            print(line, flush=True)

    def _gauges(self) -> dict[str, float]:
        found = {}
        for name, gauge in self.gauges.items():
            with contextlib.suppress(Exception):  # closed meanwhile
                found[name] = gauge()
        return found

    def report_regularly(self) -> None:
        """Print the counts every few seconds, until the process ends."""
        while True:
            time.sleep(self.settings.interval)
            self.report()

    def read_commands(self) -> None:
        """Read standard input until its end."""
        rest = b""
        # Not sys.stdin: its lock, taken by this thread, would stop the interpreter's end.
        while data := os.read(0, 4096):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if line == b"stop":
                    self.stop.set()
                else:
                    self.commands(line.decode())
        if not self.stop.is_set():
            os._exit(3)

    def close(self) -> None:
        """Close the files."""
        for ledger in self._ledgers:
            ledger.close()


def run_part(name: str, work: Callable[[Part], None]) -> None:
    """Run the code of a part to its end; the exit code is 1 if it raises."""
    settings = Settings.from_json(sys.argv[1])
    options = sys.argv[2:]
    name = "-".join([name, *options])
    _log_to_file(settings, name)
    part = Part(name, settings, options)
    for target in (part.read_commands, part.report_regularly):
        threading.Thread(target=target, name=target.__name__, daemon=True).start()
    try:
        work(part)
    except BaseException as error:
        part.unexpected(error)
        raise
    finally:
        part.close()
        part.report("ended")


def _log_to_file(settings: Settings, name: str) -> None:
    logging.captureWarnings(capture=True)
    warnings.simplefilter("always", ResourceWarning)
    handler = logging.FileHandler(settings.directory / f"{name}.warnings.log", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    handler.setLevel(logging.WARNING)
    logging.getLogger().addHandler(handler)
