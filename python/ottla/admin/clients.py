"""``Admin``: the calls of all areas in one class.

Invariant: ``AsyncAdmin`` has the same calls, with the same arguments and results.
"""

from __future__ import annotations

from ottla import _core
from ottla.admin.blocking.acls import AclCalls
from ottla.admin.blocking.cluster import ClusterCalls
from ottla.admin.blocking.configs import ConfigCalls
from ottla.admin.blocking.delegation_tokens import DelegationTokenCalls
from ottla.admin.blocking.elections import ElectionCalls
from ottla.admin.blocking.features import FeatureCalls
from ottla.admin.blocking.group_offsets import GroupOffsetCalls
from ottla.admin.blocking.groups import GroupCalls
from ottla.admin.blocking.log_dirs import LogDirCalls
from ottla.admin.blocking.offsets import OffsetCalls
from ottla.admin.blocking.open_transactions import OpenTransactionCalls
from ottla.admin.blocking.quorum import QuorumCalls
from ottla.admin.blocking.quotas import QuotaCalls
from ottla.admin.blocking.reassignments import ReassignmentCalls
from ottla.admin.blocking.records import RecordCalls
from ottla.admin.blocking.share_group_offsets import ShareGroupOffsetCalls
from ottla.admin.blocking.single_topics import SingleTopicCalls
from ottla.admin.blocking.topics import TopicCalls
from ottla.admin.blocking.transactions import TransactionCalls
from ottla.admin.blocking.users import UserCalls


class Admin(
    TopicCalls,
    SingleTopicCalls,
    RecordCalls,
    ConfigCalls,
    ClusterCalls,
    LogDirCalls,
    ReassignmentCalls,
    ElectionCalls,
    QuorumCalls,
    FeatureCalls,
    OffsetCalls,
    GroupCalls,
    GroupOffsetCalls,
    ShareGroupOffsetCalls,
    AclCalls,
    UserCalls,
    QuotaCalls,
    DelegationTokenCalls,
    OpenTransactionCalls,
    TransactionCalls,
    _core.Admin,
):
    """A client that manages a cluster: topics, configurations, groups, ACLs, users and more.

    Use it in a ``with`` block, or ``close()`` it. A call about many items sends each to the broker
    that is responsible, several at the same time, and tries items with temporary errors again until
    its timeout. Then it raises the first item's error; with ``errors="return"`` it returns each
    item's error in the place of its result. With ``dry_run=True``, a call that changes something
    returns a ``Plan`` of what it would change.

    With ``bootstrap.controllers`` (KIP-919, Kafka 3.7), it talks to KRaft controllers in place of
    brokers: the quorum, features, ACLs, and configurations can be described and changed while no
    broker runs. What controllers do not serve, such as topics and groups, is a ``BrokerError``.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds to find the cluster, as for ``Client``.
        connect: whether to connect now, as for ``Client``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """
