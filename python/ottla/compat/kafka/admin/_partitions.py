"""The admin calls about partitions: their number, replicas, leaders, records and offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ottla.compat.kafka._errors import translating
from ottla.compat.kafka.admin._base import error_code, error_message, raise_first
from ottla.compat.kafka.admin._topics import Topics
from ottla.compat.kafka.admin._types import NewPartitions
from ottla.compat.kafka.errors import BrokerResponseError, for_code
from ottla.compat.kafka.protocol.consumer import IsolationLevel, OffsetSpec
from ottla.compat.kafka.structs import OffsetAndTimestamp, TopicPartition
from ottla.errors import ErrorCode

__all__ = ["CreatePartitionsResponse", "ElectLeadersResponse", "Partitions"]

_SPECS: dict[int, str] = {
    OffsetSpec.LATEST: "latest",
    OffsetSpec.EARLIEST: "earliest",
    OffsetSpec.MAX_TIMESTAMP: "max_timestamp",
    OffsetSpec.EARLIEST_LOCAL: "earliest_local",
    OffsetSpec.LATEST_TIERED: "latest_tiered",
}
_UNCLEAN = 1


class TopicResult(NamedTuple):
    """The result for a topic."""

    name: str
    error_code: int
    error_message: str | None


class CreatePartitionsResponse(NamedTuple):
    """The results of ``create_partitions``."""

    results: list[TopicResult]


class PartitionResult(NamedTuple):
    """The result for a partition."""

    partition_id: int
    error_code: int
    error_message: str | None


class ReplicaElectionResult(NamedTuple):
    """The results for the partitions of a topic."""

    topic: str
    partition_result: list[PartitionResult]


class ElectLeadersResponse(NamedTuple):
    """The results of ``elect_leaders``."""

    error_code: int
    replica_election_results: list[ReplicaElectionResult]


class Partitions(Topics):
    """The methods; ``KafkaAdminClient`` has the attributes."""

    def create_partitions(
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: float | None = None,
        validate_only: bool = False,
        raise_errors: bool = True,
    ) -> CreatePartitionsResponse:
        """Add partitions to topics.

        Args:
            topic_partitions: by topic, the new number of partitions: a number, a ``NewPartitions``,
                or a dict with ``count`` and ``assignments``, the brokers of each new partition.
                Default of the brokers: the controller chooses them.
            timeout_ms: milliseconds. Default: ``default_api_timeout_ms``.
            validate_only: whether to let the controller check them only.
            raise_errors: whether to raise the first error.
        """
        wanted = {topic: _new_partitions(each) for topic, each in topic_partitions.items()}
        counts = {topic: count for topic, (count, _) in wanted.items()}
        brokers = {topic: each for topic, (_, each) in wanted.items() if each is not None}
        timeout = self._seconds(timeout_ms)
        results: dict[str, Any] = dict.fromkeys(counts)
        with translating():
            if validate_only:
                self._admin.create_partitions(
                    counts, assignments=brokers, dry_run=True, timeout=timeout
                )
            else:
                results |= self._admin.create_partitions(
                    counts, assignments=brokers, errors="return", timeout=timeout
                )
        if raise_errors:
            raise_first(results)
        return CreatePartitionsResponse(
            [
                TopicResult(topic, error_code(error), error_message(error))
                for topic, error in results.items()
            ]
        )

    def delete_records(
        self,
        records_to_delete: Mapping[TopicPartition, int],
        timeout_ms: float | None = None,
        partition_leader_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, int]]:
        """Delete the records before an offset; -1 deletes all."""
        wanted = {(each[0], each[1]): offset for each, offset in records_to_delete.items()}
        with translating():
            found = self._admin.delete_records(
                wanted, errors="return", timeout=self._seconds(timeout_ms)
            )
        failed = [error for error in found.values() if isinstance(error, BaseException)]
        if len(failed) > 1:
            listed = "; ".join(str(error) for error in failed)
            raise BrokerResponseError(f"Records were not deleted: {listed}")
        raise_first(failed)
        return {
            TopicPartition(*partition): {
                "partition_index": partition[1],
                "low_watermark": low,
                "error_code": 0,
            }
            for partition, low in found.items()
            if isinstance(low, int)
        }

    def elect_leaders(
        self,
        election_type: int,
        topic_partitions: Any = None,
        timeout_ms: float | None = None,
        raise_errors: bool = True,
    ) -> ElectLeadersResponse:
        """Elect the preferred leaders of partitions (0), or any leaders (1)."""
        with translating():
            found: dict[Any, Any] = self._admin.elect_leaders(
                self._partitions(topic_partitions),
                unclean=int(election_type) == _UNCLEAN,
                errors="return",
                timeout=self._seconds(timeout_ms),
            )
        if raise_errors:
            raise_first(found)
        topics: dict[str, list[PartitionResult]] = {}
        for (topic, partition), result in found.items():
            # False: the partition has its leader already.
            code = int(ErrorCode.ELECTION_NOT_NEEDED) if result is False else error_code(result)
            entry = PartitionResult(partition, code, error_message(result))
            topics.setdefault(topic, []).append(entry)
        return ElectLeadersResponse(0, [ReplicaElectionResult(*each) for each in topics.items()])

    def _partitions(self, chosen: Any) -> list[tuple[str, int]] | None:
        """Return partitions that are listed by topic, or all of some topics; None for all."""
        if chosen is None:
            return None
        if isinstance(chosen, Mapping):
            return [(topic, each) for topic, listed in chosen.items() for each in listed]
        if all(isinstance(each, str) for each in chosen):
            return [
                (topic["name"], partition["partition_index"])
                for topic in self.describe_topics(chosen)
                for partition in topic["partitions"]
            ]
        return [(each[0], each[1]) for each in chosen]

    def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, type[BrokerResponseError] | None]:
        """Move replicas to other brokers; None cancels a move.

        Returns:
            The class of the error, or None, by partition.
        """
        for partition, replicas in reassignments.items():
            if replicas is not None and not all(isinstance(each, int) for each in replicas):
                raise ValueError(f"Replica list for {partition} must be int broker_ids.")
            if replicas is not None and not replicas:
                raise ValueError(f"Replica list for {partition} must be non-empty.")
        wanted = {(each[0], each[1]): replicas for each, replicas in reassignments.items()}
        with translating():
            found = self._admin.alter_partition_reassignments(
                wanted, errors="return", timeout=self._seconds(timeout_ms)
            )
        return {
            TopicPartition(*partition): None if error is None else for_code(error_code(error))
            for partition, error in found.items()
        }

    def list_partition_reassignments(
        self, topic_partitions: Any = None, timeout_ms: float | None = None
    ) -> dict[TopicPartition, dict[str, list[int]]]:
        """Return the replicas that are moving."""
        with translating():
            found = self._admin.list_partition_reassignments(
                self._partitions(topic_partitions), timeout=self._seconds(timeout_ms)
            )
        return {
            TopicPartition(each.topic, each.partition): {
                "replicas": each.replicas,
                "adding_replicas": each.adding_replicas,
                "removing_replicas": each.removing_replicas,
            }
            for each in found
        }

    def list_partition_offsets(
        self,
        topic_partition_specs: Mapping[TopicPartition, int],
        isolation_level: Any = IsolationLevel.READ_UNCOMMITTED,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Look up offsets by name (``OffsetSpec``) or by timestamp."""
        level = IsolationLevel.build_from(isolation_level)
        specs: dict[tuple[str, int], Any] = {}
        for partition, spec in topic_partition_specs.items():
            if not isinstance(spec, int):
                raise TypeError(f"Unsupported ts type {type(spec)}, expected int or OffsetSpec")
            specs[partition[0], partition[1]] = _SPECS.get(spec, int(spec))
        committed = level is IsolationLevel.READ_COMMITTED
        with translating():
            found = self._admin.list_offsets(
                specs,
                isolation_level="read_committed" if committed else "read_uncommitted",
                timeout=self._seconds(timeout_ms),
            )
        return {
            TopicPartition(*partition): OffsetAndTimestamp(
                -1 if each.offset is None else each.offset,
                -1 if each.timestamp is None else each.timestamp,
                each.leader_epoch,
            )
            for partition, each in found.items()
        }


def _new_partitions(wanted: Any) -> tuple[int, Sequence[Sequence[int]] | None]:
    """Return the new number of partitions, and the brokers of the new ones if they are given."""
    if isinstance(wanted, NewPartitions):
        return int(wanted.total_count), wanted.new_assignments
    if isinstance(wanted, Mapping):
        return int(wanted["count"]), wanted.get("assignments")
    return int(wanted), None
