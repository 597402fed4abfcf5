"""``NewTopic``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ottla.compat.aiokafka.errors import IllegalArgumentError

__all__ = ["NewTopic"]


class NewTopic:
    """A topic to create.

    Args:
        name: its name.
        num_partitions: the number of partitions; -1 with ``replica_assignments``.
        replication_factor: the number of replicas; -1 with ``replica_assignments``.
        replica_assignments: the brokers of each partition. Default: none.
        topic_configs: its configuration. Default: none.

    Raises:
        IllegalArgumentError: not exactly one of the two ways is used.
    """

    def __init__(
        self,
        name: str,
        num_partitions: int,
        replication_factor: int,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        has_numbers = num_partitions != -1 and replication_factor != -1
        if has_numbers == (replica_assignments is not None):
            raise IllegalArgumentError(
                "either num_partitions and replication_factor or replica_assignments are needed"
            )
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = dict(replica_assignments or {})
        self.topic_configs = dict(topic_configs or {})
