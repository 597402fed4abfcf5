"""``AsyncAdmin``: the calls of all areas in one class, for asyncio.

It is imported on first use, since programs that do not use it start faster without it. Invariant:
it has the same calls as ``Admin``, with the same arguments and results.
"""

from __future__ import annotations

from ottla import _core
from ottla.admin.asynchronous.acls import AsyncAclCalls
from ottla.admin.asynchronous.cluster import AsyncClusterCalls
from ottla.admin.asynchronous.configs import AsyncConfigCalls
from ottla.admin.asynchronous.delegation_tokens import AsyncDelegationTokenCalls
from ottla.admin.asynchronous.elections import AsyncElectionCalls
from ottla.admin.asynchronous.features import AsyncFeatureCalls
from ottla.admin.asynchronous.group_offsets import AsyncGroupOffsetCalls
from ottla.admin.asynchronous.groups import AsyncGroupCalls
from ottla.admin.asynchronous.log_dirs import AsyncLogDirCalls
from ottla.admin.asynchronous.offsets import AsyncOffsetCalls
from ottla.admin.asynchronous.open_transactions import AsyncOpenTransactionCalls
from ottla.admin.asynchronous.quorum import AsyncQuorumCalls
from ottla.admin.asynchronous.quotas import AsyncQuotaCalls
from ottla.admin.asynchronous.reassignments import AsyncReassignmentCalls
from ottla.admin.asynchronous.records import AsyncRecordCalls
from ottla.admin.asynchronous.share_group_offsets import AsyncShareGroupOffsetCalls
from ottla.admin.asynchronous.single_topics import AsyncSingleTopicCalls
from ottla.admin.asynchronous.topics import AsyncTopicCalls
from ottla.admin.asynchronous.transactions import AsyncTransactionCalls
from ottla.admin.asynchronous.users import AsyncUserCalls


class AsyncAdmin(
    AsyncTopicCalls,
    AsyncSingleTopicCalls,
    AsyncRecordCalls,
    AsyncConfigCalls,
    AsyncClusterCalls,
    AsyncLogDirCalls,
    AsyncReassignmentCalls,
    AsyncElectionCalls,
    AsyncQuorumCalls,
    AsyncFeatureCalls,
    AsyncOffsetCalls,
    AsyncGroupCalls,
    AsyncGroupOffsetCalls,
    AsyncShareGroupOffsetCalls,
    AsyncAclCalls,
    AsyncUserCalls,
    AsyncQuotaCalls,
    AsyncDelegationTokenCalls,
    AsyncOpenTransactionCalls,
    AsyncTransactionCalls,
    _core.AsyncAdmin,
):
    """``Admin`` for asyncio.

    Use it in an ``async with`` block, or ``close()`` it. Creating it does not connect it: the
    block, ``connect()`` or the first call does. With ``bootstrap.controllers``, it talks to KRaft
    controllers, as ``Admin`` does.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` or ``AsyncClient`` whose connections
            it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds for ``connect()`` to find the cluster. Default: ``default.api.timeout.ms``.

    Raises:
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """
