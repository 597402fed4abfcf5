"""Samples of a cluster from which write rates are computed: end offsets and the sizes of replicas.

Invariants: no record is read; a partition or a broker that fails hides nothing of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ottla import Admin
from ottla._measurements.write_rates import Replica
from ottla.admin import LogDirDescription
from ottla.admin.destinations import TopicPartition
from ottla.errors import KafkaError


def end_offsets(
    admin: Admin, leaders: Iterable[TopicPartition], *, timeout: float | None = None
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, KafkaError]]:
    """Return the end offsets of partitions that have a leader, and the errors of the others."""
    found = admin.list_offsets(
        dict.fromkeys(leaders, "latest"),
        isolation_level="read_uncommitted",
        errors="return",
        timeout=timeout,
    )
    ends, errors = {}, {}
    for partition, end in found.items():
        if isinstance(end, KafkaError):
            errors[partition] = end
        elif end.offset is not None:
            ends[partition] = end.offset
    return ends, errors


def log_dirs(
    admin: Admin, brokers: Iterable[int] | None = None, *, timeout: float | None = None
) -> tuple[list[LogDirDescription], dict[int, KafkaError]]:
    """Return the log directories of brokers, by default of all, and the errors of the others."""
    found = admin.describe_log_dirs(
        None if brokers is None else sorted({*brokers}), errors="return", timeout=timeout
    )
    errors = {broker: each for broker, each in found.items() if isinstance(each, KafkaError)}
    directories = [
        each
        for _, reported in sorted(found.items())
        if not isinstance(reported, KafkaError)
        for each in reported
    ]
    return directories, errors


def replica_sizes(directories: Iterable[LogDirDescription]) -> dict[Replica, int]:
    """Return the sizes of all replicas in bytes; those that move to a directory are not counted."""
    return {
        (directory.broker, replica.topic, replica.partition): replica.size
        for directory in directories
        for replica in directory.replicas
        if not replica.is_future
    }


def leader_sizes(
    sizes: Mapping[Replica, int], leaders: Mapping[TopicPartition, int | None]
) -> dict[TopicPartition, int]:
    """Return the sizes of those replicas that lead."""
    return {
        (topic, partition): size
        for (broker, topic, partition), size in sizes.items()
        if leaders.get((topic, partition)) == broker
    }
