"""The topic-partitions that a read covers: ``assign``, ``subscribe`` or ``subscribePattern``.

Parsed by ``read_options``, looked up by the planners on the driver. Invariant: Kafka's internal
topics are never read, and a named topic that does not exist is an error, never an empty result.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ottla.errors import ConfigError
from ottla.spark.options.offset_limits import format_partitions, parse_partitions
from ottla.spark.protocols import Broker, Client, Cluster, TopicPartition

log = logging.getLogger(__name__)

STRATEGIES = ("assign", "subscribe", "subscribePattern")

UNKNOWN_TOPIC_TIMEOUT = 5.0
"""Seconds after which an unknown topic is taken not to exist.

A new topic takes a moment to become known to all brokers.
"""

PartitionLeaders = dict[TopicPartition, str | None]
"""The address of the leader of each partition to read; None without a leader."""

Warn = Callable[..., None]
"""Logs a warning about partitions that are not read; takes a ``logging`` format and arguments."""


@dataclass(frozen=True)
class Assign:
    """A fixed set of partitions."""

    by_pattern: ClassVar[bool] = False
    partitions: frozenset[TopicPartition]

    def find_partitions(
        self, client: Client, timeout: float, warn: Warn = log.warning
    ) -> PartitionLeaders:
        """Look up the partitions; their topics must appear within ``timeout`` seconds."""
        found = _partitions_of_topics(
            client, {topic for topic, _ in self.partitions}, timeout, warn
        )
        if missing := self.partitions - found.keys():
            # Spark's source skips these silently.
            warn(
                "assigned partitions that do not exist are not read: %s", format_partitions(missing)
            )
        return {
            partition: leader for partition, leader in found.items() if partition in self.partitions
        }


@dataclass(frozen=True)
class Subscribe:
    """All partitions of a fixed set of topics."""

    by_pattern: ClassVar[bool] = False
    topics: tuple[str, ...]

    def find_partitions(
        self, client: Client, timeout: float, warn: Warn = log.warning
    ) -> PartitionLeaders:
        """Look up the partitions; their topics must appear within ``timeout`` seconds."""
        return _partitions_of_topics(client, set(self.topics), timeout, warn)


@dataclass(frozen=True)
class SubscribePattern:
    """All partitions of the topics whose name contains a match of the pattern."""

    # A topic that disappears is no error here, and looking up the topics again helps.
    by_pattern: ClassVar[bool] = True
    pattern: str

    def find_partitions(
        self, client: Client, timeout: float, warn: Warn = log.warning
    ) -> PartitionLeaders:
        """Look up the partitions; their topics must appear within ``timeout`` seconds."""
        # Unanchored, as in Spark's source; users write ^ and $ to match the whole name.
        matches = re.compile(self.pattern).search
        topics = {name for name in client.topic_names() if matches(name)}
        return _partitions_of_topics(client, topics, timeout, warn)


Subscription = Assign | Subscribe | SubscribePattern


def parse_subscription(values: Mapping[str, str]) -> Subscription:
    """Parse the strategy in ``values`` (lower-case names); it is an error unless there is one."""
    given = [name for name in STRATEGIES if name.lower() in values]
    if len(given) != 1:
        problem = "one of" if not given else f"only one of (not {' and '.join(given)})"
        raise ConfigError(f"{problem} the options {', '.join(STRATEGIES)} must be set")
    name = given[0]
    value = values[name.lower()].strip()
    match name:
        case "assign":
            return Assign(parse_partitions(name, value))
        case "subscribe":
            topics = tuple(dict.fromkeys(filter(None, (t.strip() for t in value.split(",")))))
            if not topics:
                raise ConfigError("subscribe: no topic is named; separate topics by commas")
            return Subscribe(topics)
        case _:
            return SubscribePattern(_parse_pattern(value))


def _parse_pattern(value: str) -> str:
    if not value:
        raise ConfigError("subscribePattern: the pattern is empty")
    try:
        with warnings.catch_warnings():
            # [a-z&&[^q]] has another meaning in Java; Python accepts it with only a warning.
            warnings.simplefilter("error", FutureWarning)
            re.compile(value)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise ConfigError(
            f"subscribePattern: {value!r} is not a regular expression of Python's re module "
            f"({error}), which does not support Java's \\p{{…}}, \\Q…\\E and class arithmetic"
        ) from None
    return value


def _partitions_of_topics(
    client: Client, topics: set[str], timeout: float, warn: Warn
) -> PartitionLeaders:
    if not topics:
        return {}
    cluster = _request_metadata(client, sorted(topics), timeout)
    found: PartitionLeaders = {}
    for name in sorted(topics):
        topic = cluster.topics[name]
        if topic.internal:
            warn("topic %s is internal to Kafka and is not read", name)
            continue
        for number, partition in sorted(topic.partitions.items()):
            found[name, number] = _address(cluster.brokers, partition.leader)
    return found


def _request_metadata(client: Client, topics: list[str], timeout: float) -> Cluster:
    try:
        return client.cluster(topics, refresh=True, timeout=timeout)
    except TimeoutError:
        if timeout < UNKNOWN_TOPIC_TIMEOUT:
            raise
        # The cluster is slow, the topic is not missing: use the client's own, longer timeout.
        return client.cluster(topics, refresh=True)


def _address(brokers: Mapping[int, Broker], leader: int | None) -> str | None:
    if leader is None or (broker := brokers.get(leader)) is None:
        return None
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"
