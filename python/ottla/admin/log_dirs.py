"""The log directories of brokers: describe them, and move replicas between them (KIP-113).

Invariant: a log directory that a broker cannot use is in the result, with its error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ottla._core import error_of_code, is_index
from ottla._internal.arguments import integer, is_partition, mapping, text
from ottla.admin.destinations import (
    TopicPartition,
    broker_ids,
    partitions_by_topic,
)
from ottla.admin.items import Results, error_of, known, settle
from ottla.admin.named_brokers import to_named_brokers
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.partitions import describe_partitions
from ottla.admin.plan import Plan, PlannedChange
from ottla.error_code import ErrorCode
from ottla.errors import ArgumentTypeError, KafkaError

Replica: TypeAlias = tuple[str, int, int]
"""A replica: its topic, its partition and the id of its broker."""

# What messages show as examples.
_REPLICA, _PATH = '("topic", 0, 1)', '"/data"'


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


def checked_paths(paths: Mapping[Replica, str]) -> dict[Replica, str]:
    """Return the argument ``paths`` of a change, with numbers that are plain integers.

    Raises:
        ArgumentTypeError: it is no mapping, a key is no replica, or a path is no str.
    """
    checked = {}
    for replica, path in mapping("paths", paths, f"{{{_REPLICA}: {_PATH}}}").items():
        given: object = replica
        if not (
            isinstance(given, tuple)
            and len(given) == 3
            and is_partition(given[:2])
            and is_index(given[2])
        ):
            raise ArgumentTypeError(
                f"paths[{given!r}]: expected (topic, partition, broker) as the key, such as "
                f"{_REPLICA}"
            )
        topic, partition, broker = replica
        name = f"paths[{replica!r}]"
        checked[topic, integer(name, partition), integer(name, broker)] = text(name, path)
    return checked


def _log_dir(broker: int, body: Body) -> LogDirDescription:
    error = error_of(body, api="DescribeLogDirs")
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
        known(body.get("total_bytes", -1)),
        known(body.get("usable_bytes", -1)),
        sorted(replicas, key=lambda each: (each.topic, each.partition)),
    )


async def describe_log_dirs(
    call: Call, brokers: Iterable[int] | None
) -> Results[int, list[LogDirDescription]]:
    """Describe the log directories of brokers, or of all."""
    wanted = await broker_ids(call) if brokers is None else list(brokers)

    def build(_: list[int]) -> Request:
        return Request("DescribeLogDirs", {"topics": None})

    def read(response: Response, asked: list[int]) -> Results[int, list[LogDirDescription]]:
        [broker] = asked
        failed = response.body.get("error_code")
        error = (
            error_of(response.body, f"broker {broker}", api="DescribeLogDirs") if failed else None
        )
        return {broker: error or [_log_dir(broker, each) for each in response.body["results"]]}

    return await to_named_brokers(call, wanted, lambda broker: broker, build, read)


async def replica_sizes(
    call: Call, replicas: Iterable[Replica], alive: Iterable[int]
) -> dict[Replica, int | None]:
    """Return the sizes of replicas in bytes: 0 for one that its broker does not have yet.

    None: its broker is not alive, or does not report sizes to this principal.
    """
    sizes: dict[Replica, int | None] = dict.fromkeys(replicas)
    by_broker: dict[int, list[TopicPartition]] = {}
    for topic, partition, broker in sizes:
        by_broker.setdefault(broker, []).append((topic, partition))
    asked = [broker for broker in by_broker if broker in set(alive)]
    requests = []
    for broker in asked:
        by_topic = partitions_by_topic(by_broker[broker])
        topics = [{"topic": topic, "partitions": found} for topic, found in by_topic.items()]
        requests.append(Request("DescribeLogDirs", {"topics": topics}, broker))
    for broker, response in zip(asked, await call.send(requests), strict=True):
        # A broker refuses by a response without log directories.
        if isinstance(response, KafkaError) or not response.body["results"]:
            continue
        sizes.update({(*topic_partition, broker): 0 for topic_partition in by_broker[broker]})
        for log_dir in (_log_dir(broker, body) for body in response.body["results"]):
            for each in log_dir.replicas:
                if not each.is_future:
                    sizes[each.topic, each.partition, broker] = each.size
    return sizes


async def alter_replica_log_dirs(
    call: Call, paths: Mapping[Replica, str]
) -> Results[Replica, bool]:
    """Move replicas to other log directories of their brokers.

    The result is False where the broker has no such replica yet: it will create it there.
    """

    def build(pending: list[Replica]) -> Request:
        by_path: dict[str, list[TopicPartition]] = {}
        for topic, partition, broker in pending:
            by_path.setdefault(paths[topic, partition, broker], []).append((topic, partition))
        dirs = [
            {
                "path": path,
                "topics": [
                    {"name": topic, "partitions": partitions}
                    for topic, partitions in partitions_by_topic(topic_partitions).items()
                ],
            }
            for path, topic_partitions in by_path.items()
        ]
        return Request("AlterReplicaLogDirs", {"dirs": dirs})

    def read(response: Response, pending: list[Replica]) -> Results[Replica, bool]:
        broker = pending[0][2]
        return {
            (topic["topic_name"], each["partition_index"], broker): _moved(topic, each)
            for topic in response.body["results"]
            for each in topic["partitions"]
        }

    return await to_named_brokers(
        call, paths, lambda replica: replica[2], build, read, changes=True
    )


def _moved(topic: Body, partition: Body) -> bool | KafkaError:
    if partition["error_code"] == ErrorCode.REPLICA_NOT_AVAILABLE:
        return False
    error = error_of(
        partition,
        topic=topic["topic_name"],
        partition=partition["partition_index"],
        api="AlterReplicaLogDirs",
    )
    if error and error.code == ErrorCode.KAFKA_STORAGE_ERROR:
        # The directory stays offline until an operator repairs it.
        error.retriable = False
    return error or True


async def plan_replica_log_dirs(call: Call, paths: Mapping[Replica, str]) -> Plan:
    """Return the moves, with the sizes of the replicas."""
    await describe_partitions(call, [(topic, partition) for topic, partition, _ in paths])
    brokers = sorted({broker for _, _, broker in paths})
    log_dirs = settle(await describe_log_dirs(call, brokers), "raise")
    current: dict[Replica, tuple[str, int]] = {}
    future: dict[Replica, str] = {}
    for log_dir in (each for found in log_dirs.values() for each in found):
        for each in log_dir.replicas:
            replica = each.topic, each.partition, log_dir.broker
            if each.is_future:
                future[replica] = log_dir.path
            else:
                current[replica] = log_dir.path, each.size
    changes = []
    for replica, path in paths.items():
        topic, partition, broker = replica
        if path not in {each.path for each in log_dirs[broker]}:
            raise error_of_code(
                ErrorCode.LOG_DIR_NOT_FOUND,
                f"{path} on broker {broker}",
                topic=topic,
                partition=partition,
            )
        name = f"replica {topic}-{partition} on broker {broker}"
        before, size = current.get(replica, (None, 0))
        if before is None:
            changes.append(PlannedChange("create", name, "once it is assigned", None, path))
        elif path == before and replica in future:
            changes.append(PlannedChange("cancel", f"move of {name}", "", future[replica], path))
        elif path not in {before, future.get(replica)}:
            changes.append(PlannedChange("move", name, f"{size:,} bytes", before, path))
    return Plan(changes)
