"""Members of one consumer group from three clients, and a log of their deliveries and commits.

Each member commits its records synchronously before it polls again, and leaves as its client does.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import confluent_kafka

import ottla
from tests.support.kafka_cluster import KafkaCluster

_TIMEOUT = 120.0


@dataclass(frozen=True)
class Delivered:
    """A range of offsets that was delivered to a member."""

    member: str
    partition: int
    first: int
    last: int
    at: float


@dataclass(frozen=True)
class Committed:
    """An offset that a member committed, as its client reported."""

    member: str
    partition: int
    offset: int
    at: float


@dataclass
class DeliveryLog:
    """Deliveries and commits, in the order of their reports."""

    delivered: list[Delivered] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record_delivery(self, member: str, partition: int, first: int, last: int) -> None:
        """Record the delivery of offsets ``first`` to ``last``."""
        with self._lock:
            self.delivered.append(Delivered(member, partition, first, last, time.monotonic()))

    def record_commit(self, member: str, partition: int, offset: int) -> None:
        """Record a commit."""
        with self._lock:
            self.committed.append(Committed(member, partition, offset, time.monotonic()))

    def active_clients(self) -> set[str]:
        """Return the clients with at least one delivery."""
        with self._lock:
            return {run.member.split("-")[0] for run in self.delivered}

    def missing(self, ends: dict[int, int]) -> dict[int, int]:
        """Return the first undelivered offset of each partition that has one."""
        with self._lock:
            given = sorted(self.delivered, key=lambda run: (run.partition, run.first))
        reached = dict.fromkeys(ends, 0)
        for run in given:
            if run.first <= reached[run.partition] <= run.last:
                reached[run.partition] = run.last + 1
        return {p: offset for p, offset in reached.items() if offset < ends[p]}

    def repeated_after_commit(self, slack: float) -> list[tuple[Delivered, Committed]]:
        """Return deliveries that repeat offsets committed at least ``slack`` seconds earlier."""
        return [
            (run, commit)
            for run in self.delivered
            for commit in self.committed
            if commit.partition == run.partition
            and run.first < commit.offset
            and commit.at + slack < run.at
        ]


class Member(Protocol):
    """A running member."""

    name: str

    def leave(self) -> None:
        """Leave the group and end; raises the member's error, if any."""


@dataclass(frozen=True)
class Group:
    """The group that members join."""

    kafka: KafkaCluster
    group_id: str
    topic: str
    protocol: str
    assignor: str
    log: DeliveryLog


_JAVA = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class JavaMember:
    """Kafka's VerifiableConsumer, which reports events as JSON."""

    def __init__(self, name: str, group: Group) -> None:
        self.name = name
        self._log = group.log
        arguments = [
            *("--bootstrap-server", group.kafka.bootstrap, "--topic", group.topic),
            *("--group-id", group.group_id, "--group-protocol", group.protocol),
        ]
        if group.protocol == "classic":
            arguments += ["--assignment-strategy", _JAVA[group.assignor]]
            arguments += ["--session-timeout", "10000"]
        main = "org.apache.kafka.tools.VerifiableConsumer"
        self._process = group.kafka.start_tool(main, *arguments)
        self._reader = threading.Thread(target=self._read, name=name, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                try:
                    self._note(json.loads(line))
                except ValueError:
                    continue

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("name") == "records_consumed":
            for part in event["partitions"]:
                assert part["count"] == part["maxOffset"] - part["minOffset"] + 1, part
                given = part["partition"], part["minOffset"], part["maxOffset"]
                self._log.record_delivery(self.name, *given)
        elif event.get("name") == "offsets_committed" and event.get("success"):
            for part in event["offsets"]:
                self._log.record_commit(self.name, part["partition"], part["offset"])

    def leave(self) -> None:
        """Send SIGTERM, as a service manager does."""
        self._process.terminate()
        try:
            self._process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._reader.join(_TIMEOUT)


class _ThreadMember:
    """A member in a thread of this process."""

    def __init__(self, name: str, group: Group) -> None:
        self.name = name
        self._group = group
        self._leaving = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._done = self._pool.submit(self._consume)

    def _consume(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        """Leave after the current poll."""
        self._leaving.set()
        try:
            self._done.result(_TIMEOUT)
        finally:
            self._pool.shutdown(wait=False)

    def _record_delivery(self, offsets: dict[int, list[int]]) -> None:
        for partition, found in offsets.items():
            assert found == list(range(found[0], found[-1] + 1)), f"{self.name}: {found}"
            self._group.log.record_delivery(self.name, partition, found[0], found[-1])


class ConfluentMember(_ThreadMember):
    """A member of confluent-kafka (librdkafka)."""

    def _consume(self) -> None:
        config: dict[str, Any] = {
            "bootstrap.servers": self._group.kafka.bootstrap,
            "group.id": self._group.group_id,
            "group.protocol": self._group.protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
        if self._group.protocol == "classic":
            config["partition.assignment.strategy"] = self._group.assignor
            config["session.timeout.ms"] = 10_000
        consumer = confluent_kafka.Consumer(config)
        consumer.subscribe([self._group.topic])
        try:
            while not self._leaving.is_set():
                offsets: dict[int, list[int]] = {}
                for message in consumer.consume(100, timeout=0.2):
                    partition, offset = message.partition(), message.offset()
                    if message.error() or partition is None or offset is None:
                        continue
                    offsets.setdefault(partition, []).append(offset)
                if not offsets:
                    continue
                self._record_delivery(offsets)
                positions = [
                    confluent_kafka.TopicPartition(self._group.topic, partition, found[-1] + 1)
                    for partition, found in offsets.items()
                ]
                try:
                    done = consumer.commit(offsets=positions, asynchronous=False)
                except confluent_kafka.KafkaException:
                    continue  # rebalancing: another member gets these records again
                for position in done or []:
                    if position.error is None:
                        self._group.log.record_commit(
                            self.name, position.partition, position.offset
                        )
        finally:
            consumer.close()


class OttlaMember(_ThreadMember):
    """A member of ottla."""

    def _consume(self) -> None:
        config: dict[str, Any] = {"group_protocol": self._group.protocol}
        if self._group.protocol == "classic":
            config["partition_assignment_strategy"] = self._group.assignor
            config["session_timeout_ms"] = 10_000
        with ottla.Consumer(
            self._group.kafka.bootstrap,
            group_id=self._group.group_id,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            topics=[self._group.topic],
            **config,
        ) as consumer:
            while not self._leaving.is_set():
                offsets: dict[int, list[int]] = {}
                for record in consumer.poll(timeout=0.2, max_records=100):
                    offsets.setdefault(record.partition, []).append(record.offset)
                if not offsets:
                    continue
                self._record_delivery(offsets)
                positions = {
                    (self._group.topic, partition): found[-1] + 1
                    for partition, found in offsets.items()
                }
                try:
                    consumer.commit(positions)
                except ottla.errors.KafkaError as error:
                    if error.name not in REBALANCING:
                        raise
                    continue
                for (_, partition), offset in positions.items():
                    self._group.log.record_commit(self.name, partition, offset)


REBALANCING = {
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "STALE_MEMBER_EPOCH",
    "FENCED_MEMBER_EPOCH",
}
"""The error codes of a commit after a rebalance."""

KINDS: dict[str, Callable[[str, Group], Member]] = {
    "java": JavaMember,
    "confluent": ConfluentMember,
    "ottla": OttlaMember,
}
