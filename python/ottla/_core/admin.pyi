"""Creating and deleting topics, and the offsets of groups."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, final

from typing_extensions import Unpack

from ottla._core.client import Client
from ottla.config_types import CommonConfig

@final
class Admin:
    """A client that creates and deletes topics, and reads and alters the offsets of groups.

    Use it in a ``with`` block, or ``close()`` it.

    Args:
        bootstrap: addresses as ``host:port``, or a ``Client`` whose connections it shares.
        config: configuration by Kafka's dotted names. Keyword arguments are the same names with
            underscores and take precedence. See ``Client``.
        timeout: seconds to find the cluster, as for ``Client``.

    Raises:
        AuthenticationError: the credentials, or the certificate of either side, were rejected.
        BootstrapError: no bootstrap server could be used; the message lists each with its cause.
        ConfigError: a key or a value is invalid, or a client is combined with configuration.
    """

    def __new__(
        cls,
        bootstrap: str | Sequence[str] | Mapping[str, Any] | Client | None = None,
        config: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        **kwargs: Unpack[CommonConfig],
    ) -> Admin: ...
    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Create a topic, and wait until all its partitions have leaders.

        Args:
            name: the topic's name.
            partitions: the number of partitions. Default: the cluster's ``num.partitions``.
            replication: the number of replicas. Default: the cluster's
                ``default.replication.factor``.
            configs: the topic's configuration, by Kafka's names, such as ``retention.ms``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            TopicExistsError: the topic exists; with ``maybe_done``, this call may have created it.
            ConfigError: the number of partitions or replicas, or the configuration, is invalid.
            AuthorizationError: the principal may not create the topic.
            TimeoutError: the topic was not created, or has no leaders, in time.
        """

    def delete_topic(self, name: str, *, timeout: float | None = None) -> None:
        """Delete a topic.

        Args:
            name: the topic's name.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            UnknownTopicError: the topic does not exist; with ``maybe_done``, this call may have
                deleted it.
            AuthorizationError: the principal may not delete the topic.
            TimeoutError: the controller did not respond in time.
        """

    def alter_consumer_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[tuple[str, int], int],
        *,
        timeout: float | None = None,
    ) -> None:
        """Set the committed offsets of a group without members; creates the group if needed.

        Args:
            group_id: the group (``group.id``).
            offsets: the offset of the next record to read, by ``(topic, partition)``.
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Raises:
            AuthorizationError: the principal may not commit for the group or a topic.
            FencedError: the group has members; only they may commit.
            UnknownTopicError: a topic or a partition does not exist.
        """

    def list_consumer_group_offsets(
        self, group_id: str, *, timeout: float | None = None
    ) -> dict[tuple[str, int], int]:
        """Return the offsets that a group has committed.

        Args:
            group_id: the group (``group.id``).
            timeout: seconds. Default: ``default.api.timeout.ms``.

        Returns:
            The offset of the next record to read, by ``(topic, partition)``.

        Raises:
            AuthorizationError: the principal may not read the group's offsets.
            TimeoutError: the group's coordinator did not respond in time.
        """

    def close(self) -> None:
        """Close the connections, unless they belong to a shared client."""

    def __enter__(self) -> Admin: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
