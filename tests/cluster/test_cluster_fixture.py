"""The real cluster fixture behaves as documented: the fault tests rely on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from tests.support.jars import REPOSITORY, MissingPrerequisiteError, jar_directory
from tests.support.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.cluster


def test_brokers_have_racks(kafka: KafkaCluster) -> None:
    assert kafka.brokers() == {1: "rack-a", 2: "rack-b", 3: "rack-c"}


def test_create_and_delete_topic(kafka: KafkaCluster, kafka_topic: Callable[..., str]) -> None:
    topic = kafka_topic(partitions=3, config={"min.insync.replicas": "2"})
    assert {kafka.leader_of(topic, p) for p in range(3)} <= {1, 2, 3}
    assert kafka.end_offset(topic) == 0
    kafka.delete_topic(topic)
    assert kafka.leader_of(topic) == -1


def test_metadata_requests_do_not_create_topics(kafka: KafkaCluster) -> None:
    assert kafka.leader_of("never-created") == -1
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        kafka.delete_topic("never-created")


@pytest.mark.fault
def test_killed_leader_is_replaced_and_returns(
    kafka: KafkaCluster, kafka_topic: Callable[..., str]
) -> None:
    topic = kafka_topic()
    old = kafka.leader_of(topic)
    kafka.kill(old)
    started = time.monotonic()
    assert kafka.wait_for_new_leader(topic, 0, old) != old
    assert time.monotonic() - started < 45
    assert kafka.members() == {1, 2, 3} - {old}
    kafka.restart(old)
    kafka.wait_for_isr(topic, 0, 3)
    assert kafka.isr_of(topic) == [1, 2, 3]


def test_java_tools_run(kafka: KafkaCluster, kafka_topic: Callable[..., str]) -> None:
    topic = kafka_topic()
    server = ["--bootstrap-server", kafka.bootstrap]
    kafka.run_tool(
        "org.apache.kafka.tools.ConsoleProducer", *server, "--topic", topic, stdin="one\ntwo\n"
    )
    assert kafka.end_offset(topic) == 2
    listed = kafka.run_tool("org.apache.kafka.tools.TopicCommand", *server, "--list")
    assert topic in listed.split()
    with pytest.raises(RuntimeError, match="TopicCommand ended with 1"):
        kafka.run_tool("org.apache.kafka.tools.TopicCommand", *server, "--describe", "--topic", "x")


@pytest.mark.deep
def test_heal_gives_up_on_unrecoverable_clusters() -> None:
    with KafkaCluster(brokers=1) as cluster:
        cluster.kill(1)
        usual = cluster.nodes[1].properties["log.dirs"]
        cluster.nodes[1].properties["log.dirs"] = "/dev/null/no-directory"
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broker 1 ended during its start"):
                cluster.heal()
        cluster.nodes[1].properties["log.dirs"] = usual
        # Another attempt would succeed, but waiting in every test would make the suite time out.
        started = time.monotonic()
        with pytest.raises(RuntimeError, match="broker 1 ended during its start"):
            cluster.heal()
        assert time.monotonic() - started < 1
        assert cluster.nodes[1].pid is None


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_brokers_exit_with_their_owner(number: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner, owner.stdout:
        pid, directory = owner.stdout.readline().split()
        owner.send_signal(number)
        owner.wait(60)
    deadline = time.monotonic() + 60
    while (_runs(int(pid)) or Path(directory).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(int(pid))
    assert not Path(directory).exists()


@pytest.mark.deep
def test_failed_start_shows_the_log() -> None:
    cluster = KafkaCluster(brokers=1, config={"log.segment.bytes": "many"})
    with pytest.raises(
        RuntimeError, match=r"(?s)broker 1 ended during its start.*log.segment.bytes"
    ):
        cluster.start()
    assert not cluster.directory.exists()


def test_missing_jars_error_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTTLA_JARS", "/nonexistent")
    with pytest.raises(MissingPrerequisiteError, match="make test"):
        jar_directory("brokers")


_OWNER = """
import signal, time
from tests.support.kafka_cluster import KafkaCluster
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by default in background jobs
kafka = KafkaCluster(brokers=1).start()
print(kafka.nodes[1].pid, kafka.directory, flush=True)
time.sleep(300)
"""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
