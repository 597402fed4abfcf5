"""The watched data: the metadata, the events and the lag of groups, all from one client.

Invariant: once the cluster is found, the watch waits only for events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from ottla import AsyncClient, AsyncEvents, Event
from ottla.cli.topology import Overview, overview
from ottla.cli.watch.poller import Poller
from ottla.cli.watch.rates import Rates

if TYPE_CHECKING:
    from ottla.cli.watch.lag import WatchedGroup

# The longest delay, in seconds, between an event and its display.
_REDRAW = 0.25
# The timeout of a metadata refresh, in seconds, unless the interval is longer.
_TIMEOUT = 5.0


class Watch:
    """A watch of a cluster.

    Args:
        client: the client, which may still be looking for the cluster.
        topics: the topics to watch. Default: all.
        groups: the groups whose lag is looked up.
        interval: seconds between refreshes of the metadata.
        seconds: the seconds for which ``run`` runs once the cluster is found. Default: until
            Ctrl-C.
    """

    def __init__(
        self,
        client: AsyncClient,
        topics: Sequence[str] | None,
        groups: Sequence[str],
        interval: float,
        seconds: float | None,
    ) -> None:
        self.client = client
        self.interval = max(interval, 0.1)
        self.rates = Rates(client)
        self.groups: list[WatchedGroup] = []
        self._group_ids = list(dict.fromkeys(groups))
        self._names = list(dict.fromkeys(topics or ()))
        self._seconds = seconds
        self._events: AsyncEvents | None = None
        self._metadata = Poller(self.interval, self._refresh)

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for group in self.groups:
            await group.poller.stop()
        await self._metadata.stop()

    @property
    def overview(self) -> Overview | None:
        """The newest metadata; None until the cluster is found."""
        return self._metadata.outcome.value

    @property
    def error(self) -> str | None:
        """The reason why the metadata cannot be refreshed."""
        error = self._metadata.outcome.error
        return None if error is None else str(error)

    async def run(
        self, on_event: Callable[[Event], None], on_tick: Callable[[], None] = lambda: None
    ) -> None:
        """Pass each event to ``on_event``, and call ``on_tick`` at least every quarter second.

        Raises:
            KafkaError: the cluster, or a topic to watch, was not found.
        """
        on_tick()
        while self.overview is None:
            error = self._metadata.outcome.error
            if error is not None:
                raise error
            await self._metadata.wait_for_call(_REDRAW)
            self.rates.sample()
            on_tick()
        if self._group_ids:
            # The import also loads the group operations.
            from ottla.cli.watch.lag import watch_groups

            self.groups = watch_groups(self.client, self._group_ids, self.interval)
        assert self._events is not None, "the first refresh has made them"
        until = None if self._seconds is None else time.monotonic() + self._seconds
        while until is None or time.monotonic() < until:
            left = _REDRAW if until is None else max(0.0, until - time.monotonic())
            event = await self._events.next(timeout=min(_REDRAW, left))
            if event is not None:
                on_event(event)
            self.rates.sample()
            on_tick()

    async def _refresh(self) -> Overview:
        if self._events is not None:
            return await self._fetch(max(self.interval, _TIMEOUT))
        # This takes until the cluster is found. Events begin after this first overview.
        found = await self._fetch(None)
        self._events = await self.client.events(all_topics=not self._names)
        return found

    async def _fetch(self, timeout: float | None) -> Overview:
        names = self._names or await self.client.topic_names(timeout=timeout)
        cluster = await self.client.cluster(names, refresh=True, timeout=timeout)
        return overview(cluster, names)
