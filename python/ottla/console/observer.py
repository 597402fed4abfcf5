"""Observes a client for all open pages: its metadata, connections, metrics and events.

The client is sampled only while pages are open; only events are always collected. Each sample is
encoded once, and every page gets the newest sample of each kind. Invariant: a slow page skips
samples, and takes no additional memory.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from ottla import AsyncEvents
from ottla.console import samples
from ottla.console.events import KEEP_ALIVE, server_sent_event
from ottla.console.leader_moves import LeaderMoves
from ottla.console.repeated_losses import RepeatedLosses
from ottla.console.source import Source
from ottla.console.topology import Topology
from ottla.errors import ClosedError, KafkaError, described

_log = logging.getLogger(__name__)

# The number of events that are kept for the time line.
KEPT_EVENTS = 1_000
# Seconds between samples of connections and metrics, and between refreshes of the metadata.
_SAMPLE_INTERVAL = 1.0
_REFRESH_INTERVAL = 2.0
# The metadata of a large cluster is refreshed less often: the pause is this many times as long as
# its evaluation took, so that it uses at most a twentieth of a core.
_REFRESH_PAUSE = 20
_REFRESH_TIMEOUT = 5.0
_CLOSED = "the client was closed"
# Seconds in which leaders that move together are collected.
_MOVES_INTERVAL = 0.3
# Seconds between comments, which keep an idle stream open and detect a page that is gone.
_KEEP_ALIVE = 10.0


class Observer:
    """The newest samples of a client, and its latest events.

    Args:
        source: the client.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.topology: Topology | None = None
        self.problem: str | None = None
        self.refreshed: float | None = None
        """The time of the newest metadata, or of the problem, in seconds since 1970."""
        self._newest: dict[str, tuple[int, str]] = {}
        self._events: deque[tuple[int, dict[str, Any]]] = deque(maxlen=KEPT_EVENTS)
        # A page that was opened before the console was restarted only accepts higher numbers.
        self._number = int(time.time() * 1000)
        self._moves = LeaderMoves()
        self._losses = RepeatedLosses()
        self._changed = asyncio.Condition()
        self._opened = asyncio.Event()
        self._pages = 0
        self._closed = False
        # Seconds.
        self._evaluation_time = 0.0

    @property
    def pages(self) -> int:
        """The number of open pages."""
        return self._pages

    async def run(self) -> None:
        """Observe until the task is cancelled."""
        work = self._collect_events(), self._add_moves(), self._sample(), self._refresh()
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.gather(*tasks)
        except Exception as error:
            # Without a message, the pages would wait for ever. The log has the traceback.
            _log.exception("the console has stopped observing its client")
            await self._report(f"the console has failed: {described(error)}")
            raise
        finally:
            for task in tasks:
                task.cancel()

    async def close(self) -> None:
        """End all streams."""
        self._closed = True
        async with self._changed:
            self._changed.notify_all()

    async def stream(self) -> AsyncIterator[str]:
        """Yield server-sent events: the newest samples, then each newer one, until ``close()``."""
        self._pages += 1
        self._opened.set()
        seen = 0
        try:
            while not self._closed:
                # Messages that are published while the page reads these are newer.
                messages, seen = self._messages_after(seen), self._number
                for message in messages:
                    yield message
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wait_after(seen), _KEEP_ALIVE)
                    continue
                yield KEEP_ALIVE
        finally:
            self._pages -= 1
            if not self._pages:
                self._opened.clear()

    def _messages_after(self, seen: int) -> list[str]:
        messages = [text for number, text in self._newest.values() if number > seen]
        events = [event for number, event in self._events if number > seen]
        if events:
            messages.append(server_sent_event("events", events))
        return messages

    async def _wait_after(self, seen: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._closed or self._number > seen)

    async def publish(self, kind: str, value: Any) -> None:
        """Make a value the newest of its kind, for all pages."""
        text = server_sent_event(kind, value)
        async with self._changed:
            if self._newest.get(kind, (0, ""))[1] != text:
                self._number += 1
                self._newest[kind] = (self._number, text)
                self._changed.notify_all()

    async def _report(self, problem: str | None) -> None:
        """Publish what is wrong with the cluster or the client; None if nothing is."""
        self.problem, self.refreshed = problem, time.time()
        await self.publish("problem", None if problem is None else {"message": problem})

    async def add_event(self, event: dict[str, Any]) -> None:
        """Add an event to the time line. ``replaces`` is the number of one that it extends."""
        async with self._changed:
            self._number += 1
            if (replaced := event.get("replaces")) is not None:
                kept = (each for each in self._events if each[0] != replaced)
                self._events = deque(kept, maxlen=KEPT_EVENTS)
            self._events.append((self._number, {"number": self._number, **event}))
            self._changed.notify_all()

    async def _add_moves(self) -> None:
        """Add leaders that moved together as one event."""
        while True:
            await self._moves.arrived.wait()
            await asyncio.sleep(_MOVES_INTERVAL)
            for event in self._moves.take(time.time()):
                await self.add_event(event)
                self._moves.numbered(event, self._number)

    async def _collect_events(self) -> None:
        """Collect the client's events, until it is closed."""
        while True:
            try:
                events: AsyncEvents = await self._source.client.events(all_topics=True)
                async for event in events:
                    if event.kind == "leader_changed":
                        self._moves.add(samples.event(event))
                    else:
                        added = self._losses.extended(samples.event(event))
                        await self.add_event(added)
                        self._losses.numbered(added, self._number)
            except ClosedError:
                pass
            except KafkaError as error:
                await self._report(str(error))
                await asyncio.sleep(_REFRESH_INTERVAL)
                continue
            await self._report(_CLOSED)
            return

    async def _sample(self) -> None:
        """Publish connections and metrics while pages are open."""
        while True:
            await self._opened.wait()
            with suppress(ClosedError):
                connections = self._source.connections()
                await self.publish("connections", list(map(samples.connection, connections)))
                metrics, now = samples.finite(self._source.metrics()), time.time()
                await self.publish("metrics", {"time": now, "values": metrics})
                requests = samples.requests(self._source.client.request_statistics())
                await self.publish("requests", {"time": now, **requests})
            await asyncio.sleep(_SAMPLE_INTERVAL)

    async def _refresh(self) -> None:
        """Refresh the metadata while pages are open."""
        while True:
            await self._opened.wait()
            await self.refresh()
            await asyncio.sleep(max(_REFRESH_INTERVAL, _REFRESH_PAUSE * self._evaluation_time))

    async def refresh(self) -> None:
        """Refresh the metadata once, and publish it or the reason why that failed."""
        try:
            cluster = await self._source.client.cluster(
                all_topics=True, refresh=True, timeout=_REFRESH_TIMEOUT
            )
        except ClosedError:
            await self._report(_CLOSED)
            return
        except KafkaError as error:
            await self._report(f"no metadata: {error}")
            return
        started = time.perf_counter()
        self.topology = Topology(cluster)
        self._evaluation_time = time.perf_counter() - started
        await self.publish("cluster", self.topology.to_json())
        await self._report(None)
