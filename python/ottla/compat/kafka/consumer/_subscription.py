"""What a consumer reads: topics, a pattern, or assigned partitions.

ottla's consumer subscribes to topics as a member of a group. What it does not do like kafka-python
is here: patterns in Python's syntax that match the beginning of a name, and subscriptions without a
group, which read all partitions of their topics, new ones too, and commit nothing. Both are looked
up again every ``metadata_max_age_ms``. Invariant: partitions that are already read keep their
positions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import ottla
from ottla import errors
from ottla.compat.kafka._topic_names import check_topic_name
from ottla.compat.kafka.errors import IllegalStateError
from ottla.compat.kafka.structs import TopicPartition

__all__ = ["Subscription"]

# Until all topics of a subscription exist.
_SOON = 1.0
_LEAST_WAIT = 0.1
_CHOOSE_ONE = "Choose one way to subscribe: topics, a pattern, or assigned partitions."


class Subscription:
    """The subscription or assignment of one consumer."""

    def __init__(
        self, client: ottla.Client, consumer: ottla.Consumer, config: dict[str, Any]
    ) -> None:
        self._client = client
        self._consumer = consumer
        self._grouped = config["group_id"] is not None
        self._commits = self._grouped and config["enable_auto_commit"]
        self._interval = config["metadata_max_age_ms"] / 1000
        self._without_internal = config["exclude_internal_topics"]
        self._callbacks: dict[str, Any] = {}
        self._pattern: re.Pattern[str] | None = None
        self._missing: set[str] = set()
        self._kind: str | None = None
        self._reading = False
        self._patience = _LEAST_WAIT
        self.topics: set[str] | None = None
        self.due = float("inf")

    @property
    def active(self) -> bool:
        """Whether there is anything to poll for."""
        return self._kind == "assigned" or self._reading

    def subscribe_to(
        self, topics: Sequence[str], pattern: str | None, callbacks: dict[str, Any]
    ) -> None:
        """Subscribe to topics or to a pattern; replaces an earlier subscription.

        Raises:
            IllegalStateError: the consumer reads in another way already.
            ValueError: there are neither topics nor a pattern, or a name is invalid.
        """
        if not topics and not pattern:
            raise ValueError("Must provide topics or pattern")
        if topics and pattern:
            raise IllegalStateError(_CHOOSE_ONE)
        self._become("pattern" if pattern else "topics")
        if pattern:
            self._pattern = re.compile(pattern)
            self._callbacks = callbacks
            self.topics = set()
            self.due = 0.0
            return
        for topic in topics:
            check_topic_name(topic)
        self._callbacks = callbacks
        self.topics = set(topics)
        if self._grouped:
            self._consumer.subscribe(sorted(self.topics), **callbacks)
            self._reading = True
        else:
            self.due = 0.0

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions.

        Raises:
            IllegalStateError: the consumer has subscribed.
        """
        self._become("assigned")
        self._commit_what_was_read()
        self._consumer.assign([(each[0], each[1]) for each in partitions])

    def unsubscribe(self) -> None:
        """Give everything up."""
        self._commit_what_was_read()
        self._consumer.unsubscribe()
        self._kind = self.topics = self._pattern = None
        self._reading = False
        self._missing = set()
        self.due = float("inf")

    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read."""
        partitions = {TopicPartition(*each) for each in self._consumer.assignment()}
        return {each for each in partitions if each.topic not in self._missing}

    def refresh(self, timeout: float) -> None:
        """Look topics and partitions up if it is time to.

        It waits for the timeout, or a little longer: from a tenth of a second, if nothing is known
        yet, to a second after several calls without a response.
        """
        if time.monotonic() < self.due:
            return
        self.due = time.monotonic() + _SOON
        try:
            cluster = self._client.cluster(
                all_topics=True, refresh=True, timeout=max(self._patience, min(timeout, _SOON))
            )
        except errors.TimeoutError:
            self._patience = min(_SOON, 2 * self._patience)
            return
        self._patience = _LEAST_WAIT
        known = {
            topic.name: topic
            for topic in cluster.topics.values()
            if topic.error is None and topic.partitions
        }
        if self._pattern is not None:
            self._match(known)
        if not self._grouped and self.topics is not None:
            self._read_all_partitions(known)
        if not self._missing:
            self.due = time.monotonic() + self._interval

    def _commit_what_was_read(self) -> None:
        """Commit before assigned partitions are left: no rebalance does it, as in a group."""
        if self._commits and self._kind == "assigned" and self._consumer.assignment():
            self._consumer.commit_async()

    def _become(self, kind: str) -> None:
        if self._kind not in (None, kind):
            raise IllegalStateError(_CHOOSE_ONE)
        self._kind = kind

    def _match(self, known: dict[str, ottla.Topic]) -> None:
        pattern = self._pattern
        matched = {
            name
            for name, topic in known.items()
            if pattern is not None
            and pattern.match(name)
            and not (self._without_internal and topic.internal)
        }
        if matched == self.topics:
            return
        self.topics = matched
        if not self._grouped:
            return
        self._reading = bool(matched)
        if matched:
            self._consumer.subscribe(sorted(matched), **self._callbacks)
        else:
            self._consumer.unsubscribe()

    def _read_all_partitions(self, known: dict[str, ottla.Topic]) -> None:
        self._missing = {topic for topic in self.topics or () if topic not in known}
        wanted = [
            (topic, partition)
            for topic in sorted(self.topics or ())
            # A topic that does not exist yet: reading its first partition may create it.
            for partition in (sorted(known[topic].partitions) if topic in known else (0,))
        ]
        if wanted != self._consumer.assignment():
            self._consumer.assign(wanted)
        self._reading = bool(wanted)
