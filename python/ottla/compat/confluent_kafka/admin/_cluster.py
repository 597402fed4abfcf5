"""The result of ``describe_cluster`` (``confluent_kafka.admin._cluster``).

Invariant: authorized operations are None unless the call asked for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ottla.compat.confluent_kafka._model import Node
from ottla.compat.confluent_kafka.admin._acl import AclOperation
from ottla.compat.confluent_kafka.admin._enums import member_of


class DescribeClusterResult:
    """The cluster: its controller, its brokers, its id, and what the principal may do with it."""

    def __init__(
        self,
        controller: Node | None,
        nodes: list[Node],
        cluster_id: str | None = None,
        authorized_operations: Sequence[AclOperation | str | int] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller = controller
        self.nodes = nodes
        self.authorized_operations = (
            [member_of(AclOperation, each) for each in authorized_operations]
            if authorized_operations
            else None
        )
