"""The gateway behind ``ottla.testing.Gateway`` and ``ottla gateway``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

@final
class Gateway:
    """The gateway behind ``ottla.testing.Gateway`` and ``ottla gateway``."""

    def __new__(
        cls,
        config: Mapping[str, Any],
        *,
        listen: tuple[str, int],
        advertised_host: str,
        ports: tuple[int, int] | None = None,
        first_broker: int = 0,
        server_name: str | None = None,
        tls: Mapping[str, Any] | None = None,
        client_auth: bool = False,
        users: Path | None = None,
        allow_plaintext_passwords: bool = False,
        reauthenticate: float | None = None,
        limits: dict[str, Any] | None = None,
        rules: dict[str, Any] | None = None,
        allow_faults: bool = False,
        keep_ended: bool = False,
    ) -> Gateway: ...
    @property
    def bootstrap(self) -> str:
        """The address at which clients bootstrap, as ``host:port``."""
    @property
    def brokers(self) -> dict[int, str]:
        """The address of each known broker behind the gateway as ``host:port``, by id."""
    def connections(self) -> str:
        """Return the open client connections as a JSON list."""
    def totals(self) -> str:
        """Return what all connections did since the start as a JSON object."""
    def take_ended(self) -> str:
        """Return the connections that ended since the last call as a JSON list.

        They are the oldest first, and are kept from the first call on.
        """
    def events(self, after: int) -> str:
        """Return what happened after the event with this number as a JSON list."""
    def find_brokers(self) -> None:
        """Wait until the gateway has an address for each broker of the cluster."""
    def reload(self, config: Mapping[str, Any]) -> None:
        """Read all files again, and follow the cluster of this configuration from now on.

        Open connections stay. If a file or the configuration cannot be used, nothing changes.
        """
    def inject(
        self,
        reaction: dict[str, object],
        *,
        api: str | None = None,
        broker: int | None = None,
        topic: str | None = None,
        partition: int | None = None,
        client_id: str | None = None,
        skip: int = 0,
        times: int | None = None,
    ) -> int:
        """Inject a fault, a dict with one key, and return its id."""
    def fault_hits(self, fault: int) -> int:
        """Return the number of requests or connections that a fault has hit."""
    def remove_fault(self, fault: int) -> bool:
        """Remove a fault; return whether it was there."""
    def clear_faults(self) -> int:
        """Remove all faults; return how many there were."""
    def close(self, timeout: float | None = None) -> int:
        """Stop accepting connections, let requests in flight finish, and close.

        Return the number of connections that were cut off.
        """

@final
class GatewayStatus:
    """The status of a gateway over HTTP, until it is closed.

    Args:
        gateway: the gateway.
        host: the IP address to listen at.
        port: the port; 0 takes any free one.

    Raises:
        ConfigError: the address cannot be opened.
    """

    def __new__(cls, gateway: Gateway, host: str, port: int) -> GatewayStatus: ...
    @property
    def address(self) -> str:
        """The address at which it listens, as ``host:port``."""
    def close(self) -> None:
        """Stop serving."""

@final
class GatewayAccessLog:
    """The access log of a gateway: a line of JSON for each connection that has ended.

    Args:
        gateway: the gateway.
        path: the file to append to; ``-`` for standard error.

    Raises:
        ConfigError: the file cannot be opened.
    """

    def __new__(cls, gateway: Gateway, path: Path) -> GatewayAccessLog: ...
    def write(self) -> None:
        """Let the connections that have ended be written, without waiting for it.

        Those that cannot be written are counted; the first failure of several is a warning.
        """

    def flush(self, timeout: float | None) -> bool:
        """Write the connections that have ended, and wait for it at most this many seconds.

        Return whether it is done.
        """

    def reopen(self) -> None:
        """Open the file again, as after another program has renamed it."""
