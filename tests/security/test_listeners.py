"""ottla writes and reads through every kind of listener of Kafka."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

import ottla
from tests.security.conftest import KEY_PASSWORD, PASSWORD, USER, SecuredKafka
from tests.support.arrow import values

pytestmark = pytest.mark.cluster

MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def use(secured: SecuredKafka, bootstrap: str, config: dict[str, Any]) -> None:
    """Write to all partitions and read back, all through one listener."""
    topic = f"secured-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    with ottla.Client(bootstrap, config, timeout=60) as client:
        with ottla.Producer(client) as producer:
            sent = [f"{i}".encode() for i in range(20)]
            spread = [i % 2 for i in range(20)]
            assert producer.send_batch(topic, sent, partitions=spread).result(timeout=60) == 20
        assert sorted(values(ottla.scan(topic, client))) == sorted(sent)  # type: ignore[type-var]
        # The broker advertises the same listener.
        assert {c.address.split()[0] for c in client.connections()} == {bootstrap}


def credentials(mechanism: str, password: str = PASSWORD, user: str = USER) -> dict[str, Any]:
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


def test_tls(secured: SecuredKafka) -> None:
    use(secured, secured.at("tls"), {"security.protocol": "SSL", **secured.tls()})


def test_tls_with_a_file(secured: SecuredKafka, tmp_path: Path) -> None:
    store = tmp_path / "authority.pem"
    store.write_text(secured.authority.certificate)
    config = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(store),
    }
    use(secured, secured.at("tls"), config)


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_tls_versions(secured: SecuredKafka, version: str) -> None:
    config = {"security.protocol": "SSL", "ssl.enabled.protocols": version, **secured.tls()}
    use(secured, secured.at("tls"), config)


@pytest.mark.parametrize("password", [None, KEY_PASSWORD])
def test_mutual_tls(secured: SecuredKafka, password: str | None) -> None:
    shown = secured.mutual_tls(secured.client_identity, password)
    use(secured, secured.at("mtls"), {"security.protocol": "SSL", **shown})


def test_mutual_tls_with_files(secured: SecuredKafka, tmp_path: Path) -> None:
    trust, identity_file = tmp_path / "authority.pem", tmp_path / "client.pem"
    trust.write_text(secured.authority.certificate)
    identity = secured.client_identity
    identity_file.write_text(identity.key(KEY_PASSWORD) + identity.certificate)
    config = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trust),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(identity_file),
        "ssl.key.password": KEY_PASSWORD,
    }
    use(secured, secured.at("mtls"), config)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sasl_plaintext(secured: SecuredKafka, mechanism: str) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", **credentials(mechanism)}
    use(secured, secured.at("sasl"), config)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sasl_over_tls(secured: SecuredKafka, mechanism: str) -> None:
    config = {"security.protocol": "SASL_SSL", **credentials(mechanism), **secured.tls()}
    use(secured, secured.at("sasl_tls"), config)


def test_jaas_configuration_as_java_has_it(secured: SecuredKafka) -> None:
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{quoted}";',
    }
    use(secured, secured.at("sasl"), config)
