"""Reassignments: move replicas of partitions to other brokers, and show the progress (KIP-455).

Invariant: brokers report each number of bytes; one that they do not report is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ottla._core import error_of_code
from ottla._internal import arguments
from ottla.admin.cluster import describe_cluster
from ottla.admin.destinations import (
    CONTROLLER_TIMEOUT_MS,
    TopicPartition,
    ask_controller,
    metadata,
    partitions_by_topic,
    to_controller,
)
from ottla.admin.items import Results, error_of
from ottla.admin.log_dirs import replica_sizes
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.partitions import brokers_text, describe_partitions
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

_ALTER = "AlterPartitionReassignments"


@dataclass(frozen=True)
class PartitionReassignment:
    """A reassignment in progress.

    Attributes:
        topic: the topic.
        partition: the partition.
        replicas: the ids of the brokers that have a replica, including those of the next two.
        adding_replicas: the brokers that get a replica.
        removing_replicas: the brokers that lose theirs, once the others have caught up.
        copied_bytes: the size of the added replicas; None if a broker does not report it.
        total_bytes: their size in the end, that of the leader's replica for each; None if the
            leader does not report it.
    """

    topic: str
    partition: int
    replicas: list[int]
    adding_replicas: list[int]
    removing_replicas: list[int]
    copied_bytes: int | None
    total_bytes: int | None

    @property
    def progress(self) -> float | None:
        """The part that is copied, from 0 to 1; None if a broker does not report sizes."""
        if self.copied_bytes is None or self.total_bytes is None:
            return None
        # A replica may still have records that the leader has deleted.
        return min(1.0, self.copied_bytes / self.total_bytes) if self.total_bytes else 1.0


async def list_partition_reassignments(
    call: Call, partitions: Iterable[TopicPartition] | None
) -> Table[PartitionReassignment]:
    """List the reassignments in progress, of partitions or of all."""
    topics = None
    asked = None if partitions is None else set(partitions)
    if asked is not None:
        by_topic = partitions_by_topic(sorted(asked))
        topics = [{"name": name, "partition_indexes": found} for name, found in by_topic.items()]
    body = {"timeout_ms": CONTROLLER_TIMEOUT_MS, "topics": topics}
    listed = await ask_controller(call, Request("ListPartitionReassignments", body), changes=False)
    ongoing = {
        (topic["name"], each["partition_index"]): each
        for topic in listed["topics"]
        for each in topic["partitions"]
        if asked is None or (topic["name"], each["partition_index"]) in asked
    }
    adding = {topic_partition: each["adding_replicas"] for topic_partition, each in ongoing.items()}
    leader_sizes, copied = await _sizes(call, adding)
    rows = []
    for topic_partition, each in sorted(ongoing.items()):
        size, copies = leader_sizes[topic_partition], copied[topic_partition].values()
        rows.append(
            PartitionReassignment(
                *topic_partition,
                each["replicas"],
                each["adding_replicas"],
                each["removing_replicas"],
                None if None in copies else sum(filter(None, copies)),
                None if size is None else size * len(copies),
            )
        )
    return Table(PartitionReassignment, rows)


async def _sizes(
    call: Call, adding: Mapping[TopicPartition, Sequence[int]]
) -> tuple[dict[TopicPartition, int | None], dict[TopicPartition, dict[int, int | None]]]:
    """Return the sizes of the leaders' replicas, and those of added replicas by broker."""
    if not adding:
        return {}, {}
    found = await metadata(call, sorted({topic for topic, _ in adding}))
    leaders = {
        (topic["name"], each["partition_index"]): each["leader_id"]
        for topic in found["topics"]
        for each in topic["partitions"]
    }
    leading = {
        topic_partition: (*topic_partition, leaders.get(topic_partition, -1))
        for topic_partition in adding
    }
    added = {
        topic_partition: [(*topic_partition, each) for each in brokers]
        for topic_partition, brokers in adding.items()
    }
    replicas = [*leading.values(), *(each for more in added.values() for each in more)]
    sizes = await replica_sizes(call, replicas, [each["node_id"] for each in found["brokers"]])
    return (
        {topic_partition: sizes[replica] for topic_partition, replica in leading.items()},
        {
            topic_partition: {each[2]: sizes[each] for each in more}
            for topic_partition, more in added.items()
        },
    )


