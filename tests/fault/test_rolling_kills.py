"""Each broker is killed in turn, three rounds, under load: ottla loses nothing, and stands still
no longer than twice as long as Java's producer beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support import confluent
from tests.support.jars import REPOSITORY, jar_directory, java
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

pytestmark = [pytest.mark.cluster, pytest.mark.fault, pytest.mark.deep]

TopicFactory = Callable[..., str]
PARTITIONS = 6
ROUNDS = 3
HOW_MUCH = [str(PARTITIONS), "10"]
OTTLA_LOAD = [sys.executable, "-m", "tests.fault.load"]


def java_load() -> list[str]:
    classpath = f"{jar_directory('brokers')}/*"
    source = REPOSITORY / "tests" / "fault" / "ProduceSteadily.java"
    return [java(), "-Xmx256m", "-cp", classpath, str(source)]


class Program:
    """A load in a process of its own: it says `ready`, and tells its story when it gets a line."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) != "ready\n":
            assert line, "it ended before it was ready"

    def story(self) -> str:
        told, _ = self._process.communicate("stop\n", timeout=400)
        assert self._process.returncode == 0, told
        return told

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def wait_until_replaced(kafka: KafkaCluster, topic: str, partition: int, broker: int) -> None:
    """Wait until the others have gone on without a broker that was killed."""
    wait_until(
        lambda: (
            kafka.leader_of(topic, partition) not in (broker, -1)
            and broker not in kafka.isr_of(topic, partition)
        ),
        lambda: f"{topic}-{partition} still counts on broker {broker}",
        120,
    )


@pytest.mark.timeout(1200)
def test_each_broker_is_killed_in_turn(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topics = [kafka_topic(PARTITIONS, config={"min.insync.replicas": "2"}) for _ in range(2)]
    places = [(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    with (
        Program(*java_load(), kafka.bootstrap, topics[0], *HOW_MUCH) as theirs,
        Program(*OTTLA_LOAD, kafka.bootstrap, topics[1], *HOW_MUCH) as ours,
    ):
        theirs.wait_until_ready()
        ours.wait_until_ready()
        for _ in range(ROUNDS):
            for broker in kafka.nodes:
                kafka.kill(broker)
                for topic, partition in places:
                    wait_until_replaced(kafka, topic, partition, broker)
                kafka.restart(broker)
                # Whoever dies next leaves two behind that have everything.
                for topic, partition in places:
                    kafka.wait_for_isr(topic, partition, 3)
        report = json.loads(ours.story().splitlines()[-1])
        java_report = [list(map(int, line.split())) for line in theirs.story().splitlines()]
    # No request is lost without an error; and with a majority in sync, none needs one.
    assert report["unknown"] == 0
    assert report["failed"] == []
    assert len(report["acknowledged"]) == report["sent"]
    found = {
        place: message.value()
        for place, message in confluent.read_all(
            kafka.bootstrap, topics[1], range(PARTITIONS)
        ).items()
    }
    for partition, offset, value in report["acknowledged"]:
        assert found.get((partition, offset)) == value.encode(), (partition, offset)
    # Readers went through the same, and saw each record once.
    assert report["read_error"] is None
    assert report["read"] == len(found)
    # No partition stood still for more than twice as long as the one of Java's that did longest:
    # the topics have different leaders, so that each is hit by other deaths.
    for (partition, acknowledged, _, standstill), ours_stood in zip(
        java_report, report["longest"], strict=True
    ):
        print(
            f"{partition}: Java {standstill} ms ({acknowledged}), ottla {ours_stood * 1e3:.0f} ms"
        )
    java_longest = max(standstill for _, _, _, standstill in java_report)
    assert max(report["longest"]) * 1000 <= 2 * java_longest
    # One connection for data, however often a broker comes and goes, and another one while the
    # bootstrap list is asked; not a thread more or less.
    print(f"connections {report['connections']}, threads {report['threads']}")
    assert set(map(int, report["connections"])) == {node.port for node in kafka.nodes.values()}
    assert max(report["connections"].values()) <= 2, report["local_ports"]
    assert len(report["threads"]) == 1, report["threads"]
