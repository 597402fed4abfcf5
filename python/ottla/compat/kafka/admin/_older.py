"""The names that the calls about groups have in kafka-python 2, with its results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla.compat.kafka.admin._group_offsets import GroupOffsets
from ottla.compat.kafka.admin._groups import Groups
from ottla.compat.kafka.errors import BrokerResponseError, for_code, kafka_errors
from ottla.compat.kafka.structs import (
    GroupInformation,
    MemberInformation,
    OffsetAndMetadata,
    TopicPartition,
)

__all__ = ["OlderNames"]


class OlderNames(Groups, GroupOffsets):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def list_consumer_groups(self, broker_ids: Iterable[int] | None = None) -> list[Any]:
        """Return pairs of a group and its protocol type."""
        groups = self.list_groups(broker_ids)
        return [(group["group_id"], group["protocol_type"]) for group in groups]

    def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[GroupInformation]:
        """Describe groups."""
        return [
            GroupInformation(
                0,
                group["group_id"],
                group["group_state"],
                group["protocol_type"],
                group["protocol_data"],
                [
                    MemberInformation(
                        member["member_id"],
                        member["client_id"],
                        member["client_host"],
                        member["member_metadata"],
                        member["member_assignment"],
                    )
                    for member in group["members"]
                ],
                group["authorized_operations"],
            )
            for group in self.describe_groups(group_ids).values()
        ]

    def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the committed offsets of a group."""
        wanted = None if partitions is None else list(partitions)
        return self.list_group_offsets({group_id: wanted})[group_id]

    def delete_consumer_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> list[tuple[str, type[BrokerResponseError]]]:
        """Delete groups; returns pairs of a group and the class of its error."""
        classes = {error.__name__: error for error in kafka_errors.values()}
        return [
            (group, classes.get(result, for_code(0)))
            for group, result in self.delete_groups(group_ids).items()
        ]
