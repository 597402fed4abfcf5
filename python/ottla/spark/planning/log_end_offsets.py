"""Log end offsets, checked against the offsets that a stream has already planned.

Owned by ``stream_planner``. A leader that has just been elected can report an end that is too low;
used as it is, it would make a stream report data loss. Invariant: an end is never before a planned
offset unless there is evidence that the log was truncated: its topic id has changed, or the end has
been too low for ``STALE_LEADER_SECONDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ottla.spark.protocols import Client, Offsets, TopicPartition

STALE_LEADER_SECONDS = 60.0
"""Seconds for which a log may seem to end before an offset that was read from it."""


def stale_ends(
    latest: Mapping[TopicPartition, int], planned: Mapping[TopicPartition, int]
) -> Offsets:
    """Return the ends that are before the planned offset of their partition."""
    return {p: latest[p] for p, offset in planned.items() if latest.get(p, offset) < offset}


class LogEndTracker:
    """Remembers log end offsets and topic ids between triggers.

    Args:
        clock: returns seconds, as ``time.monotonic`` does.
        warn: called with a ``logging`` format and its arguments.
    """

    def __init__(self, clock: Callable[[], float], warn: Callable[..., None]) -> None:
        self._clock = clock
        self._warn = warn
        self._topic_ids: dict[str, str | None] = {}
        self._stale_since: dict[TopicPartition, float] = {}
        self._waiting = False

    @property
    def waiting(self) -> bool:
        """Whether a log may still catch up with what was planned, so that its end may change."""
        return self._waiting

    def reconcile(self, client: Client, latest: Offsets, planned: Offsets) -> Offsets:
        """Return the ends to use: ``latest``, but the planned offset where an end is stale."""
        stale = stale_ends(latest, planned)
        ids = _request_topic_ids(client, {topic for topic, _ in latest})
        for partition in self._stale_since.keys() - stale.keys():
            del self._stale_since[partition]
        ends = dict(latest)
        waiting: set[str] = set()
        for partition, end in stale.items():
            since = self._stale_since.setdefault(partition, self._clock())
            previous_id = self._topic_ids.get(partition[0])
            is_recreated = previous_id is not None and previous_id != ids.get(partition[0])
            if is_recreated or self._clock() - since >= STALE_LEADER_SECONDS:
                continue
            ends[partition] = planned[partition]
            waiting.add(partition[0])
            self._warn(
                "%s-%d ends at offset %d according to its leader, but was read up to %d: waiting "
                "up to %d s for the leader to catch up; if it does not, the log was truncated",
                *partition,
                end,
                planned[partition],
                STALE_LEADER_SECONDS,
            )
        self._waiting = bool(waiting)
        # While a topic is waited for, its previous id is kept to compare with.
        self._topic_ids |= {topic: ids[topic] for topic in ids.keys() - waiting}
        return ends


def _request_topic_ids(client: Client, topics: Iterable[str]) -> dict[str, str | None]:
    if not (names := sorted(topics)):
        return {}
    found = client.cluster(names).topics
    return {name: found[name].id for name in names if name in found}
