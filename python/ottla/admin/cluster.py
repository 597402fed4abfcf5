"""The cluster and its brokers: describe them, and unregister brokers that are gone.

Invariant: a plan to unregister a broker says whether it is alive and which replicas it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from ottla._core import error_of_code
from ottla._internal.text import counted
from ottla.admin.authorized_operations import operations_of
from ottla.admin.destinations import ask_controller, metadata
from ottla.admin.items import error_of, known
from ottla.admin.operation_call import Body, Call, Request
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError


@dataclass(frozen=True)
class BrokerDescription:
    """A broker.

    Attributes:
        id: its id (``node.id``).
        host: the host that it advertises to clients.
        port: the port that it advertises to clients.
        rack: its rack (``broker.rack``); None if it has none.
        is_fenced: whether the controller has fenced it (KIP-1073); None if it was not asked for or
            the brokers do not report it (before Kafka 4.0).
    """

    id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool | None


@dataclass(frozen=True)
class ClusterDescription:
    """A cluster.

    Attributes:
        cluster_id: its id.
        controller: the id of the broker to send changes to; None if it is unknown. With KRaft, any
            broker may be named: it forwards them to the controller. With
            ``bootstrap.controllers``, the active controller.
        brokers: its brokers, in the order of their ids; with ``bootstrap.controllers``, its
            controllers.
        authorized_operations: what the principal may do with the cluster, such as ``ALTER``
            (KIP-430); None if it was not asked for.
    """

    cluster_id: str | None
    controller: int | None
    brokers: Table[BrokerDescription]
    authorized_operations: list[str] | None


def _broker(body: Body) -> BrokerDescription:
    broker_id = body["broker_id"] if "broker_id" in body else body["node_id"]
    return BrokerDescription(
        broker_id, body["host"], body["port"], body.get("rack"), body.get("is_fenced")
    )


async def describe_cluster(
    call: Call, *, fenced: bool, authorized_operations: bool
) -> ClusterDescription:
    """Describe the cluster."""
    body = {"include_cluster_authorized_operations": authorized_operations}
    older = (body,) if fenced else ()
    request = Request("DescribeCluster", body | {"include_fenced_brokers": fenced}, older=older)
    try:
        found = (await call.ask(request)).body
    except KafkaError as error:
        if error.code != ErrorCode.UNSUPPORTED_VERSION:
            raise
        # Before Kafka 2.8.
        found = await metadata(call, [])
    if (
        error_of_cluster := error_of(found, api="DescribeCluster")
        if found.get("error_code")
        else None
    ):
        raise error_of_cluster
    brokers = sorted(map(_broker, found["brokers"]), key=lambda each: each.id)
    return ClusterDescription(
        found["cluster_id"],
        known(found["controller_id"]),
        Table(BrokerDescription, brokers),
        operations_of(found.get("cluster_authorized_operations")),
    )


async def unregister_broker(call: Call, broker_id: int) -> None:
    """Remove a broker from the cluster."""
    await ask_controller(call, _unregistration(broker_id))


def _unregistration(broker_id: int) -> Request:
    return Request("UnregisterBroker", {"broker_id": broker_id}, "controller")


async def plan_unregistration(call: Call, broker_id: int) -> Plan:
    """Return whether the broker is alive and how many replicas it has."""
    await call.check(_unregistration(broker_id))
    cluster = await describe_cluster(call, fenced=True, authorized_operations=False)
    brokers = {each.id: each for each in cluster.brokers}
    broker = brokers.get(broker_id)
    # Before Kafka 4.0, only those that are alive are listed.
    if broker is None and any(each.is_fenced is not None for each in cluster.brokers):
        raise error_of_code(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {broker_id}")
    replicas = sum(
        broker_id in partition["replica_nodes"]
        for topic in (await metadata(call, None))["topics"]
        for partition in topic["partitions"]
    )
    state = "not alive" if broker is None or broker.is_fenced else "alive"
    detail = f"it is {state} and has {counted(replicas, 'replica')}"
    return Plan([PlannedChange("unregister", f"broker {broker_id}", detail)])
