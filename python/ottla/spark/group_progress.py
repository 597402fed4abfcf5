"""A stream's progress as the offsets of a Kafka consumer group, for tools that show lag.

Owned by ``stream_planner``. Invariant: what is published was processed, or is where the query
starts; a failure is a warning and never the query's: Spark's checkpoint is what counts.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import cast

from ottla.errors import KafkaError
from ottla.spark.core import Client, TopicPartition

log = logging.getLogger(__name__)

# A trigger waits no longer than this many seconds for a coordinator.
_TIMEOUT = 5.0


class GroupProgress:
    """Publishes offsets for one group, those that have changed."""

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._published: dict[TopicPartition, int] = {}

    def publish(
        self,
        client: Client,
        offsets: Mapping[TopicPartition, int],
        existing: Collection[TopicPartition],
    ) -> None:
        """Store offsets of partitions that exist; brokers take none of others."""
        import ottla

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
            log.warning("progress is not published for group %s: %s", self._group_id, error)
        else:
            self._published |= changed
