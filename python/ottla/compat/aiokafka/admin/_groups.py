"""The calls of ``AIOKafkaAdminClient`` about consumer groups and their offsets."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.compat.aiokafka._error_mapping import translated
from ottla.compat.aiokafka.admin import _responses as responses
from ottla.compat.aiokafka.admin._calls import AdminCalls
from ottla.compat.aiokafka.structs import OffsetAndMetadata, TopicPartition

__all__ = ["GroupCalls"]


class GroupCalls(AdminCalls):
    """The base of ``AIOKafkaAdminClient`` with its calls about groups."""

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[responses.GroupsResponse]:
        """Return descriptions of groups; the last two arguments have no effect."""
        del group_coordinator_id, include_authorized_operations
        found = await translated(self._started().describe_groups(list(group_ids), errors="return"))
        return [responses.GroupsResponse([responses.group(*item)]) for item in found.items()]

    async def list_consumer_groups(
        self, broker_ids: Iterable[int] | None = None
    ) -> list[tuple[str, str]]:
        """Return the ids of all groups, and the types of their protocols.

        Args:
            broker_ids: only groups that these brokers coordinate. Default: all.
        """
        brokers = None if broker_ids is None else set(broker_ids)
        listed = await translated(self._started().list_groups())
        return [
            (item.group_id, item.protocol_type)
            for item in listed
            if brokers is None or item.coordinator in brokers
        ]

    async def find_coordinator(self, group_id: str, coordinator_type: int = 0) -> int:
        """Return the id of the broker that coordinates a group.

        Raises:
            NotImplementedError: the coordinator of a transaction is asked for.
        """
        if coordinator_type != 0:
            raise NotImplementedError("only the coordinators of groups can be looked up")
        found = await translated(self._started().describe_groups([group_id]))
        return found[group_id].coordinator

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that a group has committed.

        Args:
            group_id: the group.
            group_coordinator_id: without effect.
            partitions: only of these; -1 for one without an offset. Default: all.
        """
        del group_coordinator_id
        found = (await translated(self._started().list_group_offsets([group_id])))[group_id]
        offsets = {
            TopicPartition(*partition): OffsetAndMetadata(item.offset, item.metadata or "")
            for partition, item in found.items()
        }
        if partitions is None:
            return offsets
        return {item: offsets.get(item, OffsetAndMetadata(-1, "")) for item in partitions}
