"""The threads on which a client's calls run, and the order in which they begin.

Invariants: there are at most ``MAX_THREADS``, started when a call finds none idle; a call begins
or fails, it is never lost; it begins after the changes that were requested before it, and a change
after all calls before it, unless these take long; after a fork the child has threads of its own;
threads never keep the client or the process alive.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

MAX_THREADS = 8
MAX_WAITING = 10_000
"""How many calls may wait for a thread."""

# Seconds that a call waits for those before it: one that hangs does not hold up the others.
_PATIENCE = 1.0

Kind: TypeAlias = Literal["change", "question", "other"]
"""What a job does; only ``other`` ones are not ordered."""


class Job(Protocol):
    """A call that runs on a thread."""

    @property
    def deadline(self) -> float:
        """When it must be done, by ``time.monotonic``."""

    def run(self, ended: threading.Event) -> None:
        """Run it, and never raise.

        Args:
            ended: to set before a result goes to the application, whose callbacks may call.
        """

    def fail(self) -> None:
        """Fail it, since the client is closed."""


@dataclass
class _Ticket:
    """A job, with the jobs that it waits for."""

    job: Job
    earlier: Sequence[threading.Event]
    ended: threading.Event = field(default_factory=threading.Event)

    def wait(self) -> None:
        """Wait for the jobs before it, for half of its own time at most."""
        now = time.monotonic()
        until = now + min(_PATIENCE, (self.job.deadline - now) / 2)
        for event in self.earlier:
            event.wait(max(until - time.monotonic(), 0.0))


@dataclass
class _State:
    """The threads of one process."""

    pid: int = field(default_factory=os.getpid)
    # Reentrant: a client may be dropped, and end its threads, while this thread holds the lock.
    changed: threading.Condition = field(default_factory=threading.Condition)
    waiting: deque[_Ticket] = field(default_factory=deque)
    threads: int = 0
    idle: int = 0
    running: int = 0
    closed: bool = False
    # The last change, and the questions since then.
    last_change: list[threading.Event] = field(default_factory=list)
    questions: list[threading.Event] = field(default_factory=list)

    def ticket(self, job: Job, kind: Kind) -> _Ticket:
        """Return the ticket of a job that comes after all others."""
        if kind == "other":
            return _Ticket(job, ())
        self.questions = [event for event in self.questions if not event.is_set()]
        if kind == "question":
            ticket = _Ticket(job, self.last_change)
            self.questions.append(ticket.ended)
        else:
            ticket = _Ticket(job, [*self.last_change, *self.questions])
            self.last_change, self.questions = [ticket.ended], []
        return ticket


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

    def submit(self, job: Job, kind: Kind) -> bool:
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
                state.waiting.append(state.ticket(job, kind))
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
        abandoned: list[_Ticket] = []
        with state.changed:
            state.closed = True
            if not finish:
                abandoned.extend(state.waiting)
                state.waiting.clear()
            state.changed.notify_all()
        for ticket in abandoned:
            ticket.job.fail()
            ticket.ended.set()


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
            ticket = state.waiting.popleft()
            state.running += 1
        try:
            ticket.wait()
            ticket.job.run(ticket.ended)
        finally:
            ticket.ended.set()
            del ticket
            with state.changed:
                state.running -= 1
