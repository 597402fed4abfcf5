"""Rejected connections: an immediate, typed error that names the phase and the cause.

Neither the errors nor the logs contain secrets.
"""

from __future__ import annotations

import logging
import time
import uuid
from typing import Any

import pytest
from confluent_kafka.admin import ScramMechanism  # type: ignore[attr-defined]  # not in its __all__

import ottla
from ottla import errors
from tests.security.conftest import KEY_PASSWORD, PASSWORD, USER, SecuredKafka
from tests.security.test_listeners import MECHANISMS, credentials
from tests.support.kafka_admin import wait_until

pytestmark = pytest.mark.cluster

# Far less than any timeout: rejections are not retried.
AT_ONCE = 25.0


def refused(bootstrap: str, config: dict[str, Any]) -> errors.KafkaError:
    """Return the error of a client that cannot connect."""
    started = time.monotonic()
    with pytest.raises(errors.KafkaError) as raised:
        ottla.Client(bootstrap, config)
    assert time.monotonic() - started < AT_ONCE
    assert bootstrap in str(raised.value)
    return raised.value


def can_authenticate(secured: SecuredKafka, config: dict[str, Any]) -> bool:
    try:
        ottla.Client(secured.at("sasl"), config).close()
    except errors.AuthenticationError:
        return False
    return True


def phase_of(error: errors.KafkaError) -> str:
    return str(error.context.get("phase"))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_password(
    secured: SecuredKafka, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    config = {"security.protocol": "SASL_SSL", **secured.tls()}
    error = refused(
        secured.at("sasl_tls"), {**config, **credentials(mechanism, "not-the-password")}
    )
    assert isinstance(error, errors.AuthenticationError)
    assert phase_of(error) == "SASL"
    assert error.name == "SASL_AUTHENTICATION_FAILED"
    assert mechanism in str(error)
    for text in (str(error), repr(error), caplog.text):
        assert "not-the-password" not in text


def test_unknown_user(secured: SecuredKafka) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", **credentials("SCRAM-SHA-256", user="nobody")}
    error = refused(secured.at("sasl"), config)
    assert isinstance(error, errors.AuthenticationError)
    assert phase_of(error) == "SASL"


def test_revoked_user(secured: SecuredKafka) -> None:
    name = f"user-{uuid.uuid4().hex[:8]}"
    config = {
        "security.protocol": "SASL_PLAINTEXT",
        **credentials("SCRAM-SHA-512", "p", name),
    }
    # New users take effect after a moment.
    secured.add_user(name, "p", ScramMechanism.SCRAM_SHA_512)
    wait_until(lambda: can_authenticate(secured, config), lambda: "the user cannot authenticate")
    secured.revoke_user(name, ScramMechanism.SCRAM_SHA_512)
    wait_until(
        lambda: not can_authenticate(secured, config), lambda: "the user can still authenticate"
    )
    error = refused(secured.at("sasl"), config)
    assert isinstance(error, errors.AuthenticationError)
    assert phase_of(error) == "SASL"


def test_mechanism_that_the_broker_does_not_offer(secured: SecuredKafka) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", **credentials("PLAIN")}
    error = refused(secured.at("oauth"), config)
    assert isinstance(error, errors.AuthenticationError)
    assert phase_of(error) == "SASL"
    assert error.name == "UNSUPPORTED_SASL_MECHANISM"
    # The error names the supported mechanisms.
    assert "OAUTHBEARER" in str(error)


@pytest.mark.parametrize(
    ("listener", "message"),
    [("expired", "expired"), ("wrong_host", "elsewhere.ottla.test")],
)
def test_bad_certificates(secured: SecuredKafka, listener: str, message: str) -> None:
    error = refused(secured.at(listener), {"security.protocol": "SSL", **secured.tls()})
    assert phase_of(error) == "TLS"
    assert message in str(error)


def test_host_name_verification_can_be_disabled(secured: SecuredKafka) -> None:
    config = {
        "security.protocol": "SSL",
        "ssl.endpoint.identification.algorithm": "",
        **secured.tls(),
    }
    with ottla.Client(secured.at("wrong_host"), config, timeout=60) as client:
        assert len(client.cluster().brokers) == 1


def test_unknown_authority(secured: SecuredKafka) -> None:
    config = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": secured.stranger.certificate,
    }
    error = refused(secured.at("tls"), config)
    assert phase_of(error) == "TLS"
    assert "ssl.truststore" in str(error)
    # The system's authorities do not include it, either.
    error = refused(secured.at("tls"), {"security.protocol": "SSL"})
    assert phase_of(error) == "TLS"


def test_missing_client_certificate(secured: SecuredKafka) -> None:
    error = refused(secured.at("mtls"), {"security.protocol": "SSL", **secured.tls()})
    assert phase_of(error) == "TLS"
    assert "ssl.keystore" in str(error)


def test_client_certificate_of_a_stranger(secured: SecuredKafka) -> None:
    identity = secured.stranger.issue("client", client=True)
    config = {"security.protocol": "SSL", **secured.mutual_tls(identity)}
    assert phase_of(refused(secured.at("mtls"), config)) == "TLS"


def test_wrong_key_password(secured: SecuredKafka) -> None:
    config = {
        "security.protocol": "SSL",
        **secured.mutual_tls(secured.client_identity, KEY_PASSWORD),
        "ssl.key.password": "not-the-password",
    }
    with pytest.raises(errors.ConfigError, match=r"ssl\.key\.password") as raised:
        ottla.Client(secured.at("mtls"), config)
    assert "not-the-password" not in str(raised.value)


def test_plaintext_client_on_a_tls_port(secured: SecuredKafka) -> None:
    error = refused(secured.at("tls"), {"socket.connection.setup.timeout.ms": 2000})
    assert "TLS" in str(error)
    assert "security.protocol" in str(error)


def test_tls_client_on_a_plaintext_port(secured: SecuredKafka) -> None:
    config = {
        "security.protocol": "SSL",
        "socket.connection.setup.timeout.ms": 2000,
        **secured.tls(),
    }
    error = refused(secured.at("plaintext"), config)
    assert phase_of(error) == "TLS"
    assert "PLAINTEXT" in str(error)


@pytest.mark.parametrize("listener", ["sasl", "sasl_tls"])
def test_client_without_credentials_on_a_sasl_port(secured: SecuredKafka, listener: str) -> None:
    config = {"security.protocol": "SSL", **secured.tls()} if listener == "sasl_tls" else {}
    error = refused(secured.at(listener), config)
    # The broker closes the connection only after a request.
    assert phase_of(error) == "Metadata"
    wanted = "SASL_SSL" if listener == "sasl_tls" else "SASL_PLAINTEXT"
    assert f"security.protocol={wanted}" in str(error)


def test_credentials_on_a_port_that_asks_for_none(secured: SecuredKafka) -> None:
    config = {"security.protocol": "SASL_PLAINTEXT", **credentials("PLAIN")}
    error = refused(secured.at("plaintext"), config)
    assert phase_of(error) == "SASL"
    assert PASSWORD not in str(error)
    assert USER not in str(error)
