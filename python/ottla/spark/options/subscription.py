"""Which topic-partitions a read covers: ``assign``, ``subscribe`` or ``subscribePattern``.

Built by ``options``, asked by ``planning`` on the driver. Invariant: Kafka's internal topics are
never read, and a topic that was named but does not exist is an error, never an empty result.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ottla.errors import ConfigError
from ottla.spark.options.offset_limits import parse_partitions, show_all
from ottla.spark.protocols import Broker, Client, Cluster, TopicPartition

log = logging.getLogger(__name__)

STRATEGIES = ("assign", "subscribe", "subscribePattern")

# A topic made just now takes a moment to be known to all brokers; one that is not known after so
# many seconds does not exist.
APPEARS_WITHIN = 5.0

Leaders = dict[TopicPartition, str | None]
"""Each partition to read, with the address of its leader if it has one."""

Warn = Callable[..., None]
"""What is told of partitions that are not read, as to ``logging``: words, and what they are of."""


@dataclass(frozen=True)
class Assign:
    """Exactly these partitions."""

    finds: ClassVar[bool] = False
    chosen: frozenset[TopicPartition]

    def find(self, client: Client, timeout: float, warn: Warn = log.warning) -> Leaders:
        """Ask the cluster for the partitions that this names; topics must appear in time."""
        found = _partitions_of(client, {topic for topic, _ in self.chosen}, timeout, warn)
        if missing := self.chosen - found.keys():
            # Spark's source passes over these without a word.
            warn("assigned partitions that do not exist are not read: %s", show_all(missing))
        return {
            partition: leader for partition, leader in found.items() if partition in self.chosen
        }


@dataclass(frozen=True)
class Subscribe:
    """Every partition of these topics."""

    finds: ClassVar[bool] = False
    topics: tuple[str, ...]

    def find(self, client: Client, timeout: float, warn: Warn = log.warning) -> Leaders:
        """Ask the cluster for the partitions that this names; topics must appear in time."""
        return _partitions_of(client, set(self.topics), timeout, warn)


@dataclass(frozen=True)
class SubscribePattern:
    """Every partition of the topics in whose name the pattern is found."""

    # Topics are found, not named: that one is gone again is no error, and to look anew helps.
    finds: ClassVar[bool] = True
    pattern: str

    def find(self, client: Client, timeout: float, warn: Warn = log.warning) -> Leaders:
        """Ask the cluster for the partitions that this names; topics must appear in time."""
        # Found anywhere in the name, as in Spark's source: anchor with ^ and $ to match it whole.
        wanted = re.compile(self.pattern).search
        topics = {name for name in client.list_topics() if wanted(name)}
        return _partitions_of(client, topics, timeout, warn)


Subscription = Assign | Subscribe | SubscribePattern


def parse_subscription(values: Mapping[str, str]) -> Subscription:
    """The one strategy in ``values`` (lower-case keys); none or several is an error."""
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
                raise ConfigError("subscribe: no topic is named; give one or more, with commas")
            return Subscribe(topics)
        case _:
            return SubscribePattern(_pattern(value))


def _pattern(value: str) -> str:
    if not value:
        raise ConfigError("subscribePattern: the pattern is empty")
    try:
        with warnings.catch_warnings():
            # Python only warns of [a-z&&[^q]], which means something else there than in Java.
            warnings.simplefilter("error", FutureWarning)
            re.compile(value)
    except (re.error, FutureWarning) as error:
        raise ConfigError(
            f"subscribePattern: {value!r} is not a regular expression of Python's re module "
            f"({error}); Java's \\p{{…}}, \\Q…\\E and class arithmetic are not known there"
        ) from None
    return value


def _partitions_of(client: Client, topics: set[str], timeout: float, warn: Warn) -> Leaders:
    if not topics:
        return {}
    cluster = _look_up(client, sorted(topics), timeout)
    found: Leaders = {}
    for name in sorted(topics):
        topic = cluster.topics[name]
        if topic.internal:
            warn("topic %s is internal to Kafka and is not read", name)
            continue
        for number, partition in sorted(topic.partitions.items()):
            found[name, number] = _address(cluster.brokers, partition.leader)
    return found


def _look_up(client: Client, topics: list[str], timeout: float) -> Cluster:
    try:
        return client.cluster(topics, refresh=True, timeout=timeout)
    except TimeoutError:
        if timeout < APPEARS_WITHIN:
            raise
        # It is the cluster that is slow, not the topic that is not there: calls may take longer.
        return client.cluster(topics, refresh=True)


def _address(brokers: Mapping[int, Broker], leader: int | None) -> str | None:
    if leader is None or (broker := brokers.get(leader)) is None:
        return None
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    return f"{host}:{broker.port}"
