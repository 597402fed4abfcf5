"""Groups of consumers and their members (``confluent_kafka.admin._group``).

Invariant: an attribute that a broker did not report is None, or UNKNOWN of its enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._model import ConsumerGroupState, ConsumerGroupType, Node
from ottla.compat.confluent_kafka._topic_partition import TopicPartition
from ottla.compat.confluent_kafka.admin._acl import AclOperation
from ottla.compat.confluent_kafka.admin._enums import member_of


class ConsumerGroupListing:
    """A group in a list."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        state: ConsumerGroupState | str | int | None = None,
        type: ConsumerGroupType | str | int | None = None,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        if state is not None:
            self.state = member_of(ConsumerGroupState, state)
        if type is not None:
            self.type = member_of(ConsumerGroupType, type)


class ListConsumerGroupsResult:
    """The groups of all brokers, and the errors of brokers that did not list theirs."""

    def __init__(
        self,
        valid: list[ConsumerGroupListing] | None = None,
        errors: list[KafkaError] | None = None,
    ) -> None:
        self.valid = valid
        self.errors = errors


class MemberAssignment:
    """The partitions of a member."""

    def __init__(self, topic_partitions: list[TopicPartition] | None) -> None:
        self.topic_partitions = topic_partitions or []


class MemberDescription:
    """A member of a group. Only groups of the type ``CONSUMER`` have target assignments."""

    def __init__(
        self,
        member_id: str,
        client_id: str,
        host: str,
        assignment: MemberAssignment,
        group_instance_id: str | None = None,
        target_assignment: MemberAssignment | None = None,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.assignment = assignment
        self.target_assignment = target_assignment
        self.group_instance_id = group_instance_id


class ConsumerGroupDescription:
    """A group with its members."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[MemberDescription],
        partition_assignor: str,
        state: ConsumerGroupState | str | int | None,
        coordinator: Node | None,
        authorized_operations: Sequence[AclOperation | str | int] | None = None,
        type: ConsumerGroupType | str | int = ConsumerGroupType.UNKNOWN,
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.members = members
        self.authorized_operations = (
            [member_of(AclOperation, each) for each in authorized_operations]
            if authorized_operations
            else None
        )
        self.partition_assignor = partition_assignor
        if state is not None:
            self.state = member_of(ConsumerGroupState, state)
        if type is not None:
            self.type = member_of(ConsumerGroupType, type)
        self.coordinator = coordinator
