"""Managing a cluster: ``Admin``, ``AsyncAdmin`` and the types of their arguments and results.

How a call runs: ``blocking/`` or ``asynchronous/`` has the method, which runs an operation of
``topics.py``, ``groups.py`` or another area. The operation builds the bodies of its requests,
chooses a broker for each (``destinations.py``) and sends them through a ``Call``
(``operation_call.py``), which encodes them and waits in Rust. ``items.py`` retries items and
collects their errors.
"""

from typing import TYPE_CHECKING

from ottla._internal.loading import load_later
from ottla.admin.acls import Acl, AclFilter
from ottla.admin.clients import Admin
from ottla.admin.cluster import BrokerDescription, ClusterDescription
from ottla.admin.config_resources import ConfigResource
from ottla.admin.configs import Alteration, Append, ConfigEntry, ConfigSynonym, Subtract
from ottla.admin.delegation_tokens import DelegationToken
from ottla.admin.features import FeaturesDescription, SupportedVersionRange
from ottla.admin.group_descriptions import GroupDescription, MemberDescription
from ottla.admin.group_offsets import CommittedOffset
from ottla.admin.groups import GroupListing
from ottla.admin.lag import PartitionLag
from ottla.admin.log_dirs import LogDirDescription, ReplicaInLogDir
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.quorum import QuorumDescription, QuorumReplica, RaftVoterEndpoint
from ottla.admin.quotas import QuotaEntity
from ottla.admin.reassignments import PartitionReassignment
from ottla.admin.resetting import Shift
from ottla.admin.share_group_offsets import ShareGroupOffset
from ottla.admin.streams_groups import (
    StreamsMember,
    StreamsSubtopology,
    StreamsTasks,
    StreamsTopology,
)
from ottla.admin.tables import PartialList, Table
from ottla.admin.topics import NewTopic, PartitionDescription, TopicDescription, TopicListing
from ottla.admin.users import DeletePassword, ScramCredential, SetPassword

if TYPE_CHECKING:
    from ottla.admin.async_client import AsyncAdmin

__all__ = [
    "Acl",
    "AclFilter",
    "Admin",
    "Alteration",
    "Append",
    "AsyncAdmin",
    "BrokerDescription",
    "ClusterDescription",
    "CommittedOffset",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSynonym",
    "DelegationToken",
    "DeletePassword",
    "FeaturesDescription",
    "GroupDescription",
    "GroupListing",
    "LogDirDescription",
    "MemberDescription",
    "NewTopic",
    "PartialList",
    "PartitionDescription",
    "PartitionLag",
    "PartitionReassignment",
    "Plan",
    "PlannedChange",
    "QuorumDescription",
    "QuorumReplica",
    "QuotaEntity",
    "RaftVoterEndpoint",
    "ReplicaInLogDir",
    "ScramCredential",
    "SetPassword",
    "ShareGroupOffset",
    "Shift",
    "StreamsMember",
    "StreamsSubtopology",
    "StreamsTasks",
    "StreamsTopology",
    "Subtract",
    "SupportedVersionRange",
    "Table",
    "TopicDescription",
    "TopicListing",
]


def __getattr__(name: str) -> object:
    if name == "PartitionOffset":
        raise AttributeError("ottla.admin.PartitionOffset is ottla.OffsetAndTimestamp now")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__, __dir__ = load_later(__name__, {"AsyncAdmin": "async_client"})
