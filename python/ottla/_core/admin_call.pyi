"""The requests of one call of ``Admin``."""

from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime
from typing import Any, final

from ottla._core.offsets import OffsetAndTimestamp
from ottla.errors import KafkaError

@final
class AdminCall:
    """The requests of one call of ``Admin``, under one deadline.

    Requests are tuples of the name of an API, the destination (``"any"``, ``"controller"`` or the
    id of a broker), forms of the message as dicts, the highest version, whether it changes
    something, and whether to check only that the broker supports it. The first form is sent whose
    fields all exist in the version. For each, the result is a tuple of the version, the response as
    a dict, and whether an earlier attempt may have taken effect; or the error.
    """
    def send(
        self, requests: Sequence[tuple[str, str | int, list[dict[str, Any]], int, bool, bool]]
    ) -> list[tuple[int, dict[str, Any], bool] | KafkaError]:
        """Send requests at the same time, and wait for all responses.

        Args:
            requests: the requests.

        Returns:
            The responses and errors, in the order of the requests.
        """
    def send_async(
        self, requests: Sequence[tuple[str, str | int, list[dict[str, Any]], int, bool, bool]]
    ) -> Awaitable[list[tuple[int, dict[str, Any], bool] | KafkaError]]:
        """Send requests at the same time, for asyncio.

        Args:
            requests: the requests.

        Returns:
            A future of the responses and errors, in the order of the requests.
        """
    def list_offsets(
        self, specs: Mapping[tuple[str, int], str | int | datetime], isolation_level: str | None
    ) -> dict[tuple[str, int], OffsetAndTimestamp | KafkaError]:
        """Look up offsets of partitions, as ``Client.list_offsets``.

        Args:
            specs: which offset, by ``(topic, partition)``.
            isolation_level: None for the client's.

        Returns:
            The offsets and errors by ``(topic, partition)``.
        """
    def list_offsets_async(
        self, specs: Mapping[tuple[str, int], str | int | datetime], isolation_level: str | None
    ) -> Awaitable[dict[tuple[str, int], OffsetAndTimestamp | KafkaError]]:
        """Look up offsets of partitions, for asyncio.

        Args:
            specs: which offset, by ``(topic, partition)``.
            isolation_level: None for the client's.

        Returns:
            A future of the offsets and errors by ``(topic, partition)``.
        """
    def pause(self, code: int, message: str) -> None:
        """Wait before something is tried again, and refresh the metadata.

        Args:
            code: Kafka's error code.
            message: what failed.

        Raises:
            TimeoutError: the deadline leaves no time.
        """
    def pause_async(self, code: int, message: str) -> Awaitable[None]:
        """Wait before something is tried again, for asyncio.

        Args:
            code: Kafka's error code.
            message: what failed.

        Raises:
            TimeoutError: the deadline leaves no time.
        """

def error_of_code(
    code: int,
    message: str | None = None,
    *,
    request: tuple[str, str] | None = None,
    topic: str | None = None,
    partition: int | None = None,
    maybe_done: bool = False,
) -> KafkaError:
    """Return the error for an error code of a broker.

    Args:
        code: Kafka's error code.
        message: what the broker says about it, or None.
        request: Kafka's name of the API of the refused request, and the group that it is
            about or an empty string; or None.
        topic: the topic, or None.
        partition: the partition, or None.
        maybe_done: whether the operation may have taken effect nevertheless.

    Returns:
        The exception.
    """

def no_broker_to_ask() -> KafkaError:
    """Return the error of a call for what only brokers know, while the cluster has none.

    Returns:
        The exception, a ``ConnectionError``.
    """
