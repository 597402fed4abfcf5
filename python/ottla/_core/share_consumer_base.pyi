"""The methods that both share consumers share."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import disjoint_base

from ottla._core.aliases import AcknowledgementCommitCallback, TopicPartition
from ottla._core.records import Record
from ottla._core.request_statistics import RequestStatistics
from ottla._internal.acknowledge_type import AcknowledgeType
from ottla._internal.connections import Connections
from ottla._internal.metrics import Metrics

@disjoint_base
class ShareConsumerBase:
    """The methods that ``ShareConsumer`` and ``AsyncShareConsumer`` share; none of them waits."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to topics as a member of the share group; replaces an earlier subscription.

        The consumer joins the group with the next poll or iteration.

        Args:
            topics: a list of topics. Topics that do not exist yet are read once they do.

        Raises:
            ConfigError: ``topics`` is empty.
            ArgumentTypeError: ``topics`` is a single string.
        """
    def unsubscribe(self) -> None:
        """Leave the group. Delivered records can still be acknowledged and committed."""
    def subscription(self) -> list[str]:
        """Return the subscribed topics, in order."""
    def assignment(self) -> list[TopicPartition]:
        """Return the partitions that this member reads, as of the last poll.

        Other members of the group may read the same partitions.

        Returns:
            Pairs of a topic and a number, in order.
        """
    def acknowledge(self, record: Record[Any, Any], type: AcknowledgeType | None = None) -> None:
        """Acknowledge a record of the last poll; the next poll, commit or close sends it.

        Until it is sent, a later acknowledgement of the record replaces it.

        Args:
            record: the record.
            type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.

        Raises:
            ConfigError: the type is unknown.
            StateError: the last poll did not deliver the record, or
                ``share.acknowledgement.mode`` is ``implicit``.
        """
    def acknowledge_offsets(
        self,
        topic: str,
        partition: int,
        first_offset: int,
        last_offset: int | None = None,
        type: AcknowledgeType | None = None,
    ) -> None:
        """Acknowledge delivered records by offset, such as one that cannot be deserialized.

        Args:
            topic: the topic.
            partition: the partition.
            first_offset: the offset of the first record.
            last_offset: the offset of the last record, inclusive. Default: ``first_offset``.
            type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.

        Raises:
            ConfigError: the type is unknown.
            StateError: the last poll delivered none of the records, or
                ``share.acknowledgement.mode`` is ``implicit``.
        """
    def acknowledge_all(self, type: AcknowledgeType | None = None) -> None:
        """Acknowledge all records of the last poll that are not acknowledged yet.

        Args:
            type: an ``ottla.AcknowledgeType``. Default: ``ACCEPT``.

        Raises:
            ConfigError: the type is unknown.
            StateError: ``share.acknowledgement.mode`` is ``implicit``.
        """
    def commit_async(self) -> None:
        """Send the acknowledgements of delivered records without waiting for the results.

        See ``commit``. The acknowledgement commit callback gets the results; without it, failures
        are logged.
        """
    def set_acknowledgement_commit_callback(
        self, callback: AcknowledgementCommitCallback | None
    ) -> None:
        """Set the callback for results of acknowledgements; replaces an earlier one.

        A later poll, commit or close calls it on its own thread or task, once for each partition
        of a request, with an error or None, and the acknowledged offsets: a dict with one entry,
        pairs of a first and a last offset by ``(topic, partition)``. A record is delivered again
        only after the result of its earlier acknowledgement. Without a callback, failures are
        logged.

        Args:
            callback: the callback, or None for none.

        Raises:
            TypeError: the callback is not callable.
        """
    @property
    def acquisition_lock_timeout(self) -> float | None:
        """The seconds for which a record stays acquired (``group.share.record.lock.duration.ms``).

        None before the first records arrived.
        """
    @property
    def member_id(self) -> str:
        """The id of this member in its group; empty before the first poll."""
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
    def _closing_failed(self, error: str) -> None: ...
