"""What producers and consumers share: the ottla client, and questions about the cluster.

Invariants: an object that was closed, or whose constructor never ran, raises ``RuntimeError``; a
call without a timeout waits until the cluster responds, and Ctrl-C ends it.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from typing import Any

import ottla
from ottla import errors
from ottla.compat.confluent_kafka._errors import failure, kafka_exception, raise_invalid
from ottla.compat.confluent_kafka._kafka_error import KafkaError
from ottla.compat.confluent_kafka._metadata import ClusterMetadata, cluster_metadata
from ottla.compat.confluent_kafka._oauth import CallbackTokens
from ottla.compat.confluent_kafka._settings import Settings

# Seconds of a wait without a limit: the longest that ottla takes.
FOREVER = 1e6

# Seconds after which a topic that no broker knows is reported as unknown.
_UNKNOWN_AFTER = 1.0

_LOG = logging.getLogger("ottla.compat")


def seconds_of(timeout: Any) -> float:
    """Return a timeout of confluent-kafka in seconds; below zero it has no limit."""
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"must be real number, not {type(timeout).__name__}")
    return FOREVER if timeout < 0 else float(timeout)


def require_brokers(settings: Settings, timeout: float, code: int) -> None:
    """Let a call without any broker in its configuration wait in vain, as librdkafka does.

    Raises:
        KafkaException: with ``code``, after the timeout.
    """
    if not settings.has_brokers:
        time.sleep(timeout)
        raise failure(code, "no broker is configured")


def set_credentials(client: ottla.Client, username: str, password: str) -> bool:
    """Use another user's name and password for new connections.

    Returns:
        Whether the client has a mechanism with a password; a warning says if it has none.

    Raises:
        TypeError: one of them is no str.
        KafkaException: one of them is empty.
    """
    for name, value in (("username", username), ("password", password)):
        if not isinstance(value, str):
            raise TypeError(f"{name} must be str, not {type(value).__name__}")
        if not value:
            raise_invalid(f"{name} is empty")
    try:
        client.set_sasl_credentials(username, password)
    except errors.ConfigError as error:
        _LOG.warning("set_sasl_credentials has no effect: %s", error)
        return False
    return True


class Cluster:
    """The cluster as one client sees it.

    Args:
        settings: the client's settings.
        client: the ottla client.
    """

    def __init__(self, settings: Settings, client: ottla.Client) -> None:
        self._settings = settings
        self._client = client

    def topics(self, topic: str | None, timeout: float) -> ClusterMetadata:
        """Return the metadata of one topic, or of all.

        Raises:
            KafkaException: the cluster did not respond in time.
        """
        if topic is not None and not isinstance(topic, str):
            raise TypeError(f"topic must be str, not {type(topic).__name__}")
        require_brokers(self._settings, timeout, KafkaError._TRANSPORT)
        try:
            if topic is None:
                cluster = self._client.cluster(all_topics=True, refresh=True, timeout=timeout)
                return cluster_metadata(cluster, list(cluster.topics))
            return cluster_metadata(self._with_topic(topic, timeout), [topic])
        except errors.TimeoutError as error:
            raise kafka_exception(error, KafkaError._TRANSPORT) from error
        except errors.KafkaError as error:
            raise kafka_exception(error) from error

    def id(self, timeout: float) -> str:
        """Return the cluster's id."""
        require_brokers(self._settings, timeout, KafkaError._TIMED_OUT)
        try:
            found = self._client.cluster(timeout=timeout).cluster_id
        except errors.KafkaError as error:
            raise kafka_exception(error) from error
        if found is None:
            raise failure(KafkaError._TIMED_OUT, "the brokers have not returned a cluster id")
        return found

    def connect_later(self) -> None:
        """Connect in the background, if callbacks tell of connections; calls connect themselves."""
        if self._settings.watches_connections:
            threading.Thread(target=_connect, args=(self._client,), daemon=True).start()

    def set_credentials(self, username: str, password: str) -> None:
        """Use another user's name and password for new connections."""
        set_credentials(self._client, username, password)

    def close(self) -> None:
        """Close the connections, and stop refreshing tokens."""
        self._client.close(timeout=1.0)
        tokens = self._settings.ottla.get("sasl_oauth_token")
        if isinstance(tokens, CallbackTokens):
            tokens.close()

    def _with_topic(self, topic: str, timeout: float) -> ottla.Cluster:
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            try:
                return self._client.cluster([topic], timeout=max(min(left, _UNKNOWN_AFTER), 0.0))
            except errors.UnknownTopicError:
                return self._client.cluster(timeout=max(left, 0.1))
            except errors.TimeoutError:
                if left <= _UNKNOWN_AFTER:
                    raise


class ClusterCalls:
    """The calls about the cluster that producers and consumers have."""

    @abstractmethod
    def _cluster(self) -> Cluster | None:
        """Return the cluster; None if the client is closed."""

    def _open_cluster(self) -> Cluster:
        if (cluster := self._cluster()) is None:
            raise RuntimeError("Handle has been closed")
        return cluster

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> ClusterMetadata:
        """Return the cluster's metadata: of one topic, or of all.

        Args:
            topic: a topic.
            timeout: seconds. Default: no limit.

        Raises:
            KafkaException: the cluster did not respond in time.
        """
        return self._open_cluster().topics(topic, seconds_of(timeout))

    def cluster_id(self, timeout: float = -1) -> str:
        """Return the cluster's id."""
        return self._open_cluster().id(seconds_of(timeout))

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Use another user's name and password for new connections (PLAIN and SCRAM)."""
        self._open_cluster().set_credentials(username, password)


def _connect(client: ottla.Client) -> None:
    try:
        client.cluster(timeout=FOREVER)
    except errors.KafkaError:
        return  # it was closed, or each call will raise this error
