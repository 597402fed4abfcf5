"""The doctor at TLS servers that are configured wrongly: a script has the certificate."""

from __future__ import annotations

import contextlib
import socket
import ssl
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import ottla
from ottla.testing import MockCluster
from tests.doctor.verdicts import BROKER, OTHER, check_verdict, port_of
from tests.security.certificates import Authority, Identity
from tests.support.golden import Replacements
from tests.support.scripted_servers import scripted_server

_DAY = timedelta(days=1)
_HERE = ["localhost", "127.0.0.1"]
# Without a limit of OpenSSL's on versions and keys.
_ANY_LEVEL = "DEFAULT:@SECLEVEL=0"


def server_context(pem: Path, identity: Identity, *chain: str) -> ssl.SSLContext:
    """Return the context of a server with this certificate."""
    pem.write_text(identity.key() + identity.certificate + "".join(chain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def trusting(authority: Authority) -> dict[str, Any]:
    """Return the configuration of a client that trusts this authority."""
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority.certificate}
    return {"security.protocol": "SSL", **trust}


# Return the server's context and the client's configuration.
SetUp: TypeAlias = Callable[[Authority, Path], tuple[ssl.SSLContext, dict[str, Any]]]


def not_yet_valid(authority: Authority, pem: Path) -> tuple[ssl.SSLContext, dict[str, Any]]:
    identity = authority.issue("broker", _HERE, begins=_DAY)
    return server_context(pem, identity), trusting(authority)


def self_signed(authority: Authority, pem: Path) -> tuple[ssl.SSLContext, dict[str, Any]]:
    return server_context(pem, authority.issue("broker", _HERE, self_signed=True)), trusting(
        authority
    )


def incomplete_chain(authority: Authority, pem: Path) -> tuple[ssl.SSLContext, dict[str, Any]]:
    intermediate = authority.intermediate("ottla intermediate")
    identity = intermediate.issue("broker", _HERE)
    return server_context(pem, identity), trusting(authority)


def old_version(authority: Authority, pem: Path) -> tuple[ssl.SSLContext, dict[str, Any]]:
    context = server_context(pem, authority.issue("broker", _HERE))
    context.set_ciphers(_ANY_LEVEL)
    with warnings.catch_warnings():
        # Python warns of this version, as it should.
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1_1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context, trusting(authority)


def no_common_cipher(authority: Authority, pem: Path) -> tuple[ssl.SSLContext, dict[str, Any]]:
    context = server_context(pem, authority.issue("broker", _HERE))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0")
    return context, trusting(authority)


def client_of_another_authority(
    authority: Authority, pem: Path
) -> tuple[ssl.SSLContext, dict[str, Any]]:
    context = server_context(pem, authority.issue("broker", _HERE))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.certificate)
    client = Authority("somebody else").issue("client", client=True)
    mine = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": client.certificate,
        "ssl.keystore.key": client.key(),
    }
    return context, {**trusting(authority), **mine}


def name_instead_of_address(
    authority: Authority, pem: Path
) -> tuple[ssl.SSLContext, dict[str, Any]]:
    identity = authority.issue("broker", ["kafka.ottla.test"])
    return server_context(pem, identity), trusting(authority)


SET_UPS: list[SetUp] = [
    not_yet_valid,
    self_signed,
    incomplete_chain,
    old_version,
    no_common_cipher,
    client_of_another_authority,
    name_instead_of_address,
]


@pytest.mark.parametrize("set_up", SET_UPS, ids=lambda set_up: set_up.__name__)
def test_a_tls_server_that_is_configured_wrongly(set_up: SetUp, tmp_path: Path) -> None:
    made = datetime.now(timezone.utc).date()
    context, config = set_up(Authority("ottla tests"), tmp_path / "server.pem")

    def serve(connection: socket.socket) -> None:
        with (
            contextlib.suppress(ssl.SSLError, OSError),
            context.wrap_socket(connection, server_side=True) as secure,
        ):
            secure.recv(4096)

    with scripted_server(serve) as port:
        report = ottla.diagnose(f"127.0.0.1:{port}", config, timeout=8)
    check_verdict(f"tls/{set_up.__name__}", report, Replacements({port: OTHER}, today=made))


def test_a_plaintext_listener_that_advertises_a_port_with_tls(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    mock_cluster.create_topic("orders", partitions=3)
    context = server_context(tmp_path / "server.pem", Authority("ottla tests").issue("b", _HERE))

    def serve(connection: socket.socket) -> None:
        with (
            contextlib.suppress(ssl.SSLError, OSError),
            context.wrap_socket(connection, server_side=True) as secure,
        ):
            secure.recv(4096)

    ports = {port_of(address): BROKER + i - 1 for i, address in mock_cluster.brokers.items()}
    with scripted_server(serve) as port:
        mock_cluster.advertise(2, f"127.0.0.1:{port}")
        report = ottla.diagnose(mock_cluster.brokers[1], topic="orders", timeout=8)
    check_verdict("brokers/tls_port_advertised", report, Replacements({**ports, port: OTHER}))
