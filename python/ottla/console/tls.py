"""TLS of a console: its certificate and key, and the handshakes of its connections.

Invariants: a certificate or key that cannot be used is an error before anything is served, and the
key's passphrase is never asked for; a peer in its handshake is a stranger like any other, so that
unfinished handshakes take few descriptors of the application, and end within seconds.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import cast

from ottla.console.connections import Connections
from ottla.console.protocol import HttpConnection
from ottla.errors import ArgumentTypeError, ConfigError

# Seconds for a handshake, as for a request.
_HANDSHAKE_TIMEOUT = 5.0
_CERTIFICATE, _KEY = "-----BEGIN CERTIFICATE-----", "PRIVATE KEY-----"


def server_context(certificate: str | Path, key: str | Path | None = None) -> ssl.SSLContext:
    """Return the TLS context of a server.

    Args:
        certificate: a PEM file with the certificate, followed by those of its issuers.
        key: a PEM file with its private key, without a passphrase. Default: the certificate's file.

    Raises:
        ConfigError: a file cannot be read, has something else, or does not belong to the other one.
    """
    option = "tls_cert" if key is None else "tls_key"
    key = certificate if key is None else key
    if _CERTIFICATE not in _text("tls_cert", certificate):
        raise ConfigError(
            f"tls_cert: {certificate} has no certificate in PEM form ({_CERTIFICATE})"
        )
    if _KEY not in _text(option, key):
        raise ConfigError(
            f"{option}: {key} has no private key in PEM form: name the file of the key with tls_key"
        )
    is_encrypted = False

    def passphrase() -> str:
        nonlocal is_encrypted
        is_encrypted = True
        return ""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, passphrase)
    except (ssl.SSLError, OSError, ValueError) as error:
        if is_encrypted:
            message = (
                f"{option}: the key in {key} is encrypted, and a server asks for no passphrase: "
                f"write a decrypted copy that only you can read: "
                f"(umask 077; openssl pkey -in {key} -out decrypted.pem)"
            )
        elif getattr(error, "reason", None) == "KEY_VALUES_MISMATCH":
            message = (
                f"{option}: the key in {key} does not belong to the first certificate in "
                f"{certificate}: the server's own certificate comes first, then its issuers'"
            )
        else:
            message = f"tls_cert: {certificate} and {key} cannot be used: {error}"
        raise ConfigError(message) from None
    return context


def _text(option: str, path: str | Path) -> str:
    try:
        file = Path(path)
    except TypeError:
        kind = type(path).__name__
        raise ArgumentTypeError(f"{option} is of type {kind}: expected a path") from None
    try:
        return file.read_text(encoding="latin-1")
    except ValueError:  # a zero byte
        raise ConfigError(f"{option}: {str(path)!r} is no path of a file") from None
    except OSError as error:
        raise ConfigError(f"{option}: {path} cannot be read: {error.strerror}") from None


class _Early(asyncio.Protocol):
    """Keeps what a peer sends with the end of its handshake, until HTTP reads the connection."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.is_lost = False

    def data_received(self, data: bytes) -> None:
        """Keep the data."""
        self.data += data

    def connection_lost(self, _: Exception | None) -> None:
        """Record the end."""
        self.is_lost = True


class _Handshake(asyncio.Protocol):
    """A connection until its TLS handshake is complete; then HTTP reads it.

    asyncio's own servers report a connection only after its handshake.
    """

    def __init__(
        self, context: ssl.SSLContext, connections: Connections, http: HttpConnection
    ) -> None:
        self._context = context
        self._connections = connections
        self._http = http
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection and begin the handshake, or close it at once."""
        self._transport = cast(asyncio.Transport, transport)
        if not self._connections.open(self):
            self.abort()
            return
        # The first step of the task stops the reading before a byte is read: the handshake must
        # read the first one. Stopping it here would be undone on Python 3.10, whose transports
        # begin to read after this call.
        self._task = self._loop.create_task(self._secure(self._transport))

    async def _secure(self, transport: asyncio.Transport) -> None:
        early = _Early()
        try:
            secured = await self._loop.start_tls(
                transport,
                early,
                self._context,
                server_side=True,
                ssl_handshake_timeout=_HANDSHAKE_TIMEOUT,
            )
        except (OSError, asyncio.CancelledError):
            # Such as a browser that does not trust the certificate; a stranger writes no log.
            transport.abort()
            return
        finally:
            self._connections.closed(self)
        if secured is None or early.is_lost:
            (secured or transport).close()
            transport.abort()
            return
        secured.set_protocol(self._http)
        self._http.connection_made(secured)
        if early.data:
            self._http.data_received(bytes(early.data))

    def connection_lost(self, _: Exception | None) -> None:
        """Forget a connection that ended before its handshake began."""
        self._connections.closed(self)

    def is_overdue(self, now: float) -> bool:
        """Return whether the handshake takes too long."""
        return now - self._since >= _HANDSHAKE_TIMEOUT

    def abort(self) -> None:
        """Close the connection at once."""
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()


def secured(
    protocol: Callable[..., HttpConnection], context: ssl.SSLContext, connections: Connections
) -> Callable[..., asyncio.Protocol]:
    """Return what makes the protocol of a connection with TLS, for uvicorn."""

    def made(**options: object) -> asyncio.Protocol:
        return _Handshake(context, connections, protocol(**options))

    return made
