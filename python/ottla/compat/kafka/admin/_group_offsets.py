"""The admin calls about the offsets that groups have committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ottla import admin
from ottla.compat.kafka._errors import translated, translating
from ottla.compat.kafka.admin._base import error_class
from ottla.compat.kafka.admin._partitions import Partitions
from ottla.compat.kafka.errors import BrokerResponseError
from ottla.compat.kafka.protocol.consumer import OffsetSpec, OffsetTimestamp
from ottla.compat.kafka.structs import OffsetAndMetadata, TopicPartition

__all__ = ["GroupOffsets"]

_Committed = dict[TopicPartition, OffsetAndMetadata]
_Errors = dict[TopicPartition, type[BrokerResponseError]]


class GroupOffsets(Partitions):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def list_group_offsets(self, group_specs: Any) -> dict[str, _Committed]:
        """Return the committed offsets of groups.

        Args:
            group_specs: a group, a list of groups, or a dict of groups and their partitions.
        """
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        specs = (
            dict(group_specs) if isinstance(group_specs, Mapping) else dict.fromkeys(group_specs)
        )
        if not specs:
            raise ValueError("Empty group_specs!")
        with translating():
            found = self._admin.list_group_offsets(specs, timeout=self._seconds())
        return {group: _committed(found[group], wanted) for group, wanted in specs.items()}

    def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> _Errors:
        """Set the offsets of a group without members; returns the class of the error of each."""
        if not offsets:
            return {}
        native = {
            (partition[0], partition[1]): admin.CommittedOffset(
                int(each.offset or 0),
                each.leader_epoch if each.leader_epoch >= 0 else None,
                each.metadata,
            )
            for partition, each in offsets.items()
        }
        with translating():
            found = self._admin.alter_group_offsets(
                group_id, native, errors="return", timeout=self._seconds()
            )
        return {TopicPartition(*partition): error_class(each) for partition, each in found.items()}

    def delete_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition],
        group_coordinator_id: int | None = None,
    ) -> _Errors:
        """Delete offsets of a group; returns the class of the error of each."""
        wanted = [(each[0], each[1]) for each in partitions]
        if not wanted:
            return {}
        with translating():
            found = self._admin.delete_group_offsets(
                group_id, wanted, errors="return", timeout=self._seconds()
            )
        return {TopicPartition(*partition): error_class(each) for partition, each in found.items()}

    def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, Any],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Set the offsets of a group by name, timestamp or number, within each partition's log.

        Returns:
            A dict with ``error`` and ``offset`` by partition.
        """
        if not offset_specs:
            return {}
        partitions = list(offset_specs)
        named = {}
        for partition, spec in offset_specs.items():
            if not isinstance(spec, int):
                raise TypeError(f"Unsupported reset target for {partition}: {spec!r}")
            if isinstance(spec, OffsetSpec | OffsetTimestamp):
                named[partition] = int(spec)
        current = self.list_group_offsets({group_id: partitions})[group_id]
        first = self.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.EARLIEST))
        last = self.list_partition_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST))
        found = self.list_partition_offsets(named) if named else {}
        targets = {}
        for partition, spec in offset_specs.items():
            wanted = found[partition].offset if partition in found else int(spec)
            end = last[partition].offset
            offset = end if wanted < 0 else max(first[partition].offset, min(wanted, end))
            targets[partition] = current.get(partition, OffsetAndMetadata())._replace(offset=offset)
        errors = self.alter_group_offsets(group_id, targets)
        return {
            partition: {"error": errors[partition], "offset": target.offset}
            for partition, target in targets.items()
        }


def _committed(
    found: Mapping[tuple[str, int], admin.CommittedOffset] | Exception, wanted: Any
) -> _Committed:
    if isinstance(found, Exception):
        raise translated(found) from found
    chosen = None if wanted is None else {(each[0], each[1]) for each in wanted}
    return {
        TopicPartition(*partition): OffsetAndMetadata(
            each.offset, each.metadata, -1 if each.leader_epoch is None else each.leader_epoch
        )
        for partition, each in found.items()
        if chosen is None or partition in chosen
    }
