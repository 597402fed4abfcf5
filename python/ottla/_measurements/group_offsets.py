"""The committed offsets of all groups and the ends of their partitions, by three requests for all.

Invariant: a group or partition that fails hides nothing of the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ottla import Admin, OffsetAndTimestamp
from ottla._measurements.leaderless import without_leader
from ottla.admin import GroupListing
from ottla.admin.destinations import TopicPartition
from ottla.admin.items import ItemErrors
from ottla.admin.offsets import IsolationLevel
from ottla.admin.tables import PartialList
from ottla.errors import KafkaError


@dataclass(frozen=True)
class AllGroupOffsets:
    """Committed offsets and end offsets.

    Attributes:
        listings: all groups, and the errors of what groups may be missing.
        committed: the committed offsets of each group that was asked, or its error.
        ends: the end offsets of the partitions of all of them, or their errors.
    """

    listings: PartialList[GroupListing]
    committed: Mapping[str, Mapping[TopicPartition, int] | KafkaError]
    ends: Mapping[TopicPartition, OffsetAndTimestamp | KafkaError]


def all_group_offsets(
    admin: Admin,
    *,
    isolation_level: IsolationLevel = "read_uncommitted",
    without_types: Collection[str] = (),
    errors: ItemErrors = "return",
    timeout: float | None = None,
) -> AllGroupOffsets:
    """Ask for the offsets of all groups.

    Args:
        admin: the client.
        isolation_level: whether records of open transactions count.
        without_types: the types of groups that are not asked for offsets. Default: none.
        errors: what to do if groups may be missing from the list.
        timeout: the seconds for each kind of request. Default: ``default.api.timeout.ms``.
    """
    listings = admin.list_groups(errors=errors, timeout=timeout)
    asked = [each.group_id for each in listings if each.type not in without_types]
    found = admin.list_group_offsets(asked, errors="return", timeout=timeout)
    committed: dict[str, Mapping[TopicPartition, int] | KafkaError] = {
        group: offsets
        if isinstance(offsets, KafkaError)
        else {partition: each.offset for partition, each in offsets.items()}
        for group, offsets in found.items()
    }
    partitions = {
        partition
        for offsets in committed.values()
        if not isinstance(offsets, KafkaError)
        for partition in offsets
    }
    ends: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {
        **without_leader(admin, partitions, timeout=timeout)
    }
    ends |= admin.list_offsets(
        dict.fromkeys(sorted(partitions - ends.keys()), "latest"),
        isolation_level=isolation_level,
        errors="return",
        timeout=timeout,
    )
    return AllGroupOffsets(listings, committed, ends)
