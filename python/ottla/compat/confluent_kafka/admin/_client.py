"""``AdminClient``: the calls of all areas in one class.

Invariants: constructing it needs no broker; a client that was closed raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from ottla.admin import cluster
from ottla.admin.operation_call import Call
from ottla.compat.confluent_kafka._config import arguments, settings_of
from ottla.compat.confluent_kafka._handle import seconds_of
from ottla.compat.confluent_kafka._model import Node
from ottla.compat.confluent_kafka.admin import _options
from ottla.compat.confluent_kafka.admin._acl import operations_of
from ottla.compat.confluent_kafka.admin._acl_calls import AclCalls
from ottla.compat.confluent_kafka.admin._base import HANDLE_CLOSED
from ottla.compat.confluent_kafka.admin._cluster import DescribeClusterResult
from ottla.compat.confluent_kafka.admin._config_calls import ConfigCalls
from ottla.compat.confluent_kafka.admin._group_calls import GroupCalls
from ottla.compat.confluent_kafka.admin._group_offset_calls import GroupOffsetCalls
from ottla.compat.confluent_kafka.admin._metadata_calls import MetadataCalls
from ottla.compat.confluent_kafka.admin._partition_calls import PartitionCalls
from ottla.compat.confluent_kafka.admin._polling import Polling
from ottla.compat.confluent_kafka.admin._topic_calls import TopicCalls
from ottla.compat.confluent_kafka.admin._user_calls import UserCalls


class AdminClient(
    TopicCalls,
    ConfigCalls,
    AclCalls,
    GroupCalls,
    GroupOffsetCalls,
    UserCalls,
    PartitionCalls,
    MetadataCalls,
):
    """A client that manages a cluster.

    Its calls return futures at once, of which each item of a call has its own. They run on at most
    eight threads.

    Args:
        conf: the configuration, by librdkafka's names.
        kwargs: more of it; ``logger`` is the application's logger.

    Raises:
        KafkaException: the configuration is invalid.
        TypeError: it is no mapping, or a callback is not callable.
    """

    def __init__(self, conf: Mapping[str, Any], **kwargs: Any) -> None:
        settings = settings_of(arguments((conf,), kwargs), "admin")
        self._open(settings)
        self._polling = Polling(settings, self._connections, self._threads)

    def describe_cluster(self, **kwargs: Any) -> Future[DescribeClusterResult]:
        """Describe the cluster.

        Args:
            kwargs: ``request_timeout``: seconds for the call. Default: ``socket.timeout.ms``.
                ``include_authorized_operations``: whether to ask what the principal may do.

        Returns:
            A future of the description.

        Raises:
            TypeError, ValueError: an argument is invalid.
        """
        _options.check_known(kwargs, "request_timeout", "include_authorized_operations")
        authorized = _options.flag(kwargs, "include_authorized_operations")
        self._check_open()
        timeout = self._request_timeout(kwargs)

        async def describe(call: Call) -> DescribeClusterResult:
            found = await cluster.describe_cluster(
                call, fenced=False, authorized_operations=authorized
            )
            nodes = {
                each.id: Node(each.id, each.host, each.port, each.rack) for each in found.brokers
            }
            controller = None if found.controller is None else nodes.get(found.controller)
            return DescribeClusterResult(
                controller,
                list(nodes.values()),
                found.cluster_id,
                operations_of(found.authorized_operations),
            )

        return self._start_one("describing the cluster", timeout, describe)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Authenticate new connections with other credentials.

        Args:
            username: the name, for PLAIN and SCRAM.
            password: the password.

        Raises:
            TypeError: one is no str.
            KafkaException: one is empty.
        """
        self._check_open(HANDLE_CLOSED)
        self._connections.set_credentials(username, password)

    def poll(self, timeout: float) -> int:
        """Serve the callbacks ``error_cb``, ``throttle_cb`` and ``stats_cb``.

        Args:
            timeout: seconds to wait for the first event; a negative number for no limit.

        Returns:
            The number of callbacks that were called.
        """
        seconds = seconds_of(timeout)
        self._check_open()
        return self._polling.poll(seconds)

    def __len__(self) -> int:
        return 0 if self._settings is None else len(self._threads)

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        exc_traceback: TracebackType | None,
    ) -> None:
        """Close the client: its calls fail."""
        if self._settings is not None:
            self._settings = None
            self._threads.close(finish=False)
            self._connections.close()
