"""The compacted topic of decisions (partition 0) and of the tasks' markers (all other partitions).

Markers are in transactions that are open for as long as a batch takes, and hold the last stable
offset of their partition back. Invariants: decisions share no partition with markers, so a decision
can be read while tasks write. Nothing here returns a record that may still be aborted. A query has
an opening record here before its driver's transactional id exists, so a log that lacks it although
a coordinator knows that id was lost (``lost_decisions``).
"""

from __future__ import annotations

import contextlib
import logging
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import ottla
from ottla import errors
from ottla.admin import ConfigEntry, ConfigResource
from ottla.spark.writing.exactly_once.decision import Decision
from ottla.spark.writing.exactly_once.holding_back import held_back_by

log = logging.getLogger(__name__)

DECISIONS = 0
"""The partition of decisions."""

_PARTITIONS = 9
_REPLICAS = 3
_CLEANUP_POLICY = "cleanup.policy"
_RETENTION = ("retention.ms", "retention.bytes")
_SET_ON_TOPIC = "DYNAMIC_TOPIC_CONFIG"
# Old decisions are removed soon, so that a query that was stopped for long finds its own quickly.
_CONFIGS = {
    _CLEANUP_POLICY: "compact",
    "segment.ms": "3600000",
    "segment.bytes": "67108864",
    "min.cleanable.dirty.ratio": "0.1",
}
# The driver's transactions time out after 10 s, and brokers look for such ones every 10 s.
_STABLE_TIMEOUT = 60.0
# Other queries' tasks may write for that long.
_MARKER_TIMEOUT = 120.0
_TOPIC_TIMEOUT = 1.0
_WARN_AFTER = 2.0
_FIRST_WINDOW = 100


@dataclass(frozen=True)
class History:
    """The history of a query, as read from the topic.

    Attributes:
        last: the last decision, if there is one.
        is_opened: whether it has a decision, or at least the query's opening record.
    """

    last: Decision | None
    is_opened: bool


