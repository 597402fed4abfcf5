"""Calls about the committed offsets of groups.

Invariant: a partition whose offset cannot be read or set has its error; it is never shown as one
without an offset.
"""

from __future__ import annotations

from typing import Any

from ottla.admin import CommittedOffset, group_offsets
from ottla.admin.coordinators import to_coordinators
from ottla.admin.destinations import TopicPartition as Place
from ottla.admin.destinations import partitions_by_topic
from ottla.admin.items import Results, error_of, is_repeated
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.compat.confluent_kafka._commit_metadata import returned, written
from ottla.compat.confluent_kafka._constants import OFFSET_INVALID
from ottla.compat.confluent_kafka._errors import kafka_error
from ottla.compat.confluent_kafka._model import ConsumerGroupTopicPartitions
from ottla.compat.confluent_kafka._topic_partition import TopicPartition, topic_partition
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._base import (
    AdminBase,
    Futures,
    new_futures,
    raise_unanswered,
)
from ottla.errors import KafkaError


class GroupOffsetCalls(AdminBase):
    """Lists and alters committed offsets."""

    def list_consumer_group_offsets(
        self,
        list_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        **kwargs: Any,
    ) -> Futures[str]:
        """List the committed offsets of a group.

        Args:
            list_consumer_group_offsets_request: the group, with partitions or None for all.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``require_stable``: whether to wait for open transactions that commit offsets.

        Returns:
            By group, a future of its ``ConsumerGroupTopicPartitions``.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        wanted = _single(list_consumer_group_offsets_request)
        if wanted.topic_partitions is not None:
            for each in _checked_partitions(wanted.topic_partitions):
                if each.offset != OFFSET_INVALID:
                    raise ValueError(f"{each}: an offset is not expected")
        _options.check_known(kwargs, "request_timeout", "require_stable")
        require_stable = _options.flag(kwargs, "require_stable")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        group = wanted.group_id
        partitions = wanted.topic_partitions
        places = None if partitions is None else [(e.topic, e.partition) for e in partitions]

        async def list_offsets(call: Call) -> Results[str, ConsumerGroupTopicPartitions]:
            return await _list(call, group, places, require_stable=require_stable)

        return self._start_items("listing offsets", timeout, new_futures([group]), list_offsets)

    def alter_consumer_group_offsets(
        self,
        alter_consumer_group_offsets_request: list[ConsumerGroupTopicPartitions],
        **kwargs: Any,
    ) -> Futures[str]:
        """Set committed offsets of a group without members.

        Args:
            alter_consumer_group_offsets_request: the group, with partitions and their offsets.
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.

        Returns:
            By group, a future of its ``ConsumerGroupTopicPartitions``, whose partitions have the
            errors of those that were not set.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        wanted = _single(alter_consumer_group_offsets_request)
        if wanted.topic_partitions is None:
            raise ValueError("topic_partitions must not be None")
        partitions = _checked_partitions(wanted.topic_partitions)
        for each in partitions:
            if each.offset < 0:
                raise ValueError(f"{each}: expected an offset")
        _options.check_known(kwargs, "request_timeout")
        self._check_open()
        timeout = self._request_timeout(kwargs)
        group = wanted.group_id
        offsets = {
            (each.topic, each.partition): CommittedOffset(
                each.offset, each.leader_epoch, written(each.metadata) or ""
            )
            for each in partitions
        }

        async def alter(call: Call) -> Results[str, ConsumerGroupTopicPartitions]:
            found = await group_offsets.alter_group_offsets(call, group, offsets)
            raise_unanswered(found.values())
            return {group: ConsumerGroupTopicPartitions(group, _altered(offsets, found))}

        return self._start_items("altering offsets", timeout, new_futures([group]), alter, "change")


def _single(request: object) -> ConsumerGroupTopicPartitions:
    """Return the one group of a request."""
    if not isinstance(request, list):
        raise TypeError(f"the request must be a list, not {type(request).__name__}")
    if len(request) != 1:
        raise ValueError(f"the request has {len(request)} groups: expected 1")
    [wanted] = request
    if not isinstance(wanted, ConsumerGroupTopicPartitions):
        raise TypeError("the request must be a list of ConsumerGroupTopicPartitions")
    if not isinstance(wanted.group_id, str):
        raise TypeError(f"group_id must be a str, not {type(wanted.group_id).__name__}")
    if not wanted.group_id:
        raise ValueError("group_id must not be empty")
    return wanted


def _checked_partitions(partitions: object) -> list[TopicPartition]:
    if not isinstance(partitions, list):
        raise TypeError(f"topic_partitions must be a list, not {type(partitions).__name__}")
    if not partitions or None in partitions:
        raise ValueError("topic_partitions must not be empty, and none of them None")
    for each in partitions:
        if not isinstance(each, TopicPartition):
            raise TypeError(f"expected a TopicPartition, not {type(each).__name__}")
        if not each.topic or each.partition < 0:
            raise ValueError(f"{each}: expected a topic and a partition that is not negative")
    return partitions


async def _list(
    call: Call, group: str, places: list[Place] | None, *, require_stable: bool
) -> Results[str, ConsumerGroupTopicPartitions]:
    topics: list[Body] | None = None
    if places is not None:
        by_topic = partitions_by_topic(places).items()
        topics = [{"name": name, "partition_indexes": numbers} for name, numbers in by_topic]

    def build(_: list[str]) -> Request:
        stable = {"require_stable": require_stable}
        body = {"groups": [{"group_id": group, "topics": topics}]} | stable
        # Before Kafka 3.0, a request asks for one group (KIP-709).
        older = {"group_id": group, "topics": topics}
        forms = (older | stable,) if require_stable else (older | stable, older)
        return Request("OffsetFetch", body, older=forms, max_version=group_offsets._LAST_BY_NAME)

    def read(response: Response, _: list[str]) -> Results[str, ConsumerGroupTopicPartitions]:
        groups = response.body.get("groups")
        body = next((e for e in groups if e["group_id"] == group), {}) if groups else response.body
        if body.get("error_code") and (
            error := error_of(body, f"group {group}", api="OffsetFetch", resource=group)
        ):
            return {group: error}
        found: list[TopicPartition] = []
        for topic in body.get("topics", ()):
            for each in topic["partitions"]:
                failed = error_of(
                    each, api="OffsetFetch", topic=topic["name"], partition=each["partition_index"]
                )
                if failed and is_repeated(failed):
                    return {group: failed}
                found.append(_committed(topic["name"], each, failed))
        return {group: ConsumerGroupTopicPartitions(group, sorted(found))}

    return await to_coordinators(call, [group], build, read)


def _committed(topic: str, body: Body, error: KafkaError | None) -> TopicPartition:
    offset = body["committed_offset"]
    return topic_partition(
        topic,
        body["partition_index"],
        offset if offset >= 0 else OFFSET_INVALID,
        metadata=returned(body["metadata"]),
        leader_epoch=body.get("committed_leader_epoch", -1),
        error=None if error is None else kafka_error(error),
    )


def _altered(
    offsets: dict[Place, CommittedOffset], found: Results[Place, None]
) -> list[TopicPartition]:
    altered = []
    for (topic, partition), committed in offsets.items():
        error = found[topic, partition]
        altered.append(
            topic_partition(
                topic,
                partition,
                committed.offset,
                metadata=returned(committed.metadata),
                error=kafka_error(error) if isinstance(error, KafkaError) else None,
            )
        )
    return sorted(altered)
