"""Changes of log and group under a running consumer, with the outcomes of Java's consumer."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import ottla
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_properties import FAST_FAILOVER

pytestmark = [pytest.mark.cluster, pytest.mark.fault]

TopicFactory = Callable[..., str]
TIMEOUT = 180.0


def group_id() -> str:
    """Return a unique group id."""
    return f"outcome-{uuid.uuid4().hex[:8]}"


def consumer(bootstrap: str, topic: str, group: str, **config: Any) -> ottla.Consumer:
    """Create a member that starts at the beginning and detects topic changes within a second."""
    given = {"auto_offset_reset": "earliest", "metadata_max_age_ms": 1000, **config}
    return ottla.Consumer(bootstrap, group_id=group, topics=[topic], **given)


def write(bootstrap: str, topic: str, numbers: range, partition: int = 0) -> None:
    """Write numbers as values, and wait for all acknowledgements."""
    with ottla.Producer(bootstrap) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, partition=partition)
        producer.flush(timeout=TIMEOUT)


def read(consumer: ottla.Consumer, count: int, timeout: float = TIMEOUT) -> list[ottla.Record]:
    """Poll until `count` records have arrived."""
    records: list[ottla.Record] = []
    deadline = time.monotonic() + timeout
    while len(records) < count:
        assert time.monotonic() < deadline, f"only {len(records)} of {count} records arrived"
        records += consumer.poll(timeout=0.5)
    return records


def values(records: list[ottla.Record]) -> list[int]:
    """Return the numbers, in the order of delivery."""
    return [int(record.value or b"-1") for record in records]


def coordinator_of(kafka: KafkaCluster, group: str) -> int:
    """Return the coordinator of a group, as Kafka's tool reports it."""
    text = kafka.run_tool(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", kafka.bootstrap, "--describe", "--state", "--group", group),
    )
    line = next(line for line in text.splitlines() if line.startswith(group))
    return int(line.split("(")[1].split(")")[0])


@contextmanager
def trickle(bootstrap: str, topic: str, partitions: int) -> Iterator[list[int]]:
    """Write ten records per partition every 0.1 s; yield the counts, acknowledged at the end."""
    stop = threading.Event()
    written = [0] * partitions

    def run() -> None:
        with ottla.Producer(bootstrap) as producer:
            while not stop.is_set():
                for partition in range(partitions):
                    for _ in range(10):
                        producer.send(topic, b"%d" % written[partition], partition=partition)
                        written[partition] += 1
                time.sleep(0.1)
            producer.flush(timeout=TIMEOUT)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join(TIMEOUT)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("victim", ["coordinator", "leader"])
def test_brokers_killed_cost_no_record_and_repeat_none(
    kafka: KafkaCluster, kafka_topic: TopicFactory, protocol: str, victim: str
) -> None:
    topic, group = kafka_topic(2), group_id()
    seen: dict[int, list[int]] = {0: [], 1: []}
    with consumer(
        kafka.bootstrap, topic, group, group_protocol=protocol, auto_commit_interval_ms=500
    ) as reader:
        with trickle(kafka.bootstrap, topic, 2) as written:
            for record in read(reader, 100):
                seen[record.partition].append(int(record.value or b"-1"))
            broker = coordinator_of(kafka, group) if victim == "coordinator" else -1
            broker = kafka.leader_of(topic, 0) if victim == "leader" else broker
            kafka.kill(broker)
            for record in read(reader, 500):
                seen[record.partition].append(int(record.value or b"-1"))
            kafka.restart(broker)
        deadline = time.monotonic() + TIMEOUT
        while sum(map(len, seen.values())) < sum(written):
            assert time.monotonic() < deadline, f"read {[*map(len, seen.values())]} of {written}"
            for record in reader.poll(timeout=0.5):
                seen[record.partition].append(int(record.value or b"-1"))
        # The same member throughout: it neither skips nor repeats a record.
        for partition in (0, 1):
            assert seen[partition] == list(range(written[partition]))
    # It has committed and left.
    with consumer(kafka.bootstrap, topic, group, group_protocol=protocol) as successor:
        assert successor.poll(timeout=3) == []


