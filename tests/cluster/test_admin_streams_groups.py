"""Admin's descriptions of groups of Kafka Streams, on Kafka; its own tool shows the same."""

from __future__ import annotations

import uuid

import pytest

import ottla
from ottla.admin import StreamsSubtopology, StreamsTasks, StreamsTopology
from tests.conftest import TopicFactory
from tests.support.admins import admin_of_kind
from tests.support.kafka_cluster import KafkaCluster
from tests.support.streams_member import streams_member

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.streams.StreamsGroupCommand"


def test_a_member_and_its_tasks(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topic, group = kafka_topic(partitions=3), f"streams-{uuid.uuid4().hex[:12]}"
    changelog = f"{group}-store-changelog"
    with streams_member(kafka, group, topic, changelog) as member_id:
        for kind in ("sync", "asyncio"):
            with admin_of_kind(kind, kafka.bootstrap) as admin:
                check(admin, group, topic, changelog, member_id)
        shown = kafka.run_tool(
            TOOL,
            *("--bootstrap-server", kafka.bootstrap),
            *("--describe", "--group", group, "--members", "--verbose"),
        )
        assert member_id in shown
        assert "ACTIVE: 0:[0,1,2]; TARGET-ACTIVE: 0:[0,1,2];" in shown
    with ottla.Admin(kafka.bootstrap) as admin:
        left = admin.describe_groups([group])[group]
        assert (left.state, left.members) == ("Empty", [])
        assert left.topology == StreamsTopology(
            1, [StreamsSubtopology("0", [topic], [], [], [changelog])]
        )
        admin.delete_groups([group])
        admin.delete_topics([changelog])


def check(admin: ottla.Admin, group: str, topic: str, changelog: str, member_id: str) -> None:
    assert [each.type for each in admin.list_groups(types=["Streams"]) if each.group_id == group]
    described = admin.describe_groups([group])[group]
    assert (described.type, described.state) == ("Streams", "Stable")
    assert described.epoch == described.assignment_epoch is not None
    topology = described.topology
    assert topology is not None
    [subtopology] = topology.subtopologies
    assert (topology.epoch, subtopology.subtopology_id) == (1, "0")
    assert subtopology.source_topics == [topic]
    assert subtopology.changelog_topics == [changelog]
    [member] = described.members
    assert (member.member_id, member.client_id) == (member_id, "streams-member")
    assert member.assignment is None
    streams = member.streams
    assert streams is not None
    tasks = StreamsTasks([("0", 0), ("0", 1), ("0", 2)], [], [])
    assert streams.tasks == streams.target_tasks == tasks
    assert (streams.topology_epoch, streams.is_classic) == (1, False)
    assert streams.endpoint == "queries.test:8080"
    assert streams.client_tags == {"zone": "a"}
    assert streams.process_id
