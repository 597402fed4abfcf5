"""Members of one consumer group from three clients, and the ledger of what each was given.

Each member commits what it was given, synchronously, before it asks for more; it is told to leave,
and leaves as its client does.
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

_PATIENCE = 120.0


@dataclass(frozen=True)
class Given:
    """Records that a member was given: a run of offsets."""

    member: str
    partition: int
    first: int
    last: int
    at: float


@dataclass(frozen=True)
class Committed:
    """An offset that a member committed, as its client told."""

    member: str
    partition: int
    offset: int
    at: float


@dataclass
class Ledger:
    """What happened, in the order in which it was told."""

    given: list[Given] = field(default_factory=list)
    committed: list[Committed] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def give(self, member: str, partition: int, first: int, last: int) -> None:
        """A member was given offsets ``first`` to ``last``."""
        with self._lock:
            self.given.append(Given(member, partition, first, last, time.monotonic()))

    def commit(self, member: str, partition: int, offset: int) -> None:
        """A member has committed."""
        with self._lock:
            self.committed.append(Committed(member, partition, offset, time.monotonic()))

    def busy(self) -> set[str]:
        """The clients that were given anything."""
        with self._lock:
            return {run.member.split("-")[0] for run in self.given}

    def missing(self, ends: dict[int, int]) -> dict[int, int]:
        """For each partition, the first offset that nobody was given."""
        with self._lock:
            given = sorted(self.given, key=lambda run: (run.partition, run.first))
        reached = dict.fromkeys(ends, 0)
        for run in given:
            if run.first <= reached[run.partition] <= run.last:
                reached[run.partition] = run.last + 1
        return {p: offset for p, offset in reached.items() if offset < ends[p]}

    def repeated_after_commit(self, slack: float) -> list[tuple[Given, Committed]]:
        """Runs given although they lie before what was committed ``slack`` seconds earlier."""
        return [
            (run, commit)
            for run in self.given
            for commit in self.committed
            if commit.partition == run.partition
            and run.first < commit.offset
            and commit.at + slack < run.at
        ]


class Member(Protocol):
    """A member that is running."""

    name: str

    def leave(self) -> None:
        """Leave the group and end; raises what went wrong."""


@dataclass(frozen=True)
class Group:
    """The group that members join."""

    kafka: KafkaCluster
    group_id: str
    topic: str
    protocol: str
    assignor: str
    ledger: Ledger


_JAVA = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class JavaMember:
    """Kafka's own VerifiableConsumer, which tells what it does as JSON."""

    def __init__(self, name: str, group: Group) -> None:
        self.name = name
        self._ledger = group.ledger
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
                self._ledger.give(self.name, *given)
        elif event.get("name") == "offsets_committed" and event.get("success"):
            for part in event["offsets"]:
                self._ledger.commit(self.name, part["partition"], part["offset"])

    def leave(self) -> None:
        """As by a service manager: SIGTERM."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._reader.join(_PATIENCE)


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
        """Leave between two polls."""
        self._leaving.set()
        try:
            self._done.result(_PATIENCE)
        finally:
            self._pool.shutdown(wait=False)

    def _give(self, offsets: dict[int, list[int]]) -> None:
        for partition, found in offsets.items():
            assert found == list(range(found[0], found[-1] + 1)), f"{self.name}: {found}"
            self._group.ledger.give(self.name, partition, found[0], found[-1])


class ConfluentMember(_ThreadMember):
    """confluent-kafka, which is librdkafka."""

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
                self._give(offsets)
                places = [
                    confluent_kafka.TopicPartition(self._group.topic, partition, found[-1] + 1)
                    for partition, found in offsets.items()
                ]
                try:
                    done = consumer.commit(offsets=places, asynchronous=False)
                except confluent_kafka.KafkaException:
                    continue  # the group is being rebalanced: somebody else is given them again
                for place in done or []:
                    if place.error is None:
                        self._group.ledger.commit(self.name, place.partition, place.offset)
        finally:
            consumer.close()


class OttlaMember(_ThreadMember):
    """Ottla."""

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
                self._give(offsets)
                places = {
                    (self._group.topic, partition): found[-1] + 1
                    for partition, found in offsets.items()
                }
                try:
                    consumer.commit(places)
                except ottla.errors.KafkaError as error:
                    if error.name not in REBALANCING:
                        raise
                    continue
                for (_, partition), offset in places.items():
                    self._group.ledger.commit(self.name, partition, offset)


REBALANCING = {
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "STALE_MEMBER_EPOCH",
    "FENCED_MEMBER_EPOCH",
}
"""What a commit says that came too late."""

KINDS: dict[str, Callable[[str, Group], Member]] = {
    "java": JavaMember,
    "confluent": ConfluentMember,
    "ottla": OttlaMember,
}
