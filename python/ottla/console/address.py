"""The address of a console: where it listens, under which names, with which token and TLS.

Invariant: without a token, a console listens on loopback only.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ottla._internal.arguments import integer, names, text
from ottla._internal.required_arguments import flag
from ottla.errors import ConfigError

_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Address:
    """Where a console is served.

    Attributes:
        host: the address at which it listens.
        port: the port; 0 takes any free one.
        names: the host names under which it may be used.
        token: the token; None admits anyone who can reach the port.
        tls: the TLS context of its connections; None for plaintext.
    """

    host: str
    port: int
    names: frozenset[str]
    token: str | None = field(repr=False)
    tls: ssl.SSLContext | None

    def url(self, port: int) -> str:
        """Return the URL to open, at the port that is in use."""
        scheme = "http" if self.tls is None else "https"
        query = f"?token={self.token}" if self.token else ""
        return f"{scheme}://{_url_host(self.host)}:{port}/{query}"


def address_of(
    *,
    host: str,
    port: int,
    allow_hosts: Sequence[str],
    token: bool,
    tls_cert: str | Path | None,
    tls_key: str | Path | None,
) -> Address:
    """Return the address of the arguments of ``serve``, with a new token if it needs one.

    Raises:
        ConfigError: an argument is wrong or of another type; or the key does not belong to the
            certificate.
    """
    token, host = flag("token", token), text("host", host)
    if not token and not is_loopback(host):
        raise ConfigError(
            f"token: without a token the console listens on loopback only, not at {host}"
        )
    port = integer("port", port)
    if not 0 <= port <= 65_535:
        raise ConfigError(f"port: expected a number from 0 to 65535, got {port}")
    allow_hosts = names("allow_hosts", allow_hosts)
    if tls_key is not None and tls_cert is None:
        raise ConfigError("tls_key has no effect without tls_cert: name the certificate, too")
    # The packages of the extra are imported here, not with ottla.
    from ottla.console.access import new_token
    from ottla.console.tls import server_context

    return Address(
        host,
        port,
        frozenset([*_hosts(host), *allow_hosts]),
        new_token() if token else None,
        None if tls_cert is None else server_context(tls_cert, tls_key),
    )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host.casefold() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hosts(host: str) -> list[str]:
    """Return the names under which a console that listens at an address may be used."""
    names = [*_LOOPBACK_NAMES, host]
    if not is_loopback(host):
        # These names also apply if it listens at all addresses.
        names += [socket.gethostname(), socket.getfqdn()]
    return names


def _url_host(host: str) -> str:
    """Return the host of the URL to open."""
    if host in {"", "0.0.0.0", "::"}:  # noqa: S104 - all addresses
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
