"""Admin's call about leader elections, on Kafka; its own tool agrees."""

from __future__ import annotations

import pytest

import ottla
from ottla import errors
from ottla.admin import NewTopic
from tests.conftest import TopicFactory
from tests.support import kafka_releases
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.LeaderElectionCommand"


def prefer_another(admin: ottla.Admin, kafka: KafkaCluster, topic: str, partition: int) -> int:
    """Make another replica than the leader the preferred one, and return its broker."""
    leader = kafka.leader_of(topic, partition)
    others = [broker for broker in (1, 2, 3) if broker != leader]
    admin.alter_partition_reassignments({(topic, partition): [*others, leader]})
    wait_until(
        lambda: (
            others[0] == admin.describe_topics([topic])[topic].partitions[partition].replicas[0]
        ),
        lambda: f"broker {others[0]} is preferred",
    )
    return others[0]


def test_preferred_replicas_lead(
    admin: ottla.Admin, kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic(partitions=3)
    before = [kafka.leader_of(topic, partition) for partition in range(3)]
    preferred = [prefer_another(admin, kafka, topic, partition) for partition in (0, 1)]
    first, second, third = [(topic, partition) for partition in range(3)]

    plan = admin.elect_leaders([first, second, third], dry_run=True)
    assert str(plan).splitlines() == [
        f"elect partition {topic}-{partition} ({before[partition]} -> {preferred[partition]})"
        for partition in (0, 1)
    ]
    assert {each.resource for each in plan} <= {
        each.resource for each in admin.elect_leaders(dry_run=True)
    }
    assert kafka.leader_of(topic, 0) == before[0]
    assert admin.elect_leaders([first, third]) == {first: True, third: False}
    assert admin.elect_leaders()[second] is True
    assert admin.elect_leaders() == {}
    wait_until(
        lambda: [kafka.leader_of(topic, each) for each in (0, 1)] == preferred,
        lambda: f"{preferred} lead",
    )
    place = ("--topic", topic, "--partition", "0", "--election-type", "preferred")
    shown = kafka.run_tool(TOOL, "--bootstrap-server", kafka.bootstrap, *place)
    said = "Valid replica already elected for partitions"
    # The tool of Kafka 2.8 names none of them.
    named = f" {topic}-0" if kafka_releases.number(kafka.release) >= (3, 0) else " \n"
    assert said + named in shown


def test_elections_that_fail_or_are_not_needed(
    admin: ottla.Admin, kafka_topic: TopicFactory
) -> None:
    topic = kafka_topic()
    place, missing = (topic, 0), (topic, 7)
    assert admin.elect_leaders([place], unclean=True) == {place: False}
    assert admin.elect_leaders([place], unclean=True, dry_run=True) == []
    results = admin.elect_leaders([place, missing], errors="return")
    assert results[place] is False
    assert isinstance(results[missing], errors.UnknownTopicError)
    with pytest.raises(errors.UnknownTopicError, match=f"{topic}-7"):
        admin.elect_leaders([missing], dry_run=True)


@pytest.mark.deep
def test_an_unclean_election_ends_the_wait_for_a_leader() -> None:
    with KafkaCluster(config=FAST_FAILOVER) as kafka, ottla.Admin(kafka.bootstrap) as admin:
        topic, alone = "unclean", "alone"
        admin.create_topics(
            [NewTopic(topic, assignments=[[2, 3], [3, 2]]), NewTopic(alone, assignments=[[2]])]
        )
        kafka.wait_for_isr(topic, 0, 2)
        kafka.wait_for_isr(topic, 1, 2)
        kafka.kill(3)
        with ottla.Producer(kafka.bootstrap) as producer:
            for partition in (0, 1):
                producer.send(topic, b"lost", partition=partition).result(timeout=120)
        wait_until(lambda: kafka.isr_of(topic, 1) == [2], lambda: "broker 2 leads alone")
        preferred = admin.elect_leaders([(topic, 1)], dry_run=True)
        assert str(preferred) == f"elect partition {topic}-1: broker 3 is not in sync (2 -> 3)"
        refused = admin.elect_leaders([(topic, 1)], errors="return")[topic, 1]
        assert isinstance(refused, errors.BrokerError)
        assert refused.name == "PREFERRED_LEADER_NOT_AVAILABLE"
        kafka.kill(2)
        kafka.nodes[3].start()
        wait_until(lambda: kafka.members(5) == {1, 3}, lambda: "brokers 1 and 3 are alive")

        def plan() -> list[str]:
            return str(admin.elect_leaders(unclean=True, dry_run=True)).splitlines()

        unclean = [
            f"elect partition {name}: any replica that is alive (none -> any)"
            for name in (f"{alone}-0", f"{topic}-0", f"{topic}-1")
        ]
        wait_until(lambda: plan() == unclean, lambda: f"no leaders: {plan()}")
        results = admin.elect_leaders(unclean=True, errors="return")
        assert results[topic, 0] is results[topic, 1] is True
        refused = results[alone, 0]
        assert isinstance(refused, errors.BrokerError)
        assert refused.name == "ELIGIBLE_LEADERS_NOT_AVAILABLE"
        wait_until(lambda: kafka.leader_of(topic, 0) == 3, lambda: "broker 3 leads")
        assert kafka.end_offset(topic, 0) == 0, "an unclean election loses records"
