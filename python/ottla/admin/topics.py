"""Topics: list, describe, create and delete them, and add partitions.

Invariant: a topic whose creation or deletion may have taken effect has an error that says
``maybe_done``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ottla._core import error_of_code
from ottla._internal import arguments
from ottla._internal.required_arguments import instances
from ottla._internal.text import counted
from ottla.admin.authorized_operations import operations_of
from ottla.admin.destinations import (
    CONTROLLER_TIMEOUT_MS,
    metadata,
    to_controller,
)
from ottla.admin.items import Results, error_of, known, settle, until_final
from ottla.admin.operation_call import Body, Call, Request, Response
from ottla.admin.plan import Plan, PlannedChange
from ottla.admin.tables import Table
from ottla.error_code import ErrorCode
from ottla.errors import ConfigError, KafkaError

_NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_LOOKS_UP_IDS = 12


@dataclass(frozen=True)
class PartitionDescription:
    """A partition of a topic.

    Attributes:
        partition: its number, from 0.
        leader: the id of the broker that leads it; None while there is no leader.
        leader_epoch: the leader epoch (KIP-320), which grows with each change of the leader.
        replicas: the ids of the brokers with a replica, the preferred leader first.
        isr: the ids of the brokers whose replicas are in sync.
        offline_replicas: the ids of the brokers whose replicas are offline.
    """

    partition: int
    leader: int | None
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline_replicas: list[int]


@dataclass(frozen=True)
class TopicDescription:
    """A topic.

    Attributes:
        name: its name.
        topic_id: its id (KIP-516); None if the brokers do not support ids.
        is_internal: whether it is Kafka's own, such as ``__consumer_offsets``.
        partitions: its partitions, in order.
        authorized_operations: what the principal may do with it, such as ``READ`` (KIP-430); None
            if it was not asked for.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: list[PartitionDescription]
    authorized_operations: list[str] | None = None


@dataclass(frozen=True)
class TopicListing:
    """A topic in a list.

    Attributes:
        name: its name.
        topic_id: its id (KIP-516); None if the brokers do not support ids.
        is_internal: whether it is Kafka's own.
        partitions: the number of its partitions.
        replicas: the number of replicas of its first partition.
        without_leader: the number of its partitions without a leader.
        under_replicated: the number of its partitions whose replicas are not all in sync.
    """

    name: str
    topic_id: str | None
    is_internal: bool
    partitions: int
    replicas: int
    without_leader: int
    under_replicated: int


@dataclass(frozen=True)
class NewTopic:
    """A topic to create.

    Attributes:
        name: its name.
        partitions: the number of partitions. Default: the cluster's ``num.partitions``.
        replication: the number of replicas. Default: the cluster's ``default.replication.factor``.
        assignments: the brokers of each partition, the preferred leader first, in place of
            ``partitions`` and ``replication``.
        configs: its configuration, by Kafka's names.
    """

    name: str
    partitions: int | None = None
    replication: int | None = None
    assignments: Sequence[Sequence[int]] | None = None
    configs: Mapping[str, str] = field(default_factory=dict)


def partition_description(body: Body) -> PartitionDescription:
    """Return a partition of a response."""
    return PartitionDescription(
        body["partition_index"],
        known(body["leader_id"]),
        body.get("leader_epoch", -1),
        body["replica_nodes"],
        body["isr_nodes"],
        body.get("offline_replicas", []),
    )


def _topic_id(body: Body) -> str | None:
    topic_id = body.get("topic_id", _NO_TOPIC_ID)
    return None if topic_id == _NO_TOPIC_ID else topic_id


def _description(body: Body) -> TopicDescription:
    partitions = sorted(
        map(partition_description, body["partitions"]), key=lambda each: each.partition
    )
    return TopicDescription(
        body["name"],
        _topic_id(body),
        body.get("is_internal", False),
        partitions,
        operations_of(body.get("topic_authorized_operations")),
    )


async def list_topics(call: Call, *, internal: bool) -> Table[TopicListing]:
    """List the topics, with the errors of those that cannot be described."""
    listings = []
    errors = []
    for body in (await metadata(call, None))["topics"]:
        if body.get("is_internal") and not internal:
            continue
        if error := error_of(body, api="Metadata", topic=body["name"]):
            errors.append(error)
            continue
        topic = _description(body)
        listings.append(
            TopicListing(
                topic.name,
                topic.topic_id,
                topic.is_internal,
                len(topic.partitions),
                len(topic.partitions[0].replicas) if topic.partitions else 0,
                sum(each.leader is None for each in topic.partitions),
                sum(len(each.isr) < len(each.replicas) for each in topic.partitions),
            )
        )
    return Table(TopicListing, sorted(listings, key=lambda each: each.name), errors)


