"""``connections()`` shows the steps of connecting, the API versions and the bootstrap servers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

import ottla
from ottla import errors, prometheus
from ottla.cli.waiting import obstacles
from ottla.testing import Fault, MockCluster
from tests.support.waiting import wait_until

TIMEOUT = 60.0


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that accepts connections and never responds."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_an_open_connection(client: ottla.Client) -> None:
    (status,) = client.connections()
    assert [phase for phase, _ in status.phases] == ["DNS", "TCP", "ApiVersions", "Metadata"]
    assert all(0 <= seconds < TIMEOUT for _, seconds in status.phases)
    before = status.connected_for
    assert before is not None
    assert 0 <= before < TIMEOUT
    time.sleep(0.01)
    (status,) = client.connections()
    assert status.connected_for is not None
    assert status.connected_for >= before + 0.01
    versions = status.api_versions
    assert {"Produce", "Fetch", "Metadata", "ApiVersions"} <= set(versions)
    assert all(type(version) is int and version >= 0 for version in versions.values())


def test_steps_of_a_secured_listener() -> None:
    with MockCluster(users={"ann": "secret"}) as cluster:
        cluster.inject(Fault.delay(0.3), api="SaslHandshake")
        with ottla.Client(
            cluster.bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-256",
            sasl_username="ann",
            sasl_password="secret",
        ) as client:
            (status,) = client.connections()
            phases = dict(status.phases)
            assert list(phases) == ["DNS", "TCP", "ApiVersions", "SASL", "Metadata"]
            assert 0.3 <= phases["SASL"] < TIMEOUT


def test_bootstrap_servers_are_listed_while_the_cluster_is_looked_for(
    mock_cluster: MockCluster, silent: str
) -> None:
    with ottla.Client(silent, connect=False, reconnect_backoff_ms=20) as client:
        assert client.connections() == []

        def find() -> None:
            with pytest.raises(errors.KafkaError):
                client.cluster(timeout=2)

        finding = threading.Thread(target=find)
        finding.start()
        wait_until(lambda: any(s.phase == "ApiVersions" for s in client.connections()))
        (status,) = client.connections()
        assert (status.broker, status.role, status.state) == (-1, "bootstrap", "connecting")
        assert status.address == silent
        assert [phase for phase, _ in status.phases] == ["DNS", "TCP", "ApiVersions"]
        assert (status.connected_for, status.api_versions, status.in_flight) == (None, {}, 0)
        text = obstacles(client.connections())
        assert text.startswith(f"bootstrap server {silent} (connecting, ApiVersions)")
        # Of several servers, the samples would have the same labels.
        assert 'role="bootstrap"' not in prometheus.render({"one": client})
        finding.join(TIMEOUT)
        assert not finding.is_alive()
    with ottla.Client(mock_cluster.bootstrap) as client:
        assert "bootstrap" not in {status.role for status in client.connections()}


def test_a_bootstrap_server_that_failed_stays_with_its_error(silent: str) -> None:
    with ottla.Client(silent, connect=False) as client:
        with pytest.raises(errors.KafkaError):
            client.cluster(timeout=0.5)
        wait_until(lambda: client.connections()[0].state in {"backing_off", "disconnected"})
        (status,) = client.connections()
        assert (status.broker, status.role, status.phase) == (-1, "bootstrap", None)
        assert status.last_error is not None
        assert "ApiVersions" in status.last_error
        assert [phase for phase, _ in status.phases] == ["DNS", "TCP", "ApiVersions"]
