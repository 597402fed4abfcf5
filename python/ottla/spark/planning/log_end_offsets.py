"""Where logs end, compared with what a stream has already planned.

Owned by ``stream_planner``. Invariant: an end is never before what was planned unless there is
evidence that the log was cut: its topic has another id, or it has been behind for ``PATIENCE``
seconds. A leader that has just been elected can lag; taken at its word, it would make a stream
report data loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ottla.spark.protocols import Client, Offsets, TopicPartition

PATIENCE = 60.0
"""Seconds for which a log may seem to end before what was read from it."""


def behind(newest: Mapping[TopicPartition, int], known: Mapping[TopicPartition, int]) -> Offsets:
    """Return the partitions that seem to end before what is known of them, with those ends."""
    return {p: newest[p] for p, offset in known.items() if newest.get(p, offset) < offset}


class LogEnds:
    """What is remembered of ends between two triggers.

    Args:
        clock: seconds, as ``time.monotonic`` gives them.
        warn: called with a ``logging`` message and its arguments.
    """

    def __init__(self, clock: Callable[[], float], warn: Callable[..., None]) -> None:
        self._clock = clock
        self._warn = warn
        self._ids: dict[str, str | None] = {}
        self._behind_since: dict[TopicPartition, float] = {}
        self._waiting = False

    @property
    def waiting(self) -> bool:
        """Whether a log may still catch up with what was planned, so that its end is not final."""
        return self._waiting

    def settle(self, client: Client, newest: Offsets, known: Offsets) -> Offsets:
        """Return the ends to use: those that were found, but none that only seems to be behind."""
        found = behind(newest, known)
        ids = _topic_ids(client, {topic for topic, _ in newest})
        for partition in self._behind_since.keys() - found.keys():
            del self._behind_since[partition]
        settled = dict(newest)
        waiting: set[str] = set()
        for partition, end in found.items():
            since = self._behind_since.setdefault(partition, self._clock())
            before = self._ids.get(partition[0])
            is_another = before is not None and before != ids.get(partition[0])
            if is_another or self._clock() - since >= PATIENCE:
                continue
            settled[partition] = known[partition]
            waiting.add(partition[0])
            self._warn(
                "%s-%d ends at offset %d according to its leader, but was read up to %d: "
                "waiting up to %d s for the leader to catch up; if it does not, the log was cut",
                *partition,
                end,
                known[partition],
                PATIENCE,
            )
        self._waiting = bool(waiting)
        # The id of a topic that is waited for stays what it was until that is settled.
        self._ids |= {topic: ids[topic] for topic in ids.keys() - waiting}
        return settled


def _topic_ids(client: Client, topics: Iterable[str]) -> dict[str, str | None]:
    if not (names := sorted(topics)):
        return {}
    known = client.cluster(names).topics
    return {name: known[name].id for name in names if name in known}
