"""GSSAPI with a real key distribution center and a real broker: tickets, keytabs, and errors
without either. Clients run in child processes, since environment variables configure Kerberos."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.security.kdc import REALM, KeyDistributionCenter
from tests.support.child import ChildResult, run_child
from tests.support.kafka_cluster import KafkaCluster
from tests.support.kafka_node import KafkaNode
from tests.support.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.kerberos]

# Clients renew a session after at most 95 % of it: the rest is a reserve for slow machines.
REAUTHENTICATE_MS = 6000
_SMALL = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass
class Realm:
    """The realm and its broker."""

    kdc: KeyDistributionCenter
    bootstrap: str
    keytab: Path
    kafka: KafkaCluster

    def client(self, program: str, config: str = "{}", cache: Path | str = "") -> ChildResult:
        """Run a program; with a cache, it has a ticket."""
        topic = f"kerberos-{uuid.uuid4().hex[:8]}"
        self.kafka.create_topic(topic, 1, 1)
        missing = self.kdc.directory / "no.cache"
        prelude = f"""
os.environ["KRB5_CONFIG"] = {str(self.kdc.config)!r}
os.environ["KRB5CCNAME"] = {str(cache or missing)!r}
bootstrap, topic = {self.bootstrap!r}, {topic!r}
config = {{"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka"}}
config |= {config}
"""
        return run_child(prelude + program, timeout=300)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """Provide a realm with a client, alice, and a broker."""
    with KeyDistributionCenter(tmp_path_factory.mktemp("realm")) as kdc:
        broker, alice = kdc.add("kafka/localhost"), kdc.add("alice")
        (port,) = free_ports(1)

        def properties(node: KafkaNode) -> dict[str, str]:
            own, name = node.properties, "listener.name.kerberos.gssapi."
            login = (
                "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
                f'storeKey=true keyTab="{broker}" principal="kafka/localhost@{REALM}";'
            )
            return {
                "listeners": f"{own['listeners']},KERBEROS://127.0.0.1:{port}",
                "advertised.listeners": (
                    f"{own['advertised.listeners']},KERBEROS://localhost:{port}"
                ),
                "listener.security.protocol.map": (
                    "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,KERBEROS:SASL_PLAINTEXT"
                ),
                "inter.broker.listener.name": "PLAINTEXT",
                "listener.name.kerberos.sasl.enabled.mechanisms": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                f"{name}sasl.jaas.config": login,
                f"{name}connections.max.reauth.ms": str(REAUTHENTICATE_MS),
            }

        jvm = (*_SMALL, f"-Djava.security.krb5.conf={kdc.config}")
        with KafkaCluster(1, properties, jvm=jvm) as kafka:
            yield Realm(kdc, f"localhost:{port}", alice, kafka)


WRITE_AND_READ = """
with ottla.Client(bootstrap, config, timeout=60) as client:
    with ottla.Producer(client) as producer:
        assert producer.send_batch(topic, ["a", "b"]).result(timeout=60) == 2
    from tests.support.arrow import values

    say(*[value.decode() for value in values(ottla.scan(topic, client))])
"""

REFUSED = """
started = time.monotonic()
try:
    ottla.Client(bootstrap, config, timeout=60)
except ottla.errors.KafkaError as error:
    say(type(error).__name__, error.context.get("phase"), error)
    assert time.monotonic() - started < 30, "not at once"
"""


def test_a_ticket_from_the_cache(realm: Realm) -> None:
    ended = realm.client(WRITE_AND_READ, cache=realm.kdc.kinit("alice", realm.keytab))
    assert (ended.code, ended.output) == (0, "a b\n")


@pytest.mark.parametrize("form", ["rows", "jaas"])
def test_a_keytab(realm: Realm, form: str) -> None:
    if form == "rows":
        config = {"sasl.kerberos.keytab": str(realm.keytab), "sasl.kerberos.principal": "alice"}
    else:
        login = (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true "
            f'keyTab="{realm.keytab}" principal="alice@{REALM}" serviceName="kafka";'
        )
        config = {"sasl.jaas.config": login, "sasl.kerberos.service.name": ""}
    ended = realm.client(WRITE_AND_READ, repr(config))
    assert (ended.code, ended.output) == (0, "a b\n")


def test_the_session_is_renewed(realm: Realm) -> None:
    program = f"""
with ottla.Client(bootstrap, config, linger_ms=0, timeout=60) as client:
    with ottla.Producer(client) as producer:
        until, sent = time.monotonic() + {2.2 * REAUTHENTICATE_MS / 1000}, 0
        while time.monotonic() < until:
            assert producer.send(topic, str(sent)).result(timeout=60).offset == sent
            sent += 1
            time.sleep(0.02)
    renewed = client.metrics()["successful-reauthentication-total"]
    say(renewed >= 2, client.metrics()["connection-creation-total"])
"""
    ended = realm.client(program, cache=realm.kdc.kinit("alice", realm.keytab))
    assert ended.code == 0, ended.output
    # The bootstrap connection becomes the broker's connection.
    assert ended.output == "True 1.0\n"


def test_without_a_ticket(realm: Realm) -> None:
    ended = realm.client(REFUSED)
    assert ended.code == 0, ended.output
    assert ended.output.startswith("AuthenticationError SASL"), ended.output
    assert "kinit" in ended.output
    assert "kafka/localhost" in ended.output


def test_an_unknown_service(realm: Realm) -> None:
    cache = realm.kdc.kinit("alice", realm.keytab)
    ended = realm.client(REFUSED, "{'sasl.kerberos.service.name': 'elsewhere'}", cache)
    assert ended.code == 0, ended.output
    assert ended.output.startswith("AuthenticationError SASL"), ended.output
    assert "sasl.kerberos.service.name" in ended.output


def test_an_unknown_principal(realm: Realm) -> None:
    config = {"sasl.kerberos.keytab": str(realm.keytab), "sasl.kerberos.principal": "mallory"}
    ended = realm.client(REFUSED, repr(config))
    assert ended.code == 0, ended.output
    assert ended.output.startswith("AuthenticationError SASL"), ended.output
    assert "sasl.kerberos.principal" in ended.output


def test_the_doctor_suggests_a_fix(realm: Realm) -> None:
    program = """
report = ottla.diagnose(bootstrap, config)
say(*[(finding.code, finding.phase) for finding in report.findings])
"""
    ended = realm.client(program)
    assert ended.code == 0, ended.output
    assert "('no_ticket', 'SASL')" in ended.output
