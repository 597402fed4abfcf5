"""Watches the client of a simulation, and comments on what it does.

It sees only what an application can see: the client's events, its metrics and its log, and how
often the brokers were asked for a coordinator. Invariant: watching does not affect the client.
"""

from __future__ import annotations

import logging
import threading

from ottla import Event
from ottla.console.simulation.cluster import SimulatedCluster
from ottla.console.simulation.commentary import Commentary
from ottla.console.simulation.layout import GROUP
from ottla.console.simulation.traffic import Traffic
from ottla.errors import KafkaError

# The loggers of the parts of the core that the traffic uses.
_LOGGERS = tuple(
    f"ottla.{part}"
    for part in ("client", "connection", "coordinator", "fetch", "group", "metadata", "producer")
)
# Seconds between samples of the metrics, and seconds in which no explanation is repeated.
_INTERVAL = 0.5
_ONCE = 8.0
_RETRIES_EVERY = 3.0
_JOIN_TIMEOUT = 3.0

# The explanations of events. The time line shows the event itself.
_EVENTS = {
    "leader_changed": (
        "The client knows the new leader, from the response of the old one (KIP-951) or a refresh "
        "of its metadata, and sends and fetches there from now on."
    ),
    "broker_lost": (
        "The metadata no longer lists the broker: its partitions have other leaders. A lost "
        "connection was reason enough to refresh the metadata at once."
    ),
    "broker_added": (
        "The broker is in the metadata again. It follows at first: it leads nothing until leaders "
        "are moved back to it."
    ),
    "broker_moved": (
        "The metadata has another address for the broker. The client uses the addresses that the "
        "brokers advertise, and connects there from now on."
    ),
}

_TIMED_OUT = (
    "A response did not come within request.timeout.ms. Responses come in order, so those behind "
    "it would not come either: the client ends the connection, and sends the requests again on a "
    "new one."
)
_REFUSED = (
    "Nothing listens at the broker's address. Reconnecting waits between reconnect.backoff.ms and "
    "reconnect.backoff.max.ms, longer after each failure and with jitter."
)
_BROKEN = (
    "A request that was in flight may or may not have been processed. The client never guesses: "
    "the idempotent producer sends its batches again under the same sequence numbers, by which the "
    "leader recognises a batch that it has."
)
# The explanations of a lost connection, by a part of its cause. The first match is used.
_CAUSES = (
    ("closed by this client", ""),
    ("no response to", _TIMED_OUT),
    ("refused", _REFUSED),
    ("", _BROKEN),
)


class Watcher(logging.Handler):
    """Comments on what the client does, until it is closed.

    Args:
        cluster: the cluster.
        traffic: the traffic, whose client is watched.
        commentary: where the comments go.
    """

    def __init__(self, cluster: SimulatedCluster, traffic: Traffic, commentary: Commentary) -> None:
        super().__init__(logging.WARNING)
        self._cluster = cluster
        self._traffic = traffic
        self._commentary = commentary
        self._ended = threading.Event()
        self._events = traffic.client.events(all_topics=True)
        self._threads = [
            threading.Thread(target=work, name=f"ottla-simulation-{name}", daemon=True)
            for name, work in (("events", self._watch_events), ("metrics", self._watch_metrics))
        ]

    def start(self) -> None:
        """Start the threads."""
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads."""
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)
        self._ended.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_JOIN_TIMEOUT)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """Comment with a line of the log."""
        text = f"Log, {record.levelname} {record.name}: {record.getMessage()}"
        self._commentary.note(text, key=text, every=_ONCE)

    def _watch_events(self) -> None:
        while not self._ended.is_set():
            try:
                event = self._events.next(timeout=_INTERVAL)
            except KafkaError:  # the client was closed
                return
            if event is not None and (text := _explanation(event)):
                self._commentary.note(text, key=text, every=_ONCE)

    def _watch_metrics(self) -> None:
        retries = lookups = 0
        was_full = False
        while not self._ended.wait(_INTERVAL):
            try:
                metrics = self._traffic.producer.metrics()
                asked = self._cluster.mock.request_count("FindCoordinator")
                coordinator = self._cluster.mock.coordinator(GROUP)
            except KafkaError:  # the client or the cluster was closed
                return
            again = int(metrics["record-retry-total"])
            if again > retries and self._commentary.note(
                f"The producer sent {again - retries:,} records again (record-retry-total is "
                f"{again:,}), under the same sequence numbers, so that each is written once and in "
                "order.",
                key="record-retry-total",
                every=_RETRIES_EVERY,
            ):
                retries = again
            if asked > lookups:
                self._commentary.note(
                    f"The client looked up the coordinator of the group {GROUP} "
                    f"(FindCoordinator): it is broker {coordinator}."
                )
            lookups = asked
            is_full = metrics["waiting-threads"] > 0
            if is_full and not was_full:
                self._commentary.note(
                    f"The buffer of {metrics['buffer-total-bytes']:,.0f} bytes (buffer.memory) is "
                    "full: send() waits for room, up to max.block.ms, and so slows the application "
                    "down to what the brokers accept."
                )
            elif was_full and not is_full:
                available = metrics["buffer-available-bytes"]
                self._commentary.note(
                    f"The buffer has room again ({available:,.0f} bytes): send() returns at once."
                )
            was_full = is_full


def _explanation(event: Event) -> str:
    if event.kind == "connection_lost":
        cause = event.cause or event.message
        return next(text for part, text in _CAUSES if part in cause)
    return _EVENTS.get(event.kind, "")