async def describe_topics(
    call: Call, names: Iterable[str], *, authorized_operations: bool
) -> Results[str, TopicDescription]:
    """Describe topics by name."""

    def build(topics: list[str]) -> Request:
        body = {
            "topics": [{"name": name} for name in topics],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": authorized_operations,
        }
        return Request("Metadata", body)

    def read(response: Response, _: list[str]) -> Results[str, TopicDescription]:
        topics = response.body["topics"]
        return {
            body["name"]: error_of(body, topic=body["name"], api="Metadata") or _description(body)
            for body in topics
        }

    async def attempt(topics: list[str]) -> Results[str, TopicDescription]:
        return read(await call.ask(build(topics)), topics)

    return await until_final(call, names, attempt)


def _new_topics(topics: Iterable[NewTopic]) -> list[NewTopic]:
    return instances("new_topics", topics, NewTopic, 'NewTopic("orders")')


def _creatable(topic: NewTopic) -> Body:
    if topic.assignments is not None and (topic.partitions or topic.replication):
        raise ConfigError(f"topic {topic.name}: assignments replace partitions and replication")
    for what, number in (("partitions", topic.partitions), ("replication", topic.replication)):
        if number is not None and arguments.integer(what, number) < 1:
            raise ConfigError(f"topic {topic.name}: {what} is {number}: expected 1 or more")
    configs = arguments.texts("configs", topic.configs, '{"retention.ms": "3600000"}')
    return {
        "name": topic.name,
        "num_partitions": topic.partitions or -1,
        "replication_factor": topic.replication or -1,
        "assignments": [
            {"partition_index": index, "broker_ids": brokers}
            for index, brokers in enumerate(_replicas("assignments", topic.assignments or ()))
        ],
        "configs": [{"name": name, "value": value} for name, value in configs.items()],
    }


