"""The cluster: its brokers and their log directories.

Invariant: a log directory that a broker cannot use is in the result, with its error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ottla.admin.authorized_operations import operations_of
from ottla.admin.call import Body, Call, Destination, Request, Response
from ottla.admin.destinations import broker_ids, by_destination, metadata
from ottla.admin.items import Results, error_of
from ottla.admin.tables import Table
from ottla.errors import KafkaError

_UNSUPPORTED_VERSION = 35


@dataclass(frozen=True)
class BrokerDescription:
    """A broker.

    Attributes:
        id: its id (``node.id``).
        host: the host that it advertises to clients.
        port: the port that it advertises to clients.
        rack: its rack (``broker.rack``); None if it has none.
        is_fenced: whether the controller has fenced it (KIP-1073); None if it was not asked for or
            the brokers do not tell (before Kafka 4.0).
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
            broker may be named: it forwards them to the controller.
        brokers: its brokers, in the order of their ids.
        authorized_operations: what the principal may do with the cluster, such as ``ALTER``
            (KIP-430); None if it was not asked for.
    """

    cluster_id: str | None
    controller: int | None
    brokers: Table[BrokerDescription]
    authorized_operations: list[str] | None


@dataclass(frozen=True)
class ReplicaInLogDir:
    """A replica in a log directory.

    Attributes:
        topic: its topic.
        partition: its partition.
        size: its size in bytes.
        offset_lag: the number of records that it lacks.
        is_future: whether it will replace the replica in another directory, when it has caught up.
    """

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True)
class LogDirDescription:
    """A log directory of a broker.

    Attributes:
        broker: the id of the broker.
        path: its path.
        error: Kafka's name of its error, such as ``KAFKA_STORAGE_ERROR``; None if it is usable.
        total_bytes: the size of its disk; None before Kafka 3.3.
        usable_bytes: how much of it is free; None before Kafka 3.3.
        replicas: the replicas in it.
    """

    broker: int
    path: str
    error: str | None
    total_bytes: int | None
    usable_bytes: int | None
    replicas: list[ReplicaInLogDir]

    @property
    def replica_bytes(self) -> int:
        """The size of all replicas in it, in bytes."""
        return sum(replica.size for replica in self.replicas)


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
        if error.code != _UNSUPPORTED_VERSION:
            raise
        # Before Kafka 2.8.
        found = await metadata(call, [])
    if error_of_cluster := error_of(found) if found.get("error_code") else None:
        raise error_of_cluster
    brokers = sorted(map(_broker, found["brokers"]), key=lambda each: each.id)
    controller = found["controller_id"]
    return ClusterDescription(
        found["cluster_id"],
        controller if controller >= 0 else None,
        Table(BrokerDescription, brokers),
        operations_of(found.get("cluster_authorized_operations")),
    )


def _log_dir(broker: int, body: Body) -> LogDirDescription:
    error = error_of(body)
    total, usable = body.get("total_bytes", -1), body.get("usable_bytes", -1)
    replicas = [
        ReplicaInLogDir(
            topic["name"],
            each["partition_index"],
            each["partition_size"],
            each["offset_lag"],
            each["is_future_key"],
        )
        for topic in body["topics"]
        for each in topic["partitions"]
    ]
    return LogDirDescription(
        broker,
        body["log_dir"],
        error.name if error else None,
        total if total >= 0 else None,
        usable if usable >= 0 else None,
        sorted(replicas, key=lambda each: (each.topic, each.partition)),
    )


async def describe_log_dirs(
    call: Call, brokers: Iterable[int] | None
) -> Results[int, list[LogDirDescription]]:
    """Describe the log directories of brokers, or of all."""
    wanted = await broker_ids(call) if brokers is None else list(brokers)

    async def find(pending: list[int]) -> dict[int, Destination]:
        return {broker: broker for broker in pending}

    def build(_: list[int]) -> Request:
        return Request("DescribeLogDirs", {"topics": None})

    def read(response: Response, asked: list[int]) -> Results[int, list[LogDirDescription]]:
        [broker] = asked
        error = error_of(response.body) if response.body.get("error_code") else None
        return {broker: error or [_log_dir(broker, each) for each in response.body["results"]]}

    return await by_destination(call, wanted, find, build, read)
