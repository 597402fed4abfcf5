"""Clients of all kinds log in to a gateway with PLAIN and SCRAM, and reach brokers as its users."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

import ottla
from ottla.testing import MockCluster
from tests.security.certificates import Authority
from tests.support.command import ottla_here
from tests.support.console import TIMEOUT
from tests.support.jars import REPOSITORY
from tests.support.waiting import wait_until

PASSWORD, BROKERS_PASSWORD = "pass-of-alice", "pass-of-the-gateway"
BROKERS = {"gateway": BROKERS_PASSWORD, "orders": "pass-of-orders"}
UPSTREAM = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "gateway",
}


@pytest.fixture
def users(tmp_path: Path) -> Path:
    done = ottla_here("gateway-users", "alice", "--password-file", "-", stdin=PASSWORD.encode())
    assert done.code == 0, done.err
    assert PASSWORD not in done.text
    (tmp_path / "orders").write_text("pass-of-orders\n")
    file = tmp_path / "users.ini"
    bob = done.text.replace("[alice]", "[bob]")
    upstream = f"sasl.username = orders\nsasl.password = ${{file:{tmp_path / 'orders'}}}\n"
    file.write_text(f"# users\n{done.text}\n{bob}{upstream}")
    return file


@contextmanager
def _gateway(
    cluster: MockCluster, directory: Path, *arguments: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the command in front of a cluster with SASL; yield the address for bootstrapping."""
    config = directory / "client.properties"
    lines = [f"{key}={value}" for key, value in UPSTREAM.items()]
    config.write_text("\n".join([*lines, f"sasl.password={BROKERS_PASSWORD}"]))
    listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
    command = ["gateway", cluster.bootstrap, "--config", str(config), *listen, *arguments]
    with subprocess.Popen(
        [sys.executable, "-m", "ottla", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(4)]
            assert lines[0].startswith("ottla gateway: "), (lines, process.stderr)
            yield lines[0].split()[-1], process
        finally:
            process.kill()


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with MockCluster(users=BROKERS) as cluster:
        cluster.create_topic("t", partitions=3)
        yield cluster


def _keys(mechanism: str, user: str = "alice", password: str = PASSWORD) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def _connect(bootstrap: str, keys: dict[str, Any]) -> set[int]:
    """Return the ids of the brokers."""
    with ottla.Client(bootstrap, config=keys) as client:
        return set(client.cluster(timeout=10).brokers)


def _produce_with_another_client(config: dict[str, Any]) -> None:
    producer = confluent_kafka.Producer(config)
    for n in range(30):
        producer.produce("t", value=b"%d" % n)
    assert producer.flush(TIMEOUT) == 0


def test_every_mechanism(cluster: MockCluster, users: Path, tmp_path: Path) -> None:
    with _gateway(cluster, tmp_path, "--users", str(users)) as (bootstrap, process):
        mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        for mechanism in mechanisms:
            keys = _keys(mechanism)
            with ottla.Producer(bootstrap, config=keys) as producer:
                producer.send("t", value=b"v").result()
            _produce_with_another_client({"bootstrap.servers": bootstrap, **keys})
            with pytest.raises(ottla.errors.AuthenticationError, match="invalid credentials"):
                ottla.Client(bootstrap, config=_keys(mechanism, password="wrong")).cluster(
                    timeout=10
                )
        assert _connect(bootstrap, _keys("PLAIN", "bob")) == {1, 2, 3}
        # The users of the brokers are none of the gateway.
        with pytest.raises(ottla.errors.AuthenticationError):
            ottla.Client(bootstrap, config=_keys("PLAIN", "gateway", BROKERS_PASSWORD)).cluster(
                timeout=10
            )
        process.terminate()
        out, errors = process.communicate(timeout=TIMEOUT)
    assert sum(cluster.end_offset("t", n) for n in range(3)) == 31 * len(mechanisms)
    assert "a client's login was refused" in errors
    for secret in (PASSWORD, *BROKERS.values(), "stored_key"):
        assert secret not in out + errors


def test_tls_and_renewed_logins(cluster: MockCluster, users: Path, tmp_path: Path) -> None:
    authority = Authority("gateway authority")
    server = authority.issue("gateway", ["127.0.0.1"])
    (tmp_path / "ca.pem").write_text(authority.certificate)
    (tmp_path / "gateway.pem").write_text(server.certificate + server.key())
    arguments = ["--tls-cert", str(tmp_path / "gateway.pem"), "--reauthenticate", "1"]
    arguments += ["--status", "127.0.0.1:0"]
    keys = {**_keys("PLAIN"), "security.protocol": "SASL_SSL"}
    with (
        _gateway(cluster, tmp_path, "--users", str(users), *arguments) as (bootstrap, process),
        ottla.Producer(
            bootstrap, config={**keys, "ssl.truststore.location": str(tmp_path / "ca.pem")}
        ) as producer,
    ):
        assert process.stdout is not None
        status = process.stdout.readline().split()[-1]

        def produced() -> list[dict[str, Any]]:
            producer.send("t", partition=0, value=b"v").result()
            with urllib.request.urlopen(status) as response:
                return [one for one in json.load(response) if "Produce" in one["requests"]]

        apis = ("SaslHandshake", "SaslAuthenticate")
        first: dict[int, dict[str, int]] = {}

        def renewed() -> bool:
            # On one connection. A machine that pauses may renew a login too late, and the gateway
            # closes: the producer has another connection then, whose login is renewed likewise.
            return any(
                all(
                    now["requests"][api] > first.setdefault(now["id"], now["requests"])[api]
                    for api in apis
                )
                for now in produced()
            )

        wait_until(renewed)


def test_plain_needs_privacy(cluster: MockCluster, users: Path, tmp_path: Path) -> None:
    everywhere = ("--listen", "0.0.0.0:0", "--advertise", "127.0.0.1", "--users", str(users))
    with _gateway(cluster, tmp_path, *everywhere) as (bootstrap, _):
        with pytest.raises(ottla.errors.AuthenticationError, match="it offers SCRAM-SHA-256, SCR"):
            _connect(bootstrap, _keys("PLAIN"))
        assert _connect(bootstrap, _keys("SCRAM-SHA-256"))
    allowed = (*everywhere, "--allow-plaintext-passwords")
    with _gateway(cluster, tmp_path, *allowed) as (bootstrap, _):
        assert _connect(bootstrap, _keys("PLAIN"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reauthenticate", "60"], "give --users"),
        (["--allow-plaintext-passwords"], "give --users"),
        (["--users", "/no/such.ini"], "/no/such.ini"),
        (["--connections", "0"], "expected a number of connections"),
        (["--connections-per-address", "many"], "expected a number of connections"),
        (["--setup-timeout", "0"], "expected seconds"),
    ],
)
def test_arguments_that_cannot_work(
    mock_cluster: MockCluster, arguments: list[str], message: str
) -> None:
    done = ottla_here("gateway", mock_cluster.bootstrap, "--listen", "127.0.0.1:0", *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_file_with_an_error_is_named_by_its_line(mock_cluster: MockCluster, users: Path) -> None:
    users.write_text(users.read_text() + "password = pass-of-bob\n")
    line = len(users.read_text().splitlines())
    listen = ("--listen", "127.0.0.1:0", "--users", str(users))
    done = ottla_here("gateway", mock_cluster.bootstrap, *listen)
    assert done.code == 2
    assert f"line {line}:" in done.err
    assert "pass-of-bob" not in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a]b", "--password-file", "-"], "name of a section"),
        (["alice", "--password-file", "-", "--iterations", "1"], "expected 4096 to 1000000"),
        (["alice", "--password-file", "/no/such"], "/no/such"),
        (["alice"], "no terminal"),
    ],
)
def test_entries_that_cannot_be_made(arguments: list[str], message: str) -> None:
    done = ottla_here("gateway-users", *arguments, stdin=b"secret\n")
    assert done.code == 2
    assert message in done.err