def _replicas(what: str, partitions: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the brokers of each partition."""
    return [
        arguments.integers(f"{what}[{index}]", brokers)
        for index, brokers in enumerate(arguments.collection(what, partitions))
    ]


def new_replicas(
    assignments: Mapping[str, Sequence[Sequence[int]]] | None, counts: Mapping[str, int]
) -> dict[str, list[list[int]]]:
    """Return the brokers of each new partition by topic.

    Raises:
        ArgumentTypeError: a broker is no int.
        ConfigError: a topic gets no partitions.
    """
    found = arguments.mapping("assignments", assignments or {}, '{"topic": [[1, 2], [2, 3]]}')
    by_topic = {name: _replicas(f"assignments[{name!r}]", each) for name, each in found.items()}
    for name in by_topic:
        if name not in counts:
            raise ConfigError(f"assignments: topic {name} is not in counts")
    return by_topic


async def create_topics(call: Call, topics: Iterable[NewTopic]) -> Results[str, None]:
    """Create topics, and wait until their partitions have leaders."""
    by_name = {topic.name: _creatable(topic) for topic in _new_topics(topics)}

    def read(response: Response, _: list[str]) -> Results[str, None]:
        return {
            each["name"]: error_of(
                each, topic=each["name"], maybe_done=response.is_repeated, api="CreateTopics"
            )
            for each in response.body["topics"]
        }

    def build(names: list[str]) -> Request:
        bodies = [by_name[name] for name in names]
        return Request("CreateTopics", {"topics": bodies, "timeout_ms": CONTROLLER_TIMEOUT_MS})

    results = await to_controller(call, by_name, build, read)
    created = [name for name, result in results.items() if result is None]
    results.update(await _wait_for_leaders(call, created))
    return results


async def _wait_for_leaders(call: Call, names: list[str]) -> Results[str, None]:
    def state(topic: Body | None, name: str) -> KafkaError | None:
        if topic is not None and topic["error_code"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            return None  # The principal may create it, but not look at it.
        partitions = topic["partitions"] if topic else []
        if partitions and all(each["leader_id"] >= 0 for each in partitions):
            return None
        return error_of_code(ErrorCode.LEADER_NOT_AVAILABLE, topic=name)

    async def attempt(pending: list[str]) -> Results[str, None]:
        topics = {topic["name"]: topic for topic in (await metadata(call, pending))["topics"]}
        return {name: state(topics.get(name), name) for name in pending}

    results: Results[str, None] = await until_final(call, names, attempt)
    for error in results.values():
        if isinstance(error, KafkaError):
            error.maybe_done = True  # The topic is there, without leaders.
    return results


async def plan_topics(call: Call, topics: Iterable[NewTopic]) -> Plan:
    """Let the controller check topics, without creating them."""
    bodies = [_creatable(topic) for topic in _new_topics(topics)]
    response = await call.ask(
        Request("CreateTopics", {"topics": bodies, "validate_only": True}, "controller")
    )
    changes = []
    for each in response.body["topics"]:
        if error := error_of(each, topic=each["name"], api="CreateTopics"):
            raise error
        detail = ""
        if each.get("num_partitions", -1) > 0:
            detail = ", ".join(
                [
                    counted(each["num_partitions"], "partition"),
                    counted(each["replication_factor"], "replica"),
                ]
            )
        changes.append(PlannedChange("create", f"topic {each['name']}", detail))
    return Plan(changes)


async def create_partitions(
    call: Call,
    counts: Mapping[str, int],
    replicas: Mapping[str, list[list[int]]],
    *,
    validate_only: bool = False,
) -> Results[str, None]:
    """Raise the numbers of partitions of topics to counts."""

    assignments = {
        name: [{"broker_ids": brokers} for brokers in each] for name, each in replicas.items()
    }

    def build(topics: list[str]) -> Request:
        bodies = [
            {"name": name, "count": counts[name], "assignments": assignments.get(name)}
            for name in topics
        ]
        body = {"topics": bodies, "timeout_ms": CONTROLLER_TIMEOUT_MS}
        return Request("CreatePartitions", body | {"validate_only": validate_only})

    def read(response: Response, _: list[str]) -> Results[str, None]:
        return {
            each["name"]: error_of(
                each, topic=each["name"], maybe_done=response.is_repeated, api="CreatePartitions"
            )
            for each in response.body["results"]
        }

    return await to_controller(call, counts, build, read, changes=not validate_only)


async def plan_partitions(
    call: Call, counts: Mapping[str, int], replicas: Mapping[str, list[list[int]]]
) -> Plan:
    """Let the controller check new numbers of partitions, and return those before and after."""
    settle(await create_partitions(call, counts, replicas, validate_only=True), "raise")
    topics = settle(await describe_topics(call, counts, authorized_operations=False), "raise")
    return Plan(
        [
            PlannedChange(
                "alter",
                f"topic {name}",
                "partitions",
                str(len(topics[name].partitions)),
                str(count),
            )
            for name, count in counts.items()
        ]
    )


async def delete_topics(call: Call, names: Iterable[str], ids: Iterable[str]) -> Results[str, None]:
    """Delete topics by name or by id."""
    id_set = set(ids)

    def build(topics: list[str]) -> Request:
        states = [{"topic_id": topic} if topic in id_set else {"name": topic} for topic in topics]
        body = {"topics": states, "timeout_ms": CONTROLLER_TIMEOUT_MS}
        by_name = {"topic_names": topics, "timeout_ms": CONTROLLER_TIMEOUT_MS}
        older = () if id_set else (by_name,)
        return Request("DeleteTopics", body, older=older)

    def read(response: Response, topics: list[str]) -> Results[str, None]:
        results: Results[str, None] = {}
        for each in response.body["responses"]:
            for key in (each["name"], each.get("topic_id")):
                if key in topics:
                    results[key] = error_of(
                        each, topic=key, maybe_done=response.is_repeated, api="DeleteTopics"
                    )
        return results

    return await to_controller(call, [*names, *id_set], build, read)


async def plan_deletion(call: Call, names: Iterable[str], ids: Iterable[str]) -> Plan:
    """Return what deleting topics would delete."""
    wanted = {name: {"name": name} for name in names} | {each: {"topic_id": each} for each in ids}

    async def look_up(pending: list[str], field: str) -> Results[str, PlannedChange]:
        topics = [wanted[key] for key in pending if field in wanted[key]]
        if not topics:
            return {}
        body = {"topics": topics, "allow_auto_topic_creation": False}
        results: Results[str, PlannedChange] = {}
        response = await call.ask(Request("Metadata", body))
        found = response.body["topics"]
        if field == "topic_id" and response.version < _LOOKS_UP_IDS:
            # Before Kafka 3.1, brokers refuse to look up ids.
            ids = {topic["topic_id"] for topic in topics}
            everything = (await metadata(call, None))["topics"]
            found = [topic for topic in everything if topic["topic_id"] in ids]
            results |= dict.fromkeys(ids, error_of_code(ErrorCode.UNKNOWN_TOPIC_ID))
        for topic in found:
            key, name = topic[field], topic["name"]
            detail = counted(len(topic["partitions"]), "partition")
            planned = PlannedChange("delete", f"topic {name}", detail)
            results[key] = error_of(topic, topic=name or key, api="Metadata") or planned
        return results

    async def attempt(pending: list[str]) -> Results[str, PlannedChange]:
        # A broker that is asked for names and ids looks at the ids alone.
        return await look_up(pending, "name") | await look_up(pending, "topic_id")

    planned = settle(await until_final(call, wanted, attempt), "raise")
    return Plan(list(planned.values()))
