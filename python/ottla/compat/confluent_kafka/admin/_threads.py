"""The threads on which a client's calls run.

Invariants: there are at most ``MAX_THREADS``, started when a call finds none idle; a call begins
or fails, it is never lost; after a fork the child has threads of its own; threads never keep the
client or the process alive.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

MAX_THREADS = 8
MAX_WAITING = 10_000
"""How many calls may wait for a thread."""


class Job(Protocol):
    """A call that runs on a thread."""

    def run(self) -> None:
        """Run it; its result goes to futures, and it never raises."""

    def fail(self) -> None:
        """Fail it, since the client is closed."""


@dataclass
class _State:
    """The threads of one process."""

    pid: int = field(default_factory=os.getpid)
    changed: threading.Condition = field(default_factory=threading.Condition)
    waiting: deque[Job] = field(default_factory=deque)
    threads: int = 0
    idle: int = 0
    running: int = 0
    closed: bool = False


class CallThreads:
    """Runs the calls of one client."""

    def __init__(self) -> None:
        self._current = _State()

    def _state(self) -> _State:
        if self._current.pid != os.getpid():
            # The parent's threads do not exist here, and its lock may be held forever.
            self._current = _State()
        return self._current

    def __len__(self) -> int:
        """Return the number of calls that wait or run."""
        state = self._state()
        return len(state.waiting) + state.running

    def submit(self, job: Job) -> bool:
        """Run a job as soon as a thread is free; return whether it was accepted.

        It is refused if too many wait. After ``close`` it fails.
        """
        state = self._state()
        with state.changed:
            if not state.closed:
                if len(state.waiting) >= MAX_WAITING:
                    return False
                if state.idle <= len(state.waiting) and state.threads < MAX_THREADS:
                    _start_thread(state)
                state.waiting.append(job)
                state.changed.notify()
                return True
        job.fail()
        return True

    def close(self, *, finish: bool) -> None:
        """End the threads as soon as they are idle.

        Args:
            finish: whether calls that wait still run; otherwise they fail.
        """
        state = self._state()
        with state.changed:
            state.closed = True
            abandoned = [] if finish else list(state.waiting)
            if abandoned:
                state.waiting.clear()
            state.changed.notify_all()
        for job in abandoned:
            job.fail()


def _start_thread(state: _State) -> None:
    thread = threading.Thread(target=_work, args=(state,), name="ottla-admin", daemon=True)
    thread.start()
    state.threads += 1


def _work(state: _State) -> None:
    while True:
        with state.changed:
            state.idle += 1
            while not state.waiting and not state.closed:
                state.changed.wait()
            state.idle -= 1
            if not state.waiting:
                state.threads -= 1
                return
            job = state.waiting.popleft()
            state.running += 1
        try:
            job.run()
        finally:
            del job
            with state.changed:
                state.running -= 1
