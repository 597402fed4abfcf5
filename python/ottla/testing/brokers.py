"""The brokers of a mock cluster: the methods of ``MockCluster`` on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ottla._internal.arguments import integer, text
from ottla.errors import ConfigError

if TYPE_CHECKING:
    from ottla._core import MockCluster as CoreCluster


class BrokerOperations:
    """The methods of ``MockCluster`` on brokers."""

    _core: CoreCluster

    def advertise(self, broker: int, address: str) -> None:
        """Advertise another address for a broker, as wrong ``advertised.listeners`` do.

        Args:
            broker: the broker's id.
            address: the address as ``host:port``, at which the broker need not listen.

        Raises:
            ConfigError: there is no such broker, or the address has another form.
        """
        host, _, port = text("address", address).rpartition(":")
        # Python does not parse integers of thousands of digits.
        if not host or not port.isascii() or not port.isdecimal() or len(port) > 5:
            raise ConfigError(f"address is {address!r}: expected host:port")
        self._core.advertise(broker, host.strip("[]"), int(port))

    def stop_broker(self, broker: int) -> None:
        """Stop a broker, as a crash does: its connections break, and its leaderships move.

        Args:
            broker: the broker's id.

        Raises:
            ConfigError: there is no such broker.
            OSError: it is being started or stopped.
        """
        self._core.stop_broker(self._existing(broker))

    def start_broker(self, broker: int) -> None:
        """Start a stopped broker at its old address.

        Args:
            broker: the broker's id.

        Raises:
            ConfigError: there is no such broker.
            OSError: it is being started or stopped, or its port is in use.
        """
        self._core.start_broker(self._existing(broker))

    def connections(self, broker: int) -> int:
        """Return the number of a broker's connections.

        Args:
            broker: the broker's id.
        """
        return self._core.connections(self._existing(broker))

    def _existing(self, broker: int) -> int:
        """Return the id of a broker that exists.

        Raises:
            ConfigError: there is no such broker.
        """
        known = self._core.brokers
        if integer("broker", broker) not in known:
            ids = ", ".join(map(str, sorted(known)))
            raise ConfigError(f"broker {broker} does not exist: the brokers are {ids}")
        return broker
