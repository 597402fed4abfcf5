"""The named tuples of kafka-python: partitions, offsets, and the identity of a group's member."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "BrokerMetadata",
    "ConsumerGroupMetadata",
    "GroupInformation",
    "MemberInformation",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "PartitionMetadata",
    "RetryOptions",
    "TopicPartition",
    "TopicPartitionReplica",
]


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class TopicPartitionReplica(NamedTuple):
    """The replica of a partition on a broker."""

    topic: str
    partition: int
    broker_id: int


class OffsetAndMetadata(NamedTuple):
    """An offset with its metadata, as a group stores it."""

    offset: int | None = None
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """The offset and the timestamp of a record."""

    offset: int
    timestamp: int
    leader_epoch: int | None


class MemberState:
    """How far a consumer has got in joining its group."""

    UNJOINED = "<unjoined>"
    REBALANCING = "<rebalancing>"
    STABLE = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """The identity of a consumer in its group, for ``send_offsets_to_transaction``."""

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED


class BrokerMetadata(NamedTuple):
    """A broker of the cluster."""

    nodeId: int | str  # noqa: N815 - kafka-python's name
    host: str
    port: int
    rack: str | None

    @property
    def node_id(self) -> int | str:
        """The broker's id, by its name in kafka-python 3."""
        return self.nodeId


class PartitionMetadata(NamedTuple):
    """A partition: its leader and its replicas."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]
    error: Any


class MemberInformation(NamedTuple):
    """A member of a group."""

    member_id: str
    client_id: str
    client_host: str
    member_metadata: Any
    member_assignment: Any


class GroupInformation(NamedTuple):
    """A group and its members."""

    error_code: int
    group: str
    state: str
    protocol_type: str
    protocol: str
    members: list[MemberInformation]
    authorized_operations: Any


class RetryOptions(NamedTuple):
    """How often and how slowly to retry."""

    limit: int
    backoff_ms: int
    retry_on_timeouts: bool
