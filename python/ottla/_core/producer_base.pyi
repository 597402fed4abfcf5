"""The methods that both producers share."""

from typing_extensions import disjoint_base

from ottla._core.request_statistics import RequestStatistics
from ottla._internal.connections import Connections
from ottla._internal.metrics import ProducerMetrics, TopicMetrics

@disjoint_base
class ProducerBase:
    """The methods that ``Producer`` and ``AsyncProducer`` share; none of them waits."""

    def begin_transaction(self) -> None:
        """Begin a transaction; the records sent from now on belong to it. Costs no request.

        Raises:
            FencedError: a newer producer with the same id has taken over; close this one.
            StateError: ``init_transactions`` was not called, or a transaction is open.
            TransactionAbortableError: the open transaction has failed; abort it.
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

        The connections of a shared client include those of its other users.
        """

    def metrics(self) -> ProducerMetrics:
        """Return the metrics of this producer and its client, by the Java client's names.

        ``ottla.ProducerMetrics`` describes them.
        """

    def topic_metrics(self) -> dict[str, TopicMetrics]:
        """Return the metrics of each topic that this producer has sent to, by topic.

        ``ottla.TopicMetrics`` describes them.
        """

    def request_statistics(self) -> RequestStatistics:
        """Return statistics of the client's requests: by API, the slowest, and retries.

        On a shared client, they include its other users.
        """

    @property
    def buffered_bytes(self) -> int:
        """The bytes of ``buffer.memory`` that hold unacknowledged records."""
