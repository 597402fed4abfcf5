"""The processes of the parts, as the run sees them: started, sampled, told to finish.

Invariants: no part outlives the run; whatever a part prints is read at once, and only its latest
counts are kept.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from tests.soak.sampling import Sample, descendants, sample
from tests.soak.settings import Settings
from tests.support.jars import REPOSITORY

JVM = ", JVM"
"""What the name of a part's JVM ends with."""


class PartProcess:
    """A part that runs."""

    def __init__(self, settings: Settings, module: str, *options: str) -> None:
        self.name = "-".join([module, *options])
        self.samples: dict[str, list[Sample]] = {}
        """Of each process, or kind of processes, of the part."""
        self.counts: dict[str, int] = {}
        self.gauges: dict[str, float] = {}
        self.most: dict[str, float] = {}
        """The largest value of each gauge."""
        self.close_seconds: float | None = None
        """From `closing` to the end of the process."""
        self._events: dict[str, dict[str, Any]] = {}
        self._closing_since: float | None = None
        self._changed = threading.Condition()
        self._error = (settings.directory / f"{self.name}.stderr.log").open("wb")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-X", "faulthandler", "-m", f"tests.soak.parts.{module}"),
                *(settings.to_json(), *options),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._error,
            cwd=REPOSITORY,
            # To end Spark's JVM with it. Its standard input ends with the run.
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=self.name, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                with suppress(ValueError), self._changed:
                    self._note(json.loads(line))
        with self._changed:
            self._changed.notify_all()

    def _note(self, event: dict[str, Any]) -> None:
        self.counts, self.gauges = event["counts"], event["gauges"]
        for name, value in self.gauges.items():
            self.most[name] = max(value, self.most.get(name, 0))
        self._events[event["event"]] = event
        if event["event"] == "closing":
            self._closing_since = time.monotonic()
        self._changed.notify_all()

    def wait_for(self, event: str, timeout: float) -> dict[str, Any]:
        """Wait for an event of the part."""
        with self._changed:
            known = self._changed.wait_for(
                lambda: event in self._events or not self._reader.is_alive(), timeout
            )
        assert known, f"{self.name}: no event {event!r} within {timeout:.0f} s"
        assert event in self._events, f"{self.name} ended without the event {event!r}"
        return self._events[event]

    def command(self, text: str) -> None:
        """Send a line to the part; one that has ended is found at the end of the run."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()

    def sample(self, seconds: float) -> None:
        """Sample the process; of Spark, its JVM and that one's Python processes separately."""
        pid = self.process.pid
        kinds: dict[str, Sequence[int]] = {self.name: [pid]}
        children = descendants(pid)
        if children:
            jvm = [child for child, name in children.items() if name == "java"]
            kinds[f"{self.name}{JVM}"] = jvm
            kinds[f"{self.name}, workers"] = [child for child in children if child not in jvm]
        for name, pids in kinds.items():
            if (found := sample(pids, seconds)) is not None:
                self.samples.setdefault(name, []).append(found)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def end(self, timeout: float) -> str | None:
        """Wait for the end of a part that was told to stop; return what is wrong with it."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            what = "close" if self._closing_since else "finish its work"
            self.process.send_signal(signal.SIGABRT)  # faulthandler prints all stacks
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
            return f"{self.name} did not {what} within {timeout:.0f} s of the request to stop"
        if self._closing_since is not None:
            self.close_seconds = time.monotonic() - self._closing_since
        self._reader.join(10)
        return None if code == 0 else f"{self.name} ended with the exit code {code}"

    def kill(self) -> None:
        """Kill the part and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(10)
        self._error.close()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def __enter__(self) -> PartProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
