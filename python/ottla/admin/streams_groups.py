"""Groups of Kafka Streams (KIP-1071): their topologies, and the tasks of their members.

Invariant: a task is a subtopology and a partition; its topics are those of the subtopology.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ottla.admin.operation_call import Body

Task: TypeAlias = tuple[str, int]
"""A task: the id of its subtopology and its partition."""


@dataclass(frozen=True)
class StreamsSubtopology:
    """A part of a topology whose tasks are independent of those of other parts.

    Attributes:
        subtopology_id: its id, such as ``0``.
        source_topics: the topics that it reads.
        repartition_source_topics: the repartition topics that it reads.
        repartition_sink_topics: the repartition topics that it writes.
        changelog_topics: the topics that its state is restored from.
    """

    subtopology_id: str
    source_topics: list[str]
    repartition_source_topics: list[str]
    repartition_sink_topics: list[str]
    changelog_topics: list[str]


@dataclass(frozen=True)
class StreamsTopology:
    """The topology of a group.

    Attributes:
        epoch: its epoch, which grows with each change of the application's topology.
        subtopologies: its parts, in the order of their ids.
    """

    epoch: int
    subtopologies: list[StreamsSubtopology]


@dataclass(frozen=True)
class StreamsTasks:
    """The tasks of a member, in order.

    Attributes:
        active: those that it processes.
        standby: those whose state it keeps up to date.
        warmup: those whose state it restores, to take them over.
    """

    active: list[Task]
    standby: list[Task]
    warmup: list[Task]


@dataclass(frozen=True)
class StreamsMember:
    """The properties of a member that only groups of Kafka Streams have.

    Attributes:
        process_id: the id of its process, which may have several members.
        topology_epoch: the epoch of the topology that it runs.
        endpoint: ``host:port`` for interactive queries (``application.server``); None without.
        client_tags: its tags (``client.tag.``), which spread standby tasks.
        tasks: its tasks.
        target_tasks: its tasks after the rebalance.
        is_classic: whether it still uses the classic protocol.
    """

    process_id: str
    topology_epoch: int
    endpoint: str | None
    client_tags: dict[str, str]
    tasks: StreamsTasks
    target_tasks: StreamsTasks
    is_classic: bool


def topology_of(body: Body | None) -> StreamsTopology | None:
    """Return the topology of a described group; None if it has none yet."""
    if body is None:
        return None
    found = [
        StreamsSubtopology(
            each["subtopology_id"],
            sorted(each["source_topics"]),
            sorted(topic["name"] for topic in each["repartition_source_topics"]),
            sorted(each["repartition_sink_topics"]),
            sorted(topic["name"] for topic in each["state_changelog_topics"]),
        )
        for each in body["subtopologies"] or ()
    ]
    return StreamsTopology(body["epoch"], sorted(found, key=lambda each: each.subtopology_id))


def member_of(body: Body) -> StreamsMember:
    """Return the properties of a described member."""
    endpoint = body["user_endpoint"]
    return StreamsMember(
        body["process_id"],
        body["topology_epoch"],
        f"{endpoint['host']}:{endpoint['port']}" if endpoint else None,
        {each["key"]: each["value"] for each in body["client_tags"]},
        _tasks(body["assignment"]),
        _tasks(body["target_assignment"]),
        body["is_classic"],
    )


def _tasks(assignment: Body) -> StreamsTasks:
    kinds = [
        sorted(
            (each["subtopology_id"], partition)
            for each in assignment[f"{kind}_tasks"]
            for partition in each["partitions"]
        )
        for kind in ("active", "standby", "warmup")
    ]
    return StreamsTasks(*kinds)
