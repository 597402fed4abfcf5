"""The result of ``describe_topics`` (``confluent_kafka.admin._topic``).

Invariant: authorized operations are None unless the call asked for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.compat.confluent_kafka._model import TopicPartitionInfo
from ottla.compat.confluent_kafka._topic_partition import Uuid
from ottla.compat.confluent_kafka.admin._acl import AclOperation
from ottla.compat.confluent_kafka.admin._enums import member_of


class TopicDescription:
    """A topic with its partitions."""

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        is_internal: bool,
        partitions: list[TopicPartitionInfo],
        authorized_operations: Sequence[AclOperation | str | int] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.authorized_operations = (
            [member_of(AclOperation, each) for each in authorized_operations]
            if authorized_operations
            else None
        )