def test_a_deleted_group_starts_by_the_reset_policy(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic, group = kafka_topic(1), group_id()
    write(kafka.bootstrap, topic, range(10))
    with consumer(kafka.bootstrap, topic, group) as reader:
        assert values(read(reader, 10)) == list(range(10))
    delete = ("--bootstrap-server", kafka.bootstrap, "--delete", "--group", group)
    kafka.run_tool("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", *delete)
    with consumer(kafka.bootstrap, topic, group) as reader:
        assert values(read(reader, 10)) == list(range(10))


def test_expired_offsets_are_treated_as_missing(
    kafka: KafkaCluster, kafka_topic: TopicFactory
) -> None:
    topic, group = kafka_topic(1), group_id()
    write(kafka.bootstrap, topic, range(10))
    with consumer(kafka.bootstrap, topic, group) as reader:
        read(reader, 10)
    # As the broker does when they expire.
    kafka.run_tool(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
        *("--bootstrap-server", kafka.bootstrap, "--delete-offsets"),
        *("--group", group, "--topic", topic),
    )
    with (
        consumer(kafka.bootstrap, topic, group, auto_offset_reset="none") as reader,
        pytest.raises(ottla.errors.OffsetError, match=f"{topic}-0"),
    ):
        read(reader, 1)
    with consumer(kafka.bootstrap, topic, group) as reader:
        assert values(read(reader, 10)) == list(range(10))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_recreated_topic_is_read_from_its_start(
    kafka: KafkaCluster, kafka_topic: TopicFactory, protocol: str
) -> None:
    topic, group = kafka_topic(1), group_id()
    write(kafka.bootstrap, topic, range(50))
    with consumer(kafka.bootstrap, topic, group, group_protocol=protocol) as reader:
        read(reader, 50)
        kafka.delete_topic(topic)
        kafka.create_topic(topic, 1, 3)
        write(kafka.bootstrap, topic, range(1000, 1010))
        assert values(read(reader, 10)) == list(range(1000, 1010))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_added_partitions_are_read(
    kafka: KafkaCluster, kafka_topic: TopicFactory, protocol: str
) -> None:
    topic, group = kafka_topic(1), group_id()
    write(kafka.bootstrap, topic, range(10))
    with consumer(kafka.bootstrap, topic, group, group_protocol=protocol) as reader:
        read(reader, 10)
        kafka.run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", kafka.bootstrap, "--alter", "--topic", topic),
            *("--partitions", "3"),
        )
        wait_until(lambda: kafka.leader_of(topic, 2) > 0, lambda: "no new partitions")
        for partition in (1, 2):
            write(kafka.bootstrap, topic, range(100 * partition, 100 * partition + 10), partition)
        records = read(reader, 20)
        for partition in (1, 2):
            found = values([r for r in records if r.partition == partition])
            assert found == list(range(100 * partition, 100 * partition + 10))
        assert len(reader.assignment()) == 3


def test_a_follower_in_the_same_rack_is_read_from_until_it_dies() -> None:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    with KafkaCluster(config={**FAST_FAILOVER, "replica.selector.class": selector}) as kafka:
        topic = f"near-{uuid.uuid4().hex[:8]}"
        kafka.create_topic(topic, 1, 3)
        kafka.wait_for_isr(topic, 0, 3)
        leader = kafka.leader_of(topic)
        racks = kafka.brokers()
        near = next(broker for broker in racks if broker != leader)
        with (
            ottla.Client(
                kafka.bootstrap, client_rack=racks[near], auto_offset_reset="earliest"
            ) as client,
            ottla.Consumer(client) as reader,
        ):
            reader.assign([(topic, 0)])
            write(kafka.bootstrap, topic, range(20))
            assert values(read(reader, 20)) == list(range(20))
            # From now on, only the near replica has a fetch in flight.
            wait_until(
                lambda: brokers_in_flight(client) == {near},
                lambda: f"{brokers_in_flight(client)}, not {near}",
            )
            waiting = [brokers_in_flight(client) for _ in range(20)]
            assert all(leader not in brokers for brokers in waiting), waiting
            assert sum(near in brokers for brokers in waiting) > 10, waiting
            kafka.kill(near)
            write(kafka.bootstrap, topic, range(30, 40))
            assert values(read(reader, 10)) == list(range(30, 40))


def brokers_in_flight(client: ottla.Client) -> set[int]:
    """Return the brokers with a request in flight, 50 ms from now."""
    time.sleep(0.05)
    return {connection.broker for connection in client.connections() if connection.in_flight}


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_a_log_truncated_by_an_unclean_election_is_detected(policy: str) -> None:
    with KafkaCluster(config=FAST_FAILOVER) as kafka:
        topic = f"unclean-{uuid.uuid4().hex[:8]}"
        first, second = 1, 2
        kafka.run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", kafka.bootstrap, "--create", "--topic", topic),
            *("--replica-assignment", f"{first}:{second}"),
            *("--config", "unclean.leader.election.enable=true"),
            *("--config", "min.insync.replicas=1"),
        )
        kafka.wait_for_isr(topic, 0, 2)
        write(kafka.bootstrap, topic, range(10))
        with ottla.Consumer(
            kafka.bootstrap, auto_offset_reset=policy, metadata_max_age_ms=1000
        ) as reader:
            reader.assign([(topic, 0)])
            reader.seek(topic, 0, 0)
            assert values(read(reader, 10)) == list(range(10))
            kafka.kill(second)
            write(kafka.bootstrap, topic, range(10, 20))
            assert values(read(reader, 10)) == list(range(10, 20))
            kafka.kill(first)
            # The broker that returns has only ten records, and leads all the same.
            kafka.nodes[second].start()
            wait_until(lambda: kafka.leader_of(topic) == second, lambda: "no leader")
            write(kafka.bootstrap, topic, range(100, 105))
            if policy == "none":
                with pytest.raises(
                    ottla.errors.DataLossError, match="truncated the log at offset 10"
                ):
                    read(reader, 1)
                reader.seek(topic, 0, 10)
            records = read(reader, 5)
            assert values(records) == list(range(100, 105))
            assert [record.offset for record in records] == list(range(10, 15))
