"""A certificate that Kubernetes renews in a volume, by a symbolic link to another directory."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from ottla.testing import MockCluster
from tests.security.certificates import Authority
from tests.support.gateway_process import GatewayProcess
from tests.support.ports import free_ports
from tests.support.waiting import wait_until

NAME = "kafka.example.com"


def _write(volume: Path, number: int, authority: Authority) -> None:
    """Replace the volume's files as kubelet does: all at once."""
    server = authority.issue("gateway", [NAME, f"*.{NAME}"])
    directory = volume / f"..{number}"
    directory.mkdir()
    (directory / "tls.crt").write_text(server.certificate)
    (directory / "tls.key").write_text(server.key())
    (volume / "..new").symlink_to(directory.name)
    (volume / "..new").replace(volume / "..data")


def _presented(port: int, authority: Authority) -> bytes:
    """Return the certificate that a new connection gets."""
    context = ssl.create_default_context(cadata=authority.certificate)
    with (
        socket.create_connection(("127.0.0.1", port), 10) as connection,
        context.wrap_socket(connection, server_hostname=f"1.{NAME}") as tls,
    ):
        return tls.getpeercert(binary_form=True) or b""


def test_the_next_connection_gets_the_new_certificate(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    authority, [port] = Authority("gateway authority"), free_ports(1)
    _write(tmp_path, 1, authority)
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    where = ("--listen", f"127.0.0.1:{port}", "--advertise", NAME, "--sni", f"{{id}}.{NAME}")
    files = ("--tls-cert", str(tmp_path / "tls.crt"), "--tls-key", str(tmp_path / "tls.key"))
    brokers = {n: f"{n}.{NAME}:{port}" for n in mock_cluster.brokers}
    arguments = [mock_cluster.bootstrap, *where, *files]
    with GatewayProcess(arguments, f"{NAME}:{port}", brokers) as gateway:
        before = _presented(port, authority)
        assert _presented(port, authority) == before
        _write(tmp_path, 2, authority)
        wait_until(lambda: _presented(port, authority) != before)
        assert gateway.errors == ""
