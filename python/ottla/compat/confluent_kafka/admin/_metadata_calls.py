"""``list_topics`` and ``list_groups``: the calls that wait for their results.

Invariant: a topic or a group that has an error is listed with it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ottla.admin.coordinators import group_coordinators
from ottla.admin.destinations import metadata
from ottla.admin.items import error_of
from ottla.admin.operation_call import Body, Call, Request
from ottla.compat.confluent_kafka._errors import kafka_exception
from ottla.compat.confluent_kafka._handle import seconds_of
from ottla.compat.confluent_kafka._kafka_error import KafkaError, KafkaException
from ottla.compat.confluent_kafka.admin._base import HANDLE_CLOSED, AdminBase, local_error
from ottla.compat.confluent_kafka.admin._metadata import (
    BrokerMetadata,
    ClusterMetadata,
    GroupMember,
    GroupMetadata,
    PartitionMetadata,
    TopicMetadata,
)
from ottla.error_code import ErrorCode
from ottla.errors import KafkaError as OttlaError


class MetadataCalls(AdminBase):
    """Lists topics and groups with all their details."""

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Return the metadata of the cluster and of all topics, or of one.

        Brokers with ``auto.create.topics.enable`` create the one topic if it does not exist.

        Args:
            topic: the topic. Default: all.
            timeout: seconds to wait; a negative number for no limit.

        Raises:
            KafkaException: no broker responded in time.
        """
        wanted = _name(topic)
        seconds = seconds_of(timeout)
        self._check_open(HANDLE_CLOSED)

        async def look_up(call: Call) -> ClusterMetadata:
            names = None if wanted is None else [{"name": wanted}]
            body = {"topics": names, "allow_auto_topic_creation": wanted is not None}
            return _cluster((await call.ask(Request("Metadata", body))).body)

        try:
            return self._run("listing topics", seconds, look_up)
        except KafkaException as error:
            if error.args[0] != KafkaError._TIMED_OUT:
                raise
            # What keeps a client from metadata is the connection.
            raise local_error(KafkaError._TRANSPORT, error.args[0].str()) from error

    def list_groups(self, group: str | None = None, timeout: float = -1) -> list[GroupMetadata]:
        """Return groups with their members, whose subscriptions are as they encoded them.

        Args:
            group: the group. Default: all.
            timeout: seconds to wait; a negative number for no limit.

        It is deprecated; use ``list_consumer_groups`` and ``describe_consumer_groups``.

        Raises:
            KafkaException: no broker responded in time.
        """
        warnings.warn(
            "list_groups is deprecated: use list_consumer_groups and describe_consumer_groups",
            DeprecationWarning,
            stacklevel=2,
        )
        wanted = _name(group)
        seconds = seconds_of(timeout)
        self._check_open(HANDLE_CLOSED)

        async def look_up(call: Call) -> list[GroupMetadata]:
            return await _groups(call, wanted)

        return self._run("listing groups", seconds, look_up)


def _name(name: object) -> str | None:
    if name is not None and not isinstance(name, str):
        raise TypeError(f"argument 1 must be str or None, not {type(name).__name__}")
    return name


def _broker(body: Body) -> BrokerMetadata:
    broker = BrokerMetadata()
    broker.id, broker.host, broker.port = body["node_id"], body["host"], body["port"]
    return broker


def _error(code: int) -> KafkaError | None:
    return KafkaError(code) if code else None


def _partition(body: Body) -> PartitionMetadata:
    partition = PartitionMetadata()
    partition.id, partition.leader = body["partition_index"], body["leader_id"]
    partition.replicas, partition.isrs = body["replica_nodes"], body["isr_nodes"]
    partition.error = _error(body["error_code"])
    return partition


def _topic(body: Body) -> TopicMetadata:
    topic = TopicMetadata()
    topic.topic = body["name"]
    partitions = sorted(body["partitions"], key=lambda each: int(each["partition_index"]))
    topic.partitions = {each["partition_index"]: _partition(each) for each in partitions}
    topic.error = _error(body["error_code"])
    return topic


def _cluster(body: Body) -> ClusterMetadata:
    cluster = ClusterMetadata()
    cluster.cluster_id, cluster.controller_id = body.get("cluster_id"), body["controller_id"]
    brokers = sorted(map(_broker, body["brokers"]), key=lambda each: each.id)
    cluster.brokers = {each.id: each for each in brokers}
    if brokers:
        # A response does not say which broker sent it; one is as good as another.
        cluster.orig_broker_id, cluster.orig_broker_name = brokers[0].id, str(brokers[0])
    cluster.topics = {each["name"]: _topic(each) for each in body["topics"]}
    return cluster


async def _groups(call: Call, wanted: str | None) -> list[GroupMetadata]:
    """Describe the groups of each broker, all brokers at the same time."""
    brokers = {each["node_id"]: _broker(each) for each in (await metadata(call, []))["brokers"]}
    ids = await _ids(call, sorted(brokers), wanted)
    requests = [Request("DescribeGroups", {"groups": ids[broker]}, broker) for broker in ids]
    found: dict[str, GroupMetadata] = {}
    for broker, response in zip(ids, await call.send(requests), strict=True):
        if isinstance(response, OttlaError):
            raise kafka_exception(response)
        for body in response.body["groups"]:
            found[body["group_id"]] = _group(body, brokers[broker])
    return list(found.values())


async def _ids(call: Call, brokers: list[int], wanted: str | None) -> dict[int, list[str]]:
    """Return the ids of groups by their coordinators."""
    if wanted is not None:
        coordinator = (await group_coordinators(call, [wanted]))[wanted]
        if isinstance(coordinator, OttlaError):
            raise kafka_exception(coordinator)
        brokers = [coordinator]
    ids: dict[int, list[str]] = {}
    responses = await call.send([Request("ListGroups", {}, broker) for broker in brokers])
    for broker, response in zip(brokers, responses, strict=True):
        error = (
            response
            if isinstance(response, OttlaError)
            else error_of(response.body, api="ListGroups")
        )
        if error is not None:
            raise kafka_exception(error)
        assert not isinstance(response, OttlaError)
        listed = [each["group_id"] for each in response.body["groups"]]
        chosen = [group for group in listed if wanted in (None, group)]
        if chosen:
            ids[broker] = chosen
    return ids


def _group(body: Mapping[str, Any], broker: BrokerMetadata) -> GroupMetadata:
    group = GroupMetadata()
    group.broker, group.id = broker, body["group_id"]
    group.state, group.protocol_type = body["group_state"], body["protocol_type"]
    group.protocol = body["protocol_data"]
    # Newer brokers say so of groups that have another protocol; older ones call them dead.
    is_other = body["error_code"] == ErrorCode.GROUP_ID_NOT_FOUND
    group.error = None if is_other else _error(body["error_code"])
    group.members = [_member(each) for each in body["members"]]
    return group


def _member(body: Mapping[str, Any]) -> GroupMember:
    member = GroupMember()
    member.id, member.client_id, member.client_host = (
        body["member_id"],
        body["client_id"],
        body["client_host"],
    )
    member.metadata, member.assignment = body["member_metadata"], body["member_assignment"]
    return member
