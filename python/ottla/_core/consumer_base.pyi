"""The methods that both consumers share."""

import re
from collections.abc import Iterable, Sequence

from typing_extensions import disjoint_base

from ottla._core.aliases import RebalanceCallback, TopicPartition
from ottla._core.group import GroupMetadata
from ottla._core.offsets import Watermarks
from ottla._core.request_statistics import RequestStatistics
from ottla._internal.connections import Connections
from ottla._internal.metrics import Metrics

@disjoint_base
class ConsumerBase:
    """The methods that ``Consumer`` and ``AsyncConsumer`` share; none of them waits."""

    def subscribe(
        self,
        topics: Sequence[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        on_assigned: RebalanceCallback | None = None,
        on_revoked: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        """Subscribe to topics; replaces an earlier subscription.

        With a ``group.id``, the consumer joins the group with the next poll or iteration, and the
        group assigns partitions. Without one, it reads all partitions of the topics, new ones
        included, from ``auto.offset.reset``; its positions exist only in memory.

        Callbacks run inside a poll, on the thread that polls. They may commit, seek and pause, but
        not poll. The poll raises a callback's exception.

        Args:
            topics: a list of topics. Topics that do not exist yet are read once they do.
            pattern: instead of topics, a regular expression that matches whole topic names. It is
                in Java's syntax, or in RE2's in a group with ``group.protocol=consumer``. The flags
                of a compiled ``re.Pattern`` count.
            on_assigned: called after each rebalance with the consumer and the added partitions, as
                a possibly empty list of topic and number.
            on_revoked: called with the consumer and the partitions that it is about to give up, in
                time to commit.
            on_lost: called with the consumer and the partitions that it has lost; a commit for them
                would be rejected. Default: ``on_revoked``.

        Raises:
            ConfigError: the pattern is invalid, or not exactly one of topics and pattern is passed.
            StateError: partitions are assigned with ``assign``.
            ArgumentTypeError: ``topics`` is a single string, or ``pattern`` is none.
            TypeError: a callback is not callable.
        """

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read exactly these partitions, without group membership; replaces an earlier assignment.

        Partitions that were assigned before keep their positions. Others start at the group's
        committed offset, or as ``auto.offset.reset`` says.

        Args:
            partitions: pairs of a topic and a partition's number.

        Raises:
            StateError: topics are subscribed to.
        """

    def assignment(self) -> list[TopicPartition]:
        """Return the assigned partitions as pairs of a topic and a number, in order."""

    def subscription(self) -> list[str] | str:
        """Return the subscribed topics as a list, or the pattern as a string."""

    def seek(
        self, topic: str, partition: int, offset: int, *, leader_epoch: int | None = None
    ) -> None:
        """Set a partition's position, and drop the records that were fetched for it.

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
        """Continue at the beginning of the log; its offset is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Continue at the end of the log; its offset is looked up in the background.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop returning records of partitions until ``resume``.

        Keep polling: a member that does not poll for ``max.poll.interval.ms`` leaves its group.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def resume(self, *partitions: TopicPartition) -> None:
        """Resume returning records of paused partitions.

        Args:
            partitions: pairs of a topic and a number. Default: all assigned partitions.

        Raises:
            StateError: a partition is not assigned.
        """

    def paused(self) -> list[TopicPartition]:
        """Return the paused partitions as pairs of a topic and a number, in order."""

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return the number of records between each partition's position and its end.

        The end is the high watermark of the last fetch, or with ``read_committed`` the last stable
        offset. No request is sent.

        Returns:
            The lag by ``(topic, partition)``; None if it is not known yet.
        """

    def watermarks(self) -> dict[TopicPartition, Watermarks | None]:
        """Return the bounds of each partition's log, as the last fetch has reported them.

        No request is sent.

        Returns:
            ``Watermarks`` by ``(topic, partition)``; None if they are not known yet.
        """

    def group_metadata(self) -> GroupMetadata:
        """Return the identity of this consumer in its group.

        A subscribed consumer with ``group.protocol=consumer`` has its member id before it joins.

        Raises:
            ConfigError: there is no ``group.id``.
        """

    @property
    def member_id(self) -> str:
        """The id of this member; empty before it has one, and without a group.

        With ``group.protocol=consumer`` the consumer has it from the beginning, in other groups
        once it has joined.
        """

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Replace the user name and the password of PLAIN or SCRAM.

        Connections that are opened or authenticated again from now on use them. Others that share
        the client use them, too.

        Args:
            username: the user name.
            password: the password; it is not printed.

        Raises:
            ConfigError: the client uses neither mechanism, or an argument is empty.
        """

    def connections(self) -> Connections:
        """Return the state of each connection, by broker, without waiting.

        On a shared client, this includes the connections of its other users.
        """

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        On a shared client, they include its other users. ``ottla.Metrics`` describes each.
        """

    def request_statistics(self) -> RequestStatistics:
        """Return statistics of the client's requests: by API, the slowest, and retries.

        On a shared client, they include its other users.
        """

    def wakeup(self) -> None:
        """End the current poll, or else the next one, with ``WakeupError``; from any thread."""

    @property
    def closed(self) -> bool:
        """Whether the consumer was closed."""

    def _abandon(self) -> None: ...
    def _stop_auto_commit(self) -> None: ...
    def _closing_failed(self, error: str) -> None: ...
