"""What a consumer reads: topics, a pattern, or assigned partitions, one of them at a time.

A pattern matches the beginning of a name, the core's the whole name. Invariant: assigned partitions
are committed before they are given up, which no rebalance does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import ottla
from ottla.compat.kafka._topic_names import check_topic_name
from ottla.compat.kafka.cluster import ClusterMetadata
from ottla.compat.kafka.errors import IllegalStateError
from ottla.compat.kafka.structs import TopicPartition

__all__ = ["Subscription"]

_CHOOSE_ONE = "Choose one way to subscribe: topics, a pattern, or assigned partitions."
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


class Subscription:
    """The subscription or assignment of one consumer."""

    def __init__(
        self, consumer: ottla.Consumer, cluster: ClusterMetadata, config: dict[str, Any]
    ) -> None:
        self._consumer = consumer
        self._cluster = cluster
        self._grouped = config["group_id"] is not None
        self._commits = self._grouped and config["enable_auto_commit"]
        self._without_internal = config["exclude_internal_topics"]
        self._kind: str | None = None
        self._topics: set[str] = set()
        self._pattern = re.compile("")

    @property
    def active(self) -> bool:
        """Whether there is anything to poll for."""
        return self._kind is not None

    @property
    def topics(self) -> set[str] | None:
        """The topics of the subscription, for a pattern those that are known; None without one."""
        if self._kind == "topics":
            return set(self._topics)
        if self._kind != "pattern":
            return None
        return set(filter(self._pattern.match, self._cluster.topics(self._without_internal)))

    def subscribe_to(
        self,
        topics: Sequence[str],
        pattern: str | re.Pattern[str] | None,
        callbacks: dict[str, Any],
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
        # Listeners are those of a group.
        options = callbacks if self._grouped else {}
        if pattern:
            self._check("pattern")
            compiled = re.compile(pattern)
            self._consumer.subscribe(pattern=_whole(compiled), **options)
            self._kind, self._pattern = "pattern", compiled
            return
        self._check("topics")
        for topic in topics:
            check_topic_name(topic)
        self._consumer.subscribe(sorted(set(topics)), **options)
        self._kind, self._topics = "topics", set(topics)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions.

        Raises:
            IllegalStateError: the consumer has subscribed.
        """
        self._check("assigned")
        self._commit_what_was_read()
        self._consumer.assign([(each[0], each[1]) for each in partitions])
        self._kind = "assigned"

    def unsubscribe(self) -> None:
        """Give everything up."""
        self._commit_what_was_read()
        self._consumer.unsubscribe()
        self._kind = None

    def _commit_what_was_read(self) -> None:
        if self._commits and self._kind == "assigned":
            self._consumer.commit_async()

    def _check(self, kind: str) -> None:
        if self._kind not in (None, kind):
            raise IllegalStateError(_CHOOSE_ONE)


def _whole(pattern: re.Pattern[str]) -> str:
    """Return the pattern of the whole names that begin with a match."""
    flags = "".join(letter for letter, flag in _FLAGS.items() if pattern.flags & flag)
    return f"(?{flags}:{pattern.pattern})(?s:.*)"