class DecisionLog:
    """The topic, as one client sees it. The client reads committed records only."""

    def __init__(self, client: ottla.Client, topic: str) -> None:
        self._client = client
        self.topic = topic
        self._partitions = self._find_or_create()

    def history(self, query: str) -> History:
        """Return what the topic has of a query; waits for a decision that is being written.

        Raises:
            TimeoutError: a transaction has been open in the partition for a minute.
        """
        end = self._offset(DECISIONS, "latest", "read_uncommitted")
        self._wait_stable(DECISIONS, end, _STABLE_TIMEOUT)
        start = self._offset(DECISIONS, "earliest", "read_uncommitted")
        size, is_opened = _FIRST_WINDOW, False
        while end > start:
            first = max(start, end - size)
            last: bytes | None = None
            for key, value in self._read(DECISIONS, first, end):
                last = value if key == query else last
                is_opened = is_opened or key == _opening_key(query)
            if last is not None:
                return History(Decision.decode(last), is_opened=True)
            end, size = first, 4 * size
        return History(None, is_opened)

    def last_decision(self, query: str) -> Decision | None:
        """Return the query's last decision; waits for one that is being written.

        Raises:
            TimeoutError: a transaction has been open in the partition for a minute.
        """
        return self.history(query).last

    def open(self, query: str) -> None:
        """Write a query's opening record, which says that the query has made no decision yet."""
        with ottla.Producer(self._client) as producer:
            # The key is none of a query's, so that it never hides a decision.
            sent = producer.send(self.topic, b"{}", _opening_key(query), partition=DECISIONS)
            # Does not wait for linger.ms.
            producer.flush()
            sent.result()

    def check_topic(self) -> None:
        """Raise if brokers would delete decisions; create the topic if it is gone by now.

        Raises:
            ConfigError: the topic is not compacted.
        """
        try:
            configs = self._configs()
        except errors.UnknownTopicError:
            # It was deleted since the client, which may be older than this run, last saw it.
            self._partitions = self._find_or_create(refresh=True)
            configs = self._configs()
        except errors.AuthorizationError:
            log.warning(
                "exactlyOnce: this principal may not describe the configuration of the topic %s; "
                "make sure that its cleanup.policy is compact: brokers must never delete decisions",
                self.topic,
            )
            return
        policy = configs[_CLEANUP_POLICY]
        # A cluster that keeps all records by default deletes none.
        keeps_all = policy.source != _SET_ON_TOPIC and all(
            configs[name].value == "-1" for name in _RETENTION
        )
        if policy.value != "compact" and not keeps_all:
            raise errors.ConfigError(
                f"exactlyOnceTopic {self.topic} has cleanup.policy={policy.value}: brokers would "
                "delete decisions, and their batches would be written twice. It must be compact: "
                f"'ottla configs set -b BOOTSTRAP topic {self.topic} cleanup.policy=compact'"
            )

    def marker_partition(self, query: str, partition: int) -> int:
        """Return the partition for the markers of a task."""
        return 1 + zlib.crc32(marker_key(query, partition)) % (self._partitions - 1)

    def is_committed(self, marker: tuple[int, int], query: str, partition: int) -> bool:
        """Whether the transaction was committed that wrote a marker at this topic_partition.

        Raises:
            StateError: the marker is gone, so that it is not known.
            TimeoutError: older transactions in the marker's partition do not end.
        """
        where, offset = marker
        start = self._offset(where, "earliest", "read_uncommitted")
        end = self._offset(where, "latest", "read_uncommitted")
        if not start <= offset < end:
            raise errors.StateError(
                f"exactlyOnce: record {offset} of {self.topic}-{where} is gone, which marks the "
                f"rows of partition {partition} of {query} as committed; the partition has the "
                f"offsets {start} to {end}. Some rows of its last batch may be visible: look at "
                "the target before you write them again, and delete no records of this topic"
            )
        self._wait_stable(where, offset + 1, _MARKER_TIMEOUT)
        key = marker_key(query, partition).decode()
        return any(found == key for found, _ in self._read(where, offset, offset + 1))

    def _read(self, partition: int, start: int, end: int) -> Iterator[tuple[str, bytes]]:
        # Compaction leaves gaps, and may remove the start.
        scan = self._client.scan(
            [(self.topic, partition, start, end)],
            columns=["key", "value"],
            fail_on_data_loss=False,
        )
        with scan:
            for each in scan:
                rows: Any = pa.record_batch(each)
                keys, values = rows["key"].to_pylist(), rows["value"].to_pylist()
                for key, value in zip(keys, values, strict=True):
                    if key is not None and value is not None:
                        yield key.decode(errors="replace"), value

    def _offset(self, partition: int, spec: str, isolation_level: str) -> int:
        topic_partition = (self.topic, partition)
        found = self._client.list_offsets({topic_partition: spec}, isolation_level=isolation_level)
        return found[topic_partition].offset or 0

    def _wait_stable(self, partition: int, offset: int, timeout: float) -> None:
        """Wait until every transaction below ``offset`` has ended."""
        began = time.monotonic()
        warned, pause = False, 0.01
        while self._offset(partition, "latest", "read_committed") < offset:
            waited = time.monotonic() - began
            if waited > timeout:
                raise errors.TimeoutError(
                    f"exactlyOnce: a transaction in {self.topic}-{partition} has been open for "
                    f"{waited:.0f} s: {held_back_by(self._client, self.topic, partition)}"
                )
            if waited > _WARN_AFTER and not warned:
                warned = True
                log.warning(
                    "exactlyOnce waits for an open transaction in %s-%d, for up to %.0f s: %s",
                    *(self.topic, partition, timeout),
                    held_back_by(self._client, self.topic, partition),
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.5)

    def _configs(self) -> dict[str, ConfigEntry]:
        resource = ConfigResource("topic", self.topic)
        with ottla.Admin(self._client) as admin:
            keys = [_CLEANUP_POLICY, *_RETENTION]
            return admin.describe_configs([resource], keys=keys)[resource]

    def _find_or_create(self, *, refresh: bool = False) -> int:
        try:
            cluster = self._client.cluster([self.topic], refresh=refresh, timeout=_TOPIC_TIMEOUT)
            partitions = cluster.topics[self.topic]
        except errors.UnknownTopicError:
            # Another task may have just created it.
            with contextlib.suppress(errors.TopicExistsError):
                self._create()
            partitions = self._client.cluster([self.topic], refresh=True).topics[self.topic]
        count = len(partitions.partitions)
        if count < 2:
            raise errors.ConfigError(
                f"exactlyOnceTopic {self.topic} has one partition; it needs at least two, one of "
                "them for decisions, and cleanup.policy=compact"
            )
        return count

    def _create(self) -> None:
        """Create the topic with three replicas, or as many as there are brokers.

        With one replica, Kafka's default, a broker that stops may end the query: a coordinator
        leaves out the end of a transaction in a partition that has no leader just then, as if the
        partition was deleted, and nothing that follows in it is read any more.
        """
        replicas = min(_REPLICAS, len(self._client.cluster(refresh=True).brokers))
        with ottla.Admin(self._client) as admin:
            try:
                admin.create_topic(self.topic, _PARTITIONS, replication=replicas, configs=_CONFIGS)
            except errors.TopicExistsError:
                raise
            except errors.KafkaError as error:
                # A policy of the cluster's may want another number: its own default.
                log.debug("the topic %s with %d replicas: %s", self.topic, replicas, error)
                admin.create_topic(self.topic, _PARTITIONS, configs=_CONFIGS)


def marker_key(query: str, partition: int) -> bytes:
    """Return the key of a task's markers."""
    return f"{query}/{partition}".encode()


def _opening_key(query: str) -> str:
    return f"{query}/opened"