def checked(
    targets: Mapping[TopicPartition, Sequence[int] | None],
) -> dict[TopicPartition, list[int] | None]:
    """Return the replicas that partitions will have.

    Raises:
        ArgumentTypeError: they are no mapping of partitions to lists of brokers.
        ConfigError: a partition has no replica, or a broker twice.
    """
    found: dict[TopicPartition, list[int] | None] = {}
    for topic_partition, given in arguments.by_partition("targets", targets, "[1, 2, 3]").items():
        brokers = (
            None if given is None else arguments.integers(f"targets[{topic_partition!r}]", given)
        )
        if brokers is not None and (not brokers or len(set(brokers)) < len(brokers)):
            raise ConfigError(
                f"{topic_partition[0]}-{topic_partition[1]}: the replicas are {brokers}: "
                "expected one or more brokers, each once; None cancels a reassignment"
            )
        found[topic_partition] = brokers
    return found


async def alter_partition_reassignments(
    call: Call,
    targets: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> Results[TopicPartition, None]:
    """Start reassignments, or cancel them."""

    def build(pending: list[TopicPartition]) -> Request:
        topics: dict[str, list[Body]] = {}
        for topic, partition in pending:
            brokers = targets[topic, partition]
            replicas = None if brokers is None else list(brokers)
            entry = {"partition_index": partition, "replicas": replicas}
            topics.setdefault(topic, []).append(entry)
        body = {
            "timeout_ms": CONTROLLER_TIMEOUT_MS,
            "allow_replication_factor_change": allow_replication_factor_change,
            "topics": [{"name": name, "partitions": found} for name, found in topics.items()],
        }
        return Request(_ALTER, body)

    def read(response: Response, pending: list[TopicPartition]) -> Results[TopicPartition, None]:
        if error := error_of(response.body, api=_ALTER):
            return dict.fromkeys(pending, error)
        return {
            (topic["name"], each["partition_index"]): error_of(
                each,
                topic=topic["name"],
                partition=each["partition_index"],
                maybe_done=response.is_repeated,
                api=_ALTER,
            )
            for topic in response.body["responses"]
            for each in topic["partitions"]
        }

    return await to_controller(call, targets, build, read)


async def plan_reassignments(
    call: Call,
    targets: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool,
) -> Plan:
    """Return the replicas before and after, and how many bytes have to be copied."""
    body = {"allow_replication_factor_change": allow_replication_factor_change, "topics": []}
    await call.check(Request(_ALTER, body, "controller"))
    partitions = await describe_partitions(call, targets)
    ongoing = {
        (each.topic, each.partition): each
        for each in await list_partition_reassignments(call, targets)
    }
    cluster = await describe_cluster(call, fenced=True, authorized_operations=False)
    brokers = {each.id for each in cluster.brokers}
    added: dict[TopicPartition, list[int]] = {}
    original: dict[TopicPartition, list[int]] = {}
    for topic_partition, target in targets.items():
        adding = ongoing[topic_partition].adding_replicas if topic_partition in ongoing else []
        original[topic_partition] = [
            each for each in partitions[topic_partition].replicas if each not in adding
        ]
        if target is None and topic_partition not in ongoing:
            raise _error(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None, topic_partition)
        if target is None:
            continue
        if unknown := [each for each in target if each not in brokers]:
            message = f"no such broker: {brokers_text(unknown)}"
            raise _error(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message, topic_partition)
        if not allow_replication_factor_change and len(target) != len(original[topic_partition]):
            message = f"{len(original[topic_partition])} replicas would become {len(target)}"
            raise _error(ErrorCode.INVALID_REPLICATION_FACTOR, message, topic_partition)
        added[topic_partition] = [each for each in target if each not in original[topic_partition]]
    leader_sizes, copied = await _sizes(call, added)
    changes = []
    for topic_partition, target in targets.items():
        before, name = (
            partitions[topic_partition].replicas,
            f"{topic_partition[0]}-{topic_partition[1]}",
        )
        if target is None:
            changes.append(
                PlannedChange(
                    "cancel",
                    f"reassignment of {name}",
                    "",
                    brokers_text(before),
                    brokers_text(original[topic_partition]),
                )
            )
        elif topic_partition in ongoing or list(target) != before:
            detail = _copy(leader_sizes[topic_partition], copied[topic_partition])
            after = brokers_text(target)
            changes.append(
                PlannedChange("reassign", f"partition {name}", detail, brokers_text(before), after)
            )
    return Plan(changes)


def _error(code: int, message: str | None, topic_partition: TopicPartition) -> KafkaError:
    return error_of_code(code, message, topic=topic_partition[0], partition=topic_partition[1])


def _copy(leader_size: int | None, copied: Mapping[int, int | None]) -> str:
    if not copied:
        return "nothing to copy"
    to = f"to {'broker' if len(copied) == 1 else 'brokers'} {brokers_text(copied)}"
    missing = [
        None if leader_size is None or size is None else max(0, leader_size - size)
        for size in copied.values()
    ]
    if None in missing:
        return f"copy an unknown number of bytes {to}"
    return f"copy {sum(filter(None, missing)):,} bytes {to}"
