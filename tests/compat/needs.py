"""Which API a call of Admin needs, and since when brokers have it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.support import kafka_releases


@dataclass(frozen=True)
class Needs:
    """An API that older brokers lack, or of which they lack a version.

    Attributes:
        api: its name.
        since: the first release, as major and minor number, that has what the call needs.
    """

    api: str
    since: tuple[int, int]

    def are_met(self, release: str) -> bool:
        """Return whether the brokers of a release have it."""
        return kafka_releases.number(release) >= self.since


LIST_CONFIG_RESOURCES = Needs("ListConfigResources", (3, 7))
LIST_ALL_CONFIG_RESOURCES = Needs("ListConfigResources", (4, 1))
LARGEST_TIMESTAMP = Needs("ListOffsets", (3, 0))
UNREGISTER_BROKER = Needs("UnregisterBroker", (3, 0))
KEPT_REPLICATION_FACTOR = Needs("AlterPartitionReassignments", (4, 1))
DESCRIBE_QUORUM = Needs("DescribeQuorum", (3, 3))
ADD_RAFT_VOTER = Needs("AddRaftVoter", (3, 9))
REMOVE_RAFT_VOTER = Needs("RemoveRaftVoter", (3, 9))
DESCRIBE_SHARE_GROUP_OFFSETS = Needs("DescribeShareGroupOffsets", (4, 2))
ALTER_SHARE_GROUP_OFFSETS = Needs("AlterShareGroupOffsets", (4, 2))
DELETE_SHARE_GROUP_OFFSETS = Needs("DeleteShareGroupOffsets", (4, 2))
TOKEN_OF_ANOTHER = Needs("CreateDelegationToken", (3, 3))
LIST_TRANSACTIONS = Needs("ListTransactions", (3, 0))
DESCRIBE_TRANSACTIONS = Needs("DescribeTransactions", (3, 0))
