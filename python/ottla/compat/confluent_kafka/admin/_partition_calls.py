"""Calls about partitions: look up offsets, delete records, elect leaders.

Invariant: the results are by topic and partition, whatever offset an argument has.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from ottla._core import OffsetAndTimestamp, error_of_code
from ottla.admin import elections, offsets, records
from ottla.admin.destinations import TopicPartition as Place
from ottla.admin.items import Results
from ottla.admin.offsets import OffsetSpec as OttlaSpec
from ottla.admin.operation_call import Call
from ottla.admin.topics import describe_topics
from ottla.compat.confluent_kafka._errors import kafka_error
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._model import ElectionType, IsolationLevel
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, topic_partition
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._base import (
    AdminBase,
    Futures,
    new_futures,
    raise_unanswered,
)
from ottla.compat.confluent_kafka.admin._listoffsets import (
    EarliestSpec,
    LatestSpec,
    ListOffsetsResultInfo,
    MaxTimestampSpec,
    OffsetSpec,
)
from ottla.compat.confluent_kafka.admin._records import DeletedRecords
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError as OttlaError

_NAMES: dict[type[OffsetSpec], OttlaSpec] = {
    EarliestSpec: "earliest",
    LatestSpec: "latest",
    MaxTimestampSpec: "max_timestamp",
}


class PartitionCalls(AdminBase):
    """Looks up offsets, deletes records and elects leaders."""

    def list_offsets(
        self, topic_partition_offsets: dict[TopicPartition, OffsetSpec], **kwargs: Any
    ) -> Futures[TopicPartition]:
        """Look up offsets of partitions.

        Args:
            topic_partition_offsets: by partition, which offset.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``isolation_level``: with ``READ_COMMITTED``, the latest offset is the last stable
                one. Default: ``READ_UNCOMMITTED``.

        Returns:
            By partition, a future of a ``ListOffsetsResultInfo``.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _check_specs(topic_partition_offsets)
        _options.check_known(kwargs, "request_timeout", "isolation_level")
        level = kwargs.get("isolation_level", IsolationLevel.READ_UNCOMMITTED)
        if not isinstance(level, IsolationLevel):
            raise TypeError(
                f"isolation_level must be an IsolationLevel, not {type(level).__name__}"
            )
        self._check_open()
        timeout = self._request_timeout(kwargs)
        specs = {_place(each): spec for each, spec in topic_partition_offsets.items()}
        futures = new_futures(
            TopicPartition(topic, partition, spec._value)
            for (topic, partition), spec in specs.items()
        )
        isolation_level = "read_" + level.name.partition("_")[2].lower()

        async def look_up(call: Call) -> Results[TopicPartition, ListOffsetsResultInfo]:
            unknown = await _unknown(call, specs)
            wanted = {
                place: _NAMES.get(type(spec), spec._value)
                for place, spec in specs.items()
                if place not in unknown
            }
            found = await offsets.list_offsets(
                call,
                wanted,
                isolation_level=isolation_level,  # type: ignore[arg-type]
            )
            found.update(unknown)
            return {each: _result(found[_place(each)]) for each in futures}

        if not futures:
            return futures
        return self._start_items("listing offsets", timeout, futures, look_up)

    def delete_records(
        self, topic_partition_offsets: list[TopicPartition], **kwargs: Any
    ) -> Futures[TopicPartition]:
        """Delete the records before offsets.

        Args:
            topic_partition_offsets: the partitions, with the first offset to keep; ``OFFSET_END``
                keeps none.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``operation_timeout``: seconds that the brokers may take.

        Returns:
            By partition, a future of ``DeletedRecords``.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _options.check_list("Request", topic_partition_offsets)
        for each in topic_partition_offsets:
            _check_partition("request", each)
        _options.check_known(kwargs, "request_timeout", "operation_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        _options.seconds(kwargs, "operation_timeout", timeout)
        futures = new_futures(topic_partition_offsets)
        if _options.has_duplicates(topic_partition_offsets):
            return self._refuse(
                futures, KafkaError._INVALID_ARG, "Duplicate partitions not allowed"
            )
        before = {_place(each): each.offset for each in futures}

        async def delete(call: Call) -> Results[TopicPartition, DeletedRecords]:
            found = await records.delete_records(call, before)
            results: Results[TopicPartition, DeletedRecords] = {}
            for each in futures:
                low = found[_place(each)]
                results[each] = low if isinstance(low, OttlaError) else DeletedRecords(low)
            return results

        if not futures:
            return futures
        return self._start_items("deleting records", timeout, futures, delete, "change")

    def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: list[TopicPartition] | None = None,
        **kwargs: Any,
    ) -> Future[dict[TopicPartition, KafkaError | None]]:
        """Elect the preferred replicas as leaders, or any that is alive.

        Args:
            election_type: which.
            partitions: for which partitions. Default: all.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``operation_timeout``: seconds that the brokers may take.

        Returns:
            A future of the errors by partition; None for success. Of all partitions, it has those
            for which an election was needed.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        if not isinstance(election_type, ElectionType):
            raise TypeError("election_type must be an ElectionType")
        if partitions is not None:
            _options.check_list("'partitions'", partitions)
            for each in partitions:
                _check_partition("'partitions'", each)
        _options.check_known(kwargs, "request_timeout", "operation_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        _options.seconds(kwargs, "operation_timeout", timeout)
        wanted = None if partitions is None else [_place(each) for each in partitions]
        future: Future[dict[TopicPartition, KafkaError | None]]

        async def elect(call: Call) -> dict[TopicPartition, KafkaError | None]:
            unclean = election_type is ElectionType.UNCLEAN
            found = await elections.elect_leaders(call, wanted, unclean=unclean)
            raise_unanswered(found.values())
            results = {place: _election_error(result, place) for place, result in found.items()}
            return {
                topic_partition(*place, 0, error=error): error
                for place, error in sorted(results.items())
                if wanted is not None or error != ErrorCode.ELECTION_NOT_NEEDED
            }

        if wanted is not None and _options.has_duplicates(wanted):
            future = Future()
            self._refuse({None: future}, KafkaError._INVALID_ARG, "Duplicate partitions specified")
        elif wanted == []:
            future = Future()
            future.set_result({})
        else:
            future = self._start_one("electing leaders", timeout, elect, "change")
        return future


def _place(partition: TopicPartition) -> Place:
    return partition.topic, partition.partition


def _check_partition(where: str, each: object) -> None:
    if not isinstance(each, TopicPartition):
        raise TypeError(
            f"Element of the {where} list must be of type 'TopicPartition' "
            f"got '{type(each).__name__}'"
        )
    if each.partition < 0:
        raise ValueError(f"{each}: the partition must not be negative")


def _check_specs(specs: object) -> None:
    if not isinstance(specs, dict):
        raise TypeError("expected a dict of TopicPartition and OffsetSpec")
    for each, spec in specs.items():
        if not isinstance(each, TopicPartition):
            raise TypeError(f"expected a TopicPartition, not {type(each).__name__}")
        if not each.topic or each.partition < 0:
            raise ValueError(f"{each}: expected a topic and a partition that is not negative")
        if not isinstance(spec, OffsetSpec):
            raise TypeError(f"expected an OffsetSpec, not {type(spec).__name__}")


def _result(found: OffsetAndTimestamp | OttlaError) -> ListOffsetsResultInfo | OttlaError:
    if isinstance(found, OttlaError):
        return found
    if found.offset is None:
        return ListOffsetsResultInfo(-1, -1, -1)
    time = -1 if found.timestamp is None else found.timestamp
    epoch = -1 if found.leader_epoch is None else found.leader_epoch
    return ListOffsetsResultInfo(found.offset, time, epoch)


async def _unknown(call: Call, places: Iterable[Place]) -> dict[Place, OttlaError]:
    """Return the errors of partitions that do not exist.

    A look-up of offsets would wait for them: they may have been created a moment ago.
    """
    topics = dict.fromkeys(topic for topic, _ in places)
    described = await describe_topics(call, topics, authorized_operations=False)
    unknown = {}
    for topic, partition in places:
        found = described[topic]
        if isinstance(found, OttlaError):
            unknown[topic, partition] = found
        elif all(each.partition != partition for each in found.partitions):
            error = error_of_code(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic=topic, partition=partition
            )
            # librdkafka has a code of its own for a partition of a topic that exists.
            error.code = KafkaError._UNKNOWN_PARTITION
            unknown[topic, partition] = error
    return unknown


def _election_error(result: bool | OttlaError, place: Place) -> KafkaError | None:
    if isinstance(result, OttlaError):
        return kafka_error(result)
    if result:
        return None
    error = error_of_code(ErrorCode.ELECTION_NOT_NEEDED, topic=place[0], partition=place[1])
    return kafka_error(error)
