"""A stream's progress as the offsets of a Kafka consumer group, for tools that show lag.

Owned by ``stream_planner``. Invariant: what is published was processed, or is where the query
starts; a failure is a warning and never the query's: Spark's checkpoint is what counts. A failure
that lasts costs the query one attempt a pause, not one a trigger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import cast

from ottla.errors import KafkaError
from ottla.spark.protocols import Client, TopicPartition

log = logging.getLogger(__name__)

# A trigger waits no longer than this many seconds for a coordinator.
_TIMEOUT = 5.0

# After a failure nothing is published for so many seconds: triggers may come many times a second,
# and each would ask a coordinator that refuses, or wait for one that is away.
_PAUSE = 30.0

# After so many seconds all is published again: brokers forget what is older than
# offsets.retention.minutes of a group without members, as this one is.
_KEPT_FRESH = 3600.0


class GroupProgress:
    """Publishes offsets for one group: those that have changed, and once an hour all."""

    def __init__(self, group_id: str, clock: Callable[[], float]) -> None:
        self._group_id = group_id
        self._clock = clock
        self._published: dict[TopicPartition, int] = {}
        self._all_published = clock()
        self._paused_until = self._all_published
        # Kinds of errors that were told of since it last went well.
        self._told: set[tuple[type[KafkaError], str | None]] = set()

    def publish(
        self,
        client: Client,
        offsets: Mapping[TopicPartition, int],
        existing: Collection[TopicPartition],
    ) -> None:
        """Store offsets of partitions that exist; brokers take none of others.

        What comes during the pause after a failure is left out: the first that comes after it
        brings the newest of all that has changed.
        """
        import ottla

        now = self._clock()
        if now < self._paused_until:
            return
        if now - self._all_published >= _KEPT_FRESH:
            self._all_published = now
            self._published.clear()
        changed = {
            partition: offset
            for partition, offset in offsets.items()
            if partition in existing and self._published.get(partition) != offset
        }
        if not changed:
            return
        admin = ottla.Admin(cast(ottla.Client, client))
        try:
            admin.alter_consumer_group_offsets(self._group_id, changed, timeout=_TIMEOUT)
        except KafkaError as error:
            # From when it failed on: an attempt may take long.
            self._paused_until = self._clock() + _PAUSE
            self._warn(error)
        else:
            self._told.clear()
            self._published |= changed

    def _warn(self, error: KafkaError) -> None:
        kind = type(error), error.name
        if kind in self._told:
            return
        self._told.add(kind)
        log.warning(
            "progress is not published for group %s, tried again every %d seconds: %s",
            self._group_id,
            _PAUSE,
            error,
        )
