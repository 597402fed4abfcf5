"""What both consumers share."""

import re
from collections.abc import Iterable, Sequence

from typing_extensions import disjoint_base

from ottla._core.aliases import RebalanceCallback, TopicPartition
from ottla._core.connection_status import ConnectionStatus
from ottla._core.group import GroupMetadata
from ottla.metrics import Metrics

@disjoint_base
class ConsumerBase:
    """The methods that ``Consumer`` and ``AsyncConsumer`` share. They do not wait."""

    def subscribe(
        self,
        topics: Sequence[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_assigned: RebalanceCallback | None = None,
        on_revoked: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        """Subscribe to topics as a member of the group; replaces an earlier subscription.

        The consumer joins the group with the next poll or iteration.

        Callbacks are called inside a poll, by the thread that polls. They may commit, seek and
        pause, but not poll. The poll raises what a callback raises.

        Args:
            topics: the topics; those that do not exist yet are read once they do.
            pattern: instead of topics, a regular expression for whole topic names: in Java's
                syntax, or with ``group.protocol=consumer`` in that of RE2, as the brokers match it.
            on_assigned: called with the consumer and the new partitions, as topic and number, after
                each rebalance; there may be none.
            on_revoked: called with the consumer and partitions before it gives them up, in time to
                commit.
            on_lost: called with the consumer and partitions that it has lost, when a commit would
                be rejected. Default: ``on_revoked``.

        Raises:
            ConfigError: there is no ``group.id``, the pattern is invalid, or both or neither of
                topics and pattern are given.
            StateError: partitions are assigned by hand.
            TypeError: ``topics`` is a single text, or a callback is not callable.
        """

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without group membership; replaces an earlier assignment.

        Partitions that were assigned before keep their position. The others begin at the offset
        that the group has committed, or where ``auto.offset.reset`` says.

        Args:
            partitions: pairs of a topic and a partition's number.

        Raises:
            StateError: topics are subscribed to.
        """

    def assignment(self) -> list[TopicPartition]:
        """Return the assigned partitions as pairs of a topic and a number, in order."""

    def subscription(self) -> list[str] | str:
        """Return the topics that were subscribed to, or the pattern as text."""

    def seek(
        self, topic: str, partition: int, offset: int, *, leader_epoch: int | None = None
    ) -> None:
        """Set a partition's position. Records that were fetched before are dropped.

        Args:
            topic: the topic.
            partition: the partition.
            offset: the offset of the next record to read.
            leader_epoch: the leader epoch of the record before it, if known. With it, a log that
                was truncated below the offset is detected (KIP-320).

        Raises:
            ConfigError: the offset is negative.
            StateError: the partition is not assigned.
        """

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Continue at the first offset; it is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue at the end of the log; it is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def pause(self, *partitions: TopicPartition) -> None:
        """Return no records of partitions until ``resume``.

        Keep polling: a member that does not poll is removed from its group
        (``max.poll.interval.ms``).

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def resume(self, *partitions: TopicPartition) -> None:
        """Return records of paused partitions again.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def paused(self) -> list[TopicPartition]:
        """Return the paused partitions as pairs of a topic and a number, in order."""

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return the number of records between each partition's position and its end.

        It is the difference to the high watermark of the last fetch, or with ``read_committed`` to
        the last stable offset; no request is sent.

        Returns:
            The lag by ``(topic, partition)``; None if it is not known yet.
        """

    def group_metadata(self) -> GroupMetadata:
        """Return the identity of this consumer in its group.

        Raises:
            ConfigError: there is no ``group.id``.
        """

    def connections(self) -> list[ConnectionStatus]:
        """Return the state of each connection, by broker, without waiting.

        On a shared client, those of its other users are included.
        """

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        On a shared client, its other users are included.

        See ``ottla.Metrics`` for their meaning.
        """

    def wakeup(self) -> None:
        """End the poll that waits, or else the next one, with ``WakeupError``.

        Any thread may call it.
        """

    @property
    def closed(self) -> bool:
        """Whether the consumer was closed."""

    def _stop_auto_commit(self) -> None: ...
    def _closing_failed(self, error: str) -> None: ...
