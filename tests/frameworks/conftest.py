"""One real broker for all frameworks, environments for them, and a second opinion on topics.

A test takes `framework` for the environment of its framework, whose name is the module's
`FRAMEWORK`: the name of a file in requirements/frameworks. `broker` is Kafka, `broker.create()`
makes topics, `broker.records(topic)` is what confluent-kafka reads from one.

Invariant: a test finds a broker without topics and groups, so that programs may use plain names.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.support.frameworks import Framework
from tests.support.kafka_cluster import KafkaCluster
from tests.support.waiting import wait_until

T = TypeVar("T")

_NO_COORDINATOR = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


@dataclass(frozen=True)
class Record:
    """A record as librdkafka reads it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: float


class Broker:
    """A broker, and what the tests do on it without the client under test."""

    def __init__(self, kafka: KafkaCluster) -> None:
        self.kafka = kafka
        self.bootstrap = kafka.bootstrap
        # What the examples read.
        self.env = {"KAFKA": kafka.bootstrap}

    def topic(self, stem: str, partitions: int = 2) -> str:
        """Create a topic with a name that no other test has."""
        name = f"{stem}-{uuid.uuid4().hex[:8]}"
        self.create(name, partitions=partitions)
        return name

    def create(self, *topics: str, partitions: int = 2) -> None:
        """Create topics."""
        for topic in topics:
            self.kafka.create_topic(topic, partitions, 1)

    def clear(self) -> None:
        """Delete all groups and topics, once the members of the groups have left or expired."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})

        def delete_groups() -> bool:
            groups = [group.group_id for group in admin.list_consumer_groups().result(60).valid]
            for deleted in admin.delete_consumer_groups(groups).values() if groups else ():
                deleted.exception(60)
            return not groups

        wait_until(delete_groups)
        for topic in admin.list_topics(timeout=60).topics:
            if not topic.startswith("__"):
                self.kafka.delete_topic(topic)

    def produce(self, topic: str, records: list[tuple[bytes | None, bytes]]) -> None:
        """Write records, partitioned by their keys as Java does, and wait for them."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random"})
        for key, value in records:
            producer.produce(topic, value, key)
        assert producer.flush(60) == 0

    def records(self, topic: str, partitions: int = 2) -> list[Record]:
        """Return all committed records, in order of their partitions and offsets."""
        with self._consumer("second-opinion") as consumer:
            consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
            found: list[Record] = []
            left = set(range(partitions))

            def read() -> bool:
                for message in consumer.consume(10_000, timeout=0.2):
                    error = message.error()
                    if error is None:
                        found.append(_record(message))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        left.discard(message.partition())
                return not left

            wait_until(read)
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def values(self, topic: str, partitions: int = 2) -> list[bytes | None]:
        """Return the values of all committed records."""
        return [record.value for record in self.records(topic, partitions)]

    def count(self, topic: str, partitions: int = 2) -> int:
        """Return the number of committed records."""
        # Reading takes longer, and only tells markers of transactions from records.
        ends = sum(self.kafka.end_offset(topic, index) for index in range(partitions))
        return len(self.records(topic, partitions)) if ends else 0

    def committed(self, group: str, topic: str, partitions: int = 2) -> list[int]:
        """Return a group's committed offset of each partition; 0 where there is none."""
        with self._consumer(group) as consumer:
            asked = [TopicPartition(topic, index) for index in range(partitions)]
            found = _from_coordinator(lambda: consumer.committed(asked, timeout=60))
            return [max(0, one.offset) for one in found]

    def all_committed(self, group: str, topic: str, partitions: int = 2) -> bool:
        """Whether a group has committed the ends of all partitions."""
        ends = [self.kafka.end_offset(topic, index) for index in range(partitions)]
        return self.committed(group, topic, partitions) == ends

    def assigned(self, group: str) -> int:
        """Return how many members of a group have partitions while it is stable, otherwise 0."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        described = _from_coordinator(
            lambda: admin.describe_consumer_groups([group])[group].result(60)
        )
        if described.state != ConsumerGroupState.STABLE:
            return 0
        return sum(bool(member.assignment.topic_partitions) for member in described.members)

    def _consumer(self, group: str) -> AbstractContextManager[Consumer]:
        config = {"enable.auto.commit": False, "enable.partition.eof": True, "log_level": 0}
        return closing(Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, **config}))


def _from_coordinator(call: Callable[[], T]) -> T:
    """Repeat a call while a busy broker does not lead the group yet: librdkafka does not."""
    found: list[T] = []

    def is_known() -> bool:
        try:
            found.append(call())
        except KafkaException as error:
            if error.args[0].code() not in _NO_COORDINATOR:
                raise
        return bool(found)

    wait_until(is_known)
    return found[0]


def _record(message: Message) -> Record:
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    headers: Any = message.headers() or ()
    return Record(
        partition,
        offset,
        message.key(),
        message.value(),
        tuple(headers),
        message.timestamp()[1] / 1000,
    )


@pytest.fixture(scope="session")
def _kafka_session() -> Iterator[KafkaCluster]:
    """One broker: nothing here is about replicas."""
    with KafkaCluster(brokers=1) as cluster:
        yield cluster


@pytest.fixture
def broker(kafka: KafkaCluster) -> Iterator[Broker]:
    """The session's broker, without topics and groups."""
    broker = Broker(kafka)
    yield broker
    broker.clear()


@pytest.fixture(scope="module")
def framework(request: pytest.FixtureRequest) -> Framework:
    """The environment of the framework that the module's FRAMEWORK names."""
    name: str = request.module.FRAMEWORK
    return Framework(name)
