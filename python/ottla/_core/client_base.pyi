"""The methods that both clients share."""

from typing_extensions import disjoint_base

from ottla._core.request_statistics import RequestStatistics
from ottla._internal.connections import Connections
from ottla._internal.metrics import Metrics

@disjoint_base
class ClientBase:
    """The methods that ``Client`` and ``AsyncClient`` share; none of them waits."""

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader from cached metadata, without waiting.

        Args:
            topic: the topic's name.
            partition: the partition's number.

        Returns:
            The id, or None if the partition has no leader or is not known.
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
        """Return the state of each connection, by broker, without waiting."""

    def metrics(self) -> Metrics:
        """Return the client's metrics, by the Java client's names, without waiting.

        See ``ottla.Metrics`` for their meaning.
        """

    def request_statistics(self) -> RequestStatistics:
        """Return statistics of the client's requests: by API, the slowest, and retries."""
