"""Each broker is killed in turn, three times, under load: ottla loses nothing, and pauses at most
twice as long as Java's producer under the same load."""

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
LOAD_ARGUMENTS = [str(PARTITIONS), "10"]
OTTLA_LOAD = [sys.executable, "-m", "tests.fault.load"]


def java_load() -> list[str]:
    classpath = f"{jar_directory('brokers')}/*"
    source = REPOSITORY / "tests" / "fault" / "ProduceSteadily.java"
    return [java(), "-Xmx256m", "-cp", classpath, str(source)]


class Program:
    """A load in its own process: it prints `ready`, and its report once it reads a line."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
        )

    def wait_until_ready(self) -> None:
        assert self._process.stdout is not None
        while (line := self._process.stdout.readline()) != "ready\n":
            assert line, "the load ended before it was ready"

    def finish(self) -> str:
        output, _ = self._process.communicate("stop\n", timeout=400)
        assert self._process.returncode == 0, output
        return output

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def wait_until_replaced(kafka: KafkaCluster, topic: str, partition: int, broker: int) -> None:
    """Wait until a partition has a new leader, and the killed broker has left its ISR."""
    wait_until(
        lambda: (
            kafka.leader_of(topic, partition) not in (broker, -1)
            and broker not in kafka.isr_of(topic, partition)
        ),
        lambda: f"{topic}-{partition} still has broker {broker}",
        120,
    )


@pytest.mark.timeout(1200)
def test_each_broker_is_killed_in_turn(kafka: KafkaCluster, kafka_topic: TopicFactory) -> None:
    topics = [kafka_topic(PARTITIONS, config={"min.insync.replicas": "2"}) for _ in range(2)]
    partitions = [(topic, partition) for topic in topics for partition in range(PARTITIONS)]
    with (
        Program(*java_load(), kafka.bootstrap, topics[0], *LOAD_ARGUMENTS) as theirs,
        Program(*OTTLA_LOAD, kafka.bootstrap, topics[1], *LOAD_ARGUMENTS) as ours,
    ):
        theirs.wait_until_ready()
        ours.wait_until_ready()
        for _ in range(ROUNDS):
            for broker in kafka.nodes:
                kafka.kill(broker)
                for topic, partition in partitions:
                    wait_until_replaced(kafka, topic, partition, broker)
                kafka.restart(broker)
                # The next broker is killed only once all replicas are in sync.
                for topic, partition in partitions:
                    kafka.wait_for_isr(topic, partition, 3)
        report = json.loads(ours.finish().splitlines()[-1])
        java_report = [list(map(int, line.split())) for line in theirs.finish().splitlines()]
    # No record is lost without an error, and with a majority in sync, none fails.
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
    # The reader saw each record once.
    assert report["read_error"] is None
    assert report["read"] == len(found)
    # The longest pause of a partition is compared with the longest of all of Java's partitions: the
    # topics have different leaders, so kills affect them differently.
    for (partition, acknowledged, _, longest_gap), our_gap in zip(
        java_report, report["longest_gap"], strict=True
    ):
        print(f"{partition}: Java {longest_gap} ms ({acknowledged}), ottla {our_gap * 1e3:.0f} ms")
    java_longest = max(longest_gap for _, _, _, longest_gap in java_report)
    assert max(report["longest_gap"]) * 1000 <= 2 * java_longest
    # One connection per broker, however often it restarts, and one more during bootstrapping; the
    # number of threads is constant.
    print(f"connections {report['connections']}, threads {report['threads']}")
    assert set(map(int, report["connections"])) == {node.port for node in kafka.nodes.values()}
    assert max(report["connections"].values()) <= 2, report["local_ports"]
    assert len(report["threads"]) == 1, report["threads"]
