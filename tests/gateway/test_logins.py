"""Clients that log in to the gateway, by each mechanism, in front of brokers that know no user.

Invariant: a record is there only if the gateway's login let its client through, since the brokers'
listener asks for the certificate of the gateway.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import ottla
from benches.command_line.tools import KAF, RPK, Target, environment
from tests.gateway.clients import CLIENTS, run
from tests.gateway.records import EXPECTED, RECORDS, in_order, lines_of, records_of
from tests.gateway.test_command_lines import program
from tests.support.arrow import read_rows
from tests.support.command import ottla_here
from tests.support.gateway_process import GatewayProcess, gateway_process
from tests.support.guarded_kafka import GuardedKafka
from tests.support.waiting import wait_until

USER, PASSWORD = "alice", "alice-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LIBRARIES = ("kafka-python", "aiokafka", "confluent-kafka")

# The gateway ends the logins, so that the release of the brokers does not matter.
pytestmark = pytest.mark.parametrize("guarded", ["kafka-4.3"], indirect=True)


@dataclass(frozen=True)
class Site:
    """A gateway with users.

    Attributes:
        gateway: its process.
        log: its access log.
    """

    gateway: GatewayProcess
    log: Path

    def software_of(self, user: str | None) -> set[str]:
        """Return the libraries of ended connections of a user."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return {each["software"] or "" for each in lines if each["user"] == user}


@pytest.fixture(scope="module")
def site(guarded: GuardedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Provide the gateway."""
    directory = tmp_path_factory.mktemp("users")
    users, log, password = (directory / name for name in ("users.ini", "log", "password"))
    password.write_text(PASSWORD)
    entry = ottla_here("gateway-users", USER, "--password-file", str(password))
    users.write_bytes(entry.out)
    upstream = [
        word for key, value in guarded.gateway_config.items() for word in ("-X", f"{key}={value}")
    ]
    options = ("--users", str(users), "--access-log", str(log))
    with gateway_process(guarded.guarded, *upstream, *options) as gateway:
        yield Site(gateway, log)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library(
    guarded: GuardedKafka, site: Site, topic: str, name: str, mechanism: str
) -> None:
    client, group = CLIENTS[name], f"group-{uuid.uuid4().hex[:8]}"
    env = {**client.env(), "LOGIN": f"{mechanism} {USER} {PASSWORD}"}
    bootstrap = site.gateway.bootstrap
    run(client.write(guarded, bootstrap, topic), lines_of(RECORDS), env)
    output = run(client.read(guarded, bootstrap, topic, group, len(RECORDS)), b"", env)
    assert records_of(output) == EXPECTED
    _check(guarded, site, topic, client.software)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_javas_clients(
    guarded: GuardedKafka, site: Site, topic: str, mechanism: str, tmp_path: Path
) -> None:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    login = f"org.apache.kafka.common.security.{module}LoginModule required"
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{login} username="{USER}" password="{PASSWORD}";',
    }
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    client, group = CLIENTS["Java"], f"group-{uuid.uuid4().hex[:8]}"
    bootstrap, with_login = site.gateway.bootstrap, ["--command-config", str(file)]
    run([*client.write(guarded, bootstrap, topic), *with_login], lines_of(RECORDS))
    read = client.read(guarded, bootstrap, topic, group, len(RECORDS))
    output = run([*read, *with_login])
    found = [line for line in output.splitlines(keepends=True) if b"\t" in line]
    assert records_of(b"".join(found)) == EXPECTED
    _check(guarded, site, topic, client.software)


@pytest.mark.parametrize(("name", "handshake"), [(KAF, 0), (KAF, 1), (RPK, 1)])
def test_a_command_line(
    guarded: GuardedKafka, site: Site, topic: str, name: str, handshake: int, tmp_path: Path
) -> None:
    bootstrap = site.gateway.bootstrap
    env = environment(tmp_path, Target(bootstrap, user=USER, password=PASSWORD))
    settings = tmp_path / ".kaf" / "config"
    config = json.loads(settings.read_text())
    # The version of SaslHandshake: by default kaf logs in as before Kafka 1.0.
    config["clusters"][0]["SASL"]["version"] = handshake
    settings.write_text(json.dumps(config))
    command = {
        KAF: ("produce", topic, "--key", "k"),
        RPK: ("topic", "produce", topic, "--key", "k"),
    }[name]
    run([program(name), *command], b"one line\n", env)

    def has_record() -> bool:
        rows = read_rows(ottla.scan(topic, guarded.bootstrap))
        return [(row["key"], row["value"]) for row in rows] == [(b"k", b"one line")]

    # With acks=1, a record becomes visible a moment later.
    wait_until(has_record)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password(site: Site, mechanism: str) -> None:
    config: Mapping[str, str] = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": "wrong",
    }
    with (
        pytest.raises(ottla.errors.AuthenticationError),
        ottla.Client(site.gateway.bootstrap, dict(config)) as client,
    ):
        client.cluster(timeout=30)


def _check(guarded: GuardedKafka, site: Site, topic: str, software: str) -> None:
    """Check that the records are there, and that the log has the client's connections."""
    rows = read_rows(ottla.scan(topic, guarded.bootstrap))
    assert in_order((row["key"], row["value"]) for row in rows) == EXPECTED
    wait_until(lambda: any(each.startswith(software) for each in site.software_of(USER)))
