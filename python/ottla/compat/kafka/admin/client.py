"""``KafkaAdminClient`` over ``ottla.Admin``, as far as ottla has the call.

Invariant: what is not here is an AttributeError, and never a call that does something else.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import ottla
from ottla.compat.kafka import _config, _defaults
from ottla.compat.kafka._errors import translating
from ottla.compat.kafka._view import ClientView, find_cluster, open_client
from ottla.compat.kafka.admin._acls import Acls
from ottla.compat.kafka.admin._cluster import ClusterCalls
from ottla.compat.kafka.admin._configs import Configs
from ottla.compat.kafka.admin._older import OlderNames
from ottla.compat.kafka.admin._transactions import TransactionCalls
from ottla.compat.kafka.admin._users import Users

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["KafkaAdminClient"]


class KafkaAdminClient(OlderNames, Configs, ClusterCalls, TransactionCalls, Users, Acls):
    """An admin client with the interface of kafka-python.

    Args:
        configs: the keyword arguments of kafka-python; see ``DEFAULT_CONFIG``.

    Raises:
        KafkaConfigurationError: an argument is unknown or invalid.
        NoBrokersAvailable: no server was found within ``bootstrap_timeout_ms``.
    """

    DEFAULT_CONFIG = _defaults.ADMIN

    def __init__(self, **configs: Any) -> None:
        self._closed = True
        self.config = _defaults.merged(self.DEFAULT_CONFIG, configs)
        _config.check_api_timeout(self.config, configs)
        _config.warn_of_no_effect("KafkaAdminClient", self.config, self.DEFAULT_CONFIG)
        self._ottla = open_client(_config.common(self.config))
        self._client = self._manager = ClientView(self._ottla)
        # With a version too: its calls look at the brokers.
        find_cluster(self._ottla, self.config)
        with translating():
            self._admin = ottla.Admin(self._ottla)
        self._closed = False

    def bootstrap_connected(self) -> bool:
        """Whether there is a connection to any broker."""
        return self._client.bootstrap_connected()

    def close(self) -> None:
        """Close all connections."""
        if not self._closed:
            self._closed = True
            self._admin.close()
            self._ottla.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
