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
    ) -> Gateway: ...
    @property
    def bootstrap(self) -> str:
        """The address at which clients bootstrap, as ``host:port``."""
    @property
    def brokers(self) -> dict[int, str]:
        """The address of each known broker behind the gateway as ``host:port``, by id."""
    def sessions(self) -> list[dict[str, Any]]:
        """Return the open client connections as plain values."""
    def totals(self) -> dict[str, Any]:
        """Return what all connections did since the start, as plain values."""
    def take_ended(self) -> tuple[list[dict[str, Any]], int]:
        """Return the connections that ended since the last call, and how many are missing.

        They are plain values, the oldest first, and are kept from the first call on.
        """
    def events(self, after: int) -> list[dict[str, Any]]:
        """Return what happened after the event with this number as plain values."""
    def close(self, timeout: float | None = None) -> int:
        """Stop accepting connections, let requests in flight finish, and close.

        Return the number of connections that were cut off.
        """
