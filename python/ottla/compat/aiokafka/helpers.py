"""``create_ssl_context``: TLS settings that both OpenSSL and the core can use.

Invariant: a context of this module remembers the files that were loaded into it, since OpenSSL
returns neither private keys nor directories of certificates.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fsdecode
from ssl import PROTOCOL_TLS_CLIENT, Purpose, SSLContext
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["create_ssl_context"]

_Path: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
_Password: TypeAlias = Callable[[], str | bytes | bytearray] | str | bytes | bytearray


class ClientContext(SSLContext):
    """An SSL context that remembers its client certificate."""

    certificate_file: str | None = None
    key_file: str | None = None
    key_password: str | None = None
    authorities_directory: str | None = None

    def load_cert_chain(
        self, certfile: _Path, keyfile: _Path | None = None, password: _Password | None = None
    ) -> None:
        """Load this client's certificate and private key from PEM files."""
        super().load_cert_chain(certfile, keyfile, password)
        self.certificate_file = fsdecode(certfile)
        self.key_file = None if keyfile is None else fsdecode(keyfile)
        secret = password() if callable(password) else password
        self.key_password = secret if secret is None or isinstance(secret, str) else secret.decode()

    def load_verify_locations(
        self,
        cafile: _Path | None = None,
        capath: _Path | None = None,
        cadata: str | Buffer | None = None,
    ) -> None:
        """Trust the authorities in a PEM file, a directory or given data."""
        super().load_verify_locations(cafile, capath, cadata)
        if capath is not None:
            self.authorities_directory = fsdecode(capath)


def create_ssl_context(
    *,
    cafile: _Path | None = None,
    capath: _Path | None = None,
    cadata: str | Buffer | None = None,
    certfile: _Path | None = None,
    keyfile: _Path | None = None,
    password: _Password | None = None,
) -> SSLContext:
    """Return an SSL context that verifies brokers and their host names.

    Args:
        cafile: a PEM file with the authorities to trust. Default: the system's own.
        capath: a directory with such files.
        cadata: authorities as PEM text or DER bytes.
        certfile: a PEM file with this client's certificate chain. Default: none.
        keyfile: a PEM file with its private key. Default: ``certfile``.
        password: the password of the private key.
    """
    context = ClientContext(PROTOCOL_TLS_CLIENT)
    if cafile or capath or cadata:
        context.load_verify_locations(cafile, capath, cadata)
    else:
        context.load_default_certs(Purpose.SERVER_AUTH)
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile, password)
    return context
