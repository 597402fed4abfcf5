"""Kafka's Java consumer and librdkafka's work with the mock cluster: its group protocol is not
limited to what ottla's own client needs."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Consumer

from ottla.testing import Group, MockCluster
from tests.support.jars import REPOSITORY, class_path, java
from tests.support.kafka_admin import wait_until

PARTITIONS = 6
RECORDS = 50
# JVMs start slowly on a busy machine.
PATIENCE = 120
PROTOCOLS = ["classic", "consumer"]


class JavaConsumer:
    """Kafka's VerifiableConsumer, which reports its events as JSON."""

    def __init__(self, cluster: MockCluster, protocol: str, instance: str | None = None) -> None:
        log4j = REPOSITORY / "tests" / "support" / "log4j2.properties"
        command = [
            *(java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={log4j}"),
            *("-Dottla.log.target=SYSTEM_ERR", "-Dottla.log.level=error"),
            *class_path("brokers"),
            "org.apache.kafka.tools.VerifiableConsumer",
            *("--bootstrap-server", cluster.bootstrap, "--topic", "t", "--group-id", "g"),
            *("--reset-policy", "earliest", "--group-protocol", protocol),
        ]
        if instance is not None:
            command += ["--group-instance-id", instance]
        self.consumed = 0
        self._output: deque[str] = deque(maxlen=20)
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by close)
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._output.append(line)
                event: dict[str, Any] = json.loads(line)
                if event["name"] == "records_consumed":
                    self.consumed += event["count"]

    def describe(self) -> str:
        """Return its exit status and its last output."""
        self._errors.seek(0)
        last = "".join([*self._output, self._errors.read()[-4000:]])
        return f"{self._process.args!r}\nended with {self._process.poll()}, and said\n{last}"

    def close(self) -> None:
        """Stop it with SIGTERM, like a service manager."""
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            self._reader.join(PATIENCE)
            self._errors.close()


@contextmanager
def java_consumer(
    cluster: MockCluster, protocol: str, instance: str | None = None
) -> Iterator[JavaConsumer]:
    consumer = JavaConsumer(cluster, protocol, instance)
    try:
        yield consumer
    except BaseException:
        print(consumer.describe())
        raise
    finally:
        consumer.close()


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster() as cluster:
        cluster.create_topic("t", partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            for n in range(RECORDS):
                cluster.append("t", partition, [b"%d" % n])
        yield cluster


def group(cluster: MockCluster) -> Group:
    found = cluster.group("g")
    return found or Group("", "", None, -1, None, ())


def await_members(cluster: MockCluster, *shares: int) -> None:
    """Wait until the group is stable and its members have these numbers of partitions."""

    def settled() -> bool:
        now = group(cluster)
        return now.state == "Stable" and sorted(len(m.assignment) for m in now.members) == [*shares]

    wait_until(settled, lambda: f"{group(cluster)} does not settle as {shares}", PATIENCE)


def append_one_each(cluster: MockCluster) -> None:
    for partition in range(PARTITIONS):
        cluster.append("t", partition, [b"more"])


def await_committed(cluster: MockCluster, total: int) -> None:
    wait_until(
        lambda: sum(cluster.committed("g").values()) == total,
        lambda: f"{cluster.committed('g')} is not {total} in all",
        PATIENCE,
    )


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_java_consumers_share_a_topic(cluster: MockCluster, protocol: str) -> None:
    total = PARTITIONS * RECORDS
    with java_consumer(cluster, protocol) as one:
        with java_consumer(cluster, protocol) as two:
            await_members(cluster, 3, 3)
            assert group(cluster).kind == protocol
            # Wait until each member has read from its partitions: Java's consumer fails if it
            # is expired while it fetches its start offsets.
            await_committed(cluster, total)
            append_one_each(cluster)
            await_committed(cluster, total + PARTITIONS)
            before = group(cluster).generation
            cluster.expire_member("g", group(cluster).members[0].id)
            await_members(cluster, 3, 3)
            assert group(cluster).generation > before
            coordinator = cluster.coordinator("g")
            assert coordinator is not None
            cluster.move_coordinator("g", coordinator % 3 + 1)
            leader = cluster.leader("t", 0)
            assert leader is not None
            cluster.move_leader("t", 0, leader % 3 + 1)
            append_one_each(cluster)
            await_committed(cluster, total + 2 * PARTITIONS)
        await_members(cluster, 6)
    wait_until(lambda: group(cluster).state == "Empty", lambda: f"{group(cluster)}", PATIENCE)
    # No duplicates: the expired member had committed everything that it read.
    assert one.consumed + two.consumed == total + 2 * PARTITIONS


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_static_java_consumer_rejoins(cluster: MockCluster, protocol: str) -> None:
    with java_consumer(cluster, protocol, "a"):
        with java_consumer(cluster, protocol, "b"):
            await_members(cluster, 3, 3)
            before = group(cluster)
        with java_consumer(cluster, protocol, "b"):
            known = {member.id for member in before.members}

            def back() -> bool:
                now = group(cluster)
                came = [member for member in now.members if member.id not in known]
                return now.state == "Stable" and len(came) == 1 and came[0].epoch > 0

            wait_until(back, lambda: f"{group(cluster)} has no new member", PATIENCE)
            shares = {m.instance_id: m.assignment for m in group(cluster).members}
            assert shares == {m.instance_id: m.assignment for m in before.members}
            assert group(cluster).generation == before.generation


@pytest.mark.parametrize(
    "settings",
    [
        {"group.protocol": "classic"},
        {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"},
        {"group.protocol": "consumer", "client.rack": "rack-b"},
    ],
    ids=["range", "cooperative-sticky", "consumer"],
)
def test_librdkafka_reads_and_commits(cluster: MockCluster, settings: dict[str, str]) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
            **settings,
        }
    )
    try:
        consumer.subscribe(["t"])
        seen = set()
        missing = PARTITIONS * RECORDS
        while missing:
            message = consumer.poll(PATIENCE)
            assert message is not None, f"{missing} records did not arrive"
            assert message.error() is None, message.error()
            seen.add((message.partition(), message.offset()))
            missing -= 1
        assert len(seen) == PARTITIONS * RECORDS
        consumer.commit(asynchronous=False)
        assert sum(cluster.committed("g").values()) == PARTITIONS * RECORDS
    finally:
        consumer.close()
    wait_until(lambda: group(cluster).state == "Empty", lambda: f"{group(cluster)}", PATIENCE)
