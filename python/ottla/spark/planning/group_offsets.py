"""Commits a stream's progress as offsets of a Kafka consumer group, for tools that show lag.

Owned by ``stream_planner``. Invariant: a committed offset was processed, or is where the query
starts. A failure is only a warning and never fails the query, since Spark's checkpoint is
authoritative. A lasting failure costs one attempt per ``_RETRY_BACKOFF``, not one per trigger.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import cast

from ottla.errors import KafkaError
from ottla.spark.protocols import Client, TopicPartition

log = logging.getLogger(__name__)

# Seconds that a trigger waits for the coordinator.
_TIMEOUT = 5.0

# Seconds after a failure without another attempt. Triggers may come many times a second, and each
# would send a request that is refused, or wait for a coordinator that is down.
_RETRY_BACKOFF = 30.0

# Seconds after which all offsets are committed again: brokers delete offsets of a group without
# members, such as this one, after offsets.retention.minutes.
_REFRESH_SECONDS = 3600.0


class GroupOffsetCommitter:
    """Commits offsets for one group: those that have changed, and once an hour all.

    Args:
        group_id: the consumer group.
        clock: returns seconds, as ``time.monotonic`` does.
    """

    def __init__(self, group_id: str, clock: Callable[[], float]) -> None:
        self._group_id = group_id
        self._clock = clock
        self._committed: dict[TopicPartition, int] = {}
        self._refreshed_at = clock()
        self._paused_until = self._refreshed_at
        # The kinds of errors logged since the last success.
        self._logged: set[tuple[type[KafkaError], str | None]] = set()

    def commit(
        self,
        client: Client,
        offsets: Mapping[TopicPartition, int],
        existing: Collection[TopicPartition],
    ) -> None:
        """Commit offsets of partitions that exist; brokers reject others.

        A commit during the backoff after a failure is skipped: the next one commits the newest
        offsets of all partitions that have changed.
        """
        import ottla

        now = self._clock()
        if now < self._paused_until:
            return
        if now - self._refreshed_at >= _REFRESH_SECONDS:
            self._refreshed_at = now
            self._committed.clear()
        changed = {
            partition: offset
            for partition, offset in offsets.items()
            if partition in existing and self._committed.get(partition) != offset
        }
        if not changed:
            return
        admin = ottla.Admin(cast(ottla.Client, client))
        try:
            admin.alter_group_offsets(self._group_id, changed, timeout=_TIMEOUT)
        except KafkaError as error:
            # Read the clock again: the attempt may have taken long.
            self._paused_until = self._clock() + _RETRY_BACKOFF
            self._warn(error)
        else:
            self._logged.clear()
            self._committed |= changed

    def _warn(self, error: KafkaError) -> None:
        kind = type(error), error.name
        if kind in self._logged:
            return
        self._logged.add(kind)
        log.warning(
            "offsets of group %s were not committed, retrying every %d seconds: %s",
            self._group_id,
            _RETRY_BACKOFF,
            error,
        )
