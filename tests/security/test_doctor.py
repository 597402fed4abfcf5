"""The doctor at every kind of secured listener.

Each failure has a phase, a code and a text in tests/golden/doctor/security.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ScramMechanism  # type: ignore[attr-defined]  # not in its __all__

import ottla
from ottla.doctor import Report
from tests.security.certificates import Authority
from tests.security.conftest import PASSWORD, USER, SecuredKafka
from tests.security.test_tokens import endpoint
from tests.security.token_server import CLIENT_SECRET, TokenServer
from tests.support.golden import Replacements, check_golden, render_golden
from tests.support.kafka_admin import wait_until
from tests.support.ports import free_ports

pytestmark = pytest.mark.cluster


def credentials(
    mechanism: str = "PLAIN", password: str = PASSWORD, user: str = USER
) -> dict[str, Any]:
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


def diagnose(secured: SecuredKafka, listener: str, protocol: str, **config: Any) -> Report:
    given = {**config, "security.protocol": protocol}
    # By address: localhost may resolve to one or two addresses.
    return ottla.diagnose(secured.at(listener, "127.0.0.1"), given, timeout=120)


def check(secured: SecuredKafka, name: str, report: Report, **texts: str) -> None:
    """Compare with the golden text, in which the listeners' ports are 9092, 9093, …"""
    ports = {port: 9092 + i for i, port in enumerate(secured.ports.values())}
    named = {text: name for name, text in texts.items()}
    shown = render_golden(report.to_dict(), Replacements(ports, named, secured.made))
    check_golden(f"doctor/security/{name}", shown)


def only_error(report: Report) -> tuple[str, str, int]:
    """Return the code and phase of a report's only error, and the exit code."""
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert len(errors) == 1, str(report)
    assert PASSWORD not in str(report)
    assert PASSWORD not in str(report.to_dict())
    return errors[0].code, errors[0].phase, report.exit_code


def test_tls_shows_its_certificate(secured: SecuredKafka) -> None:
    report = diagnose(secured, "tls", "SSL", **secured.tls())
    assert report.ok, str(report)
    address = report.facts.brokers[0].endpoint.working
    assert address is not None
    assert address.tls is not None
    assert address.tls.version == "TLSv1.3"
    assert "localhost" in address.tls.names
    assert [step.check for step in address.steps][:2] == ["TCP", "TLS"]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl_names_what_is_offered(secured: SecuredKafka, mechanism: str) -> None:
    report = diagnose(secured, "sasl", "SASL_PLAINTEXT", **credentials(mechanism))
    assert report.ok, str(report)
    address = report.facts.brokers[0].endpoint.working
    assert address is not None
    assert set(address.mechanisms) == {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}


def test_plaintext_to_a_port_with_tls(secured: SecuredKafka) -> None:
    report = diagnose(secured, "tls", "PLAINTEXT")
    assert only_error(report) == ("speaks_tls", "TLS", 5)
    check(secured, "plaintext_to_tls", report)


def test_tls_to_a_port_with_plaintext(secured: SecuredKafka) -> None:
    report = diagnose(secured, "plaintext", "SSL", **secured.tls())
    assert only_error(report) == ("speaks_plaintext", "TLS", 5)
    check(secured, "tls_to_plaintext", report)


@pytest.mark.parametrize(
    ("listener", "code", "message"),
    [
        ("expired", "certificate_expired", "valid until"),
        ("wrong_host", "certificate_name", "elsewhere.ottla.test"),
    ],
)
def test_certificates_that_cannot_be_trusted(
    secured: SecuredKafka, listener: str, code: str, message: str
) -> None:
    report = diagnose(secured, listener, "SSL", **secured.tls())
    assert only_error(report) == (code, "TLS", 5)
    assert message in report.findings[0].summary
    tls = report.facts.bootstrap[0].addresses[0].tls
    assert tls is not None
    assert tls.subject
    check(secured, f"certificate_{listener}", report)


def test_an_untrusted_issuer(secured: SecuredKafka) -> None:
    report = diagnose(secured, "tls", "SSL")
    assert only_error(report) == ("certificate_issuer", "TLS", 5)
    assert "issued by" in report.findings[0].summary
    check(secured, "certificate_untrusted", report)


def test_a_missing_client_certificate(secured: SecuredKafka) -> None:
    report = diagnose(secured, "mtls", "SSL", **secured.tls())
    assert only_error(report) == ("client_certificate_missing", "TLS", 5)
    assert "requires a client certificate" in report.findings[0].summary
    check(secured, "client_certificate_missing", report)
    assert diagnose(secured, "mtls", "SSL", **secured.mutual_tls(secured.client_identity)).ok


def test_missing_credentials(secured: SecuredKafka) -> None:
    report = diagnose(secured, "sasl", "PLAINTEXT")
    assert only_error(report) == ("wants_sasl", "SASL", 7)
    assert "it offers" in report.findings[0].summary
    assert "SCRAM-SHA-256" in report.findings[0].summary
    check(secured, "sasl_wanted", report)


def test_sasl_over_tls_where_only_tls_is_configured(secured: SecuredKafka) -> None:
    """The fix names the protocol to set, which keeps TLS."""
    report = diagnose(secured, "oidc", "SSL", **secured.tls())
    assert only_error(report) == ("wants_sasl", "SASL", 7)
    assert "SASL_SSL" in report.findings[0].fix
    check(secured, "sasl_wanted_over_tls", report)


def test_credentials_without_sasl(secured: SecuredKafka) -> None:
    report = diagnose(secured, "plaintext", "SASL_PLAINTEXT", **credentials())
    assert only_error(report) == ("without_sasl", "SASL", 7)
    check(secured, "sasl_unknown", report)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password(secured: SecuredKafka, mechanism: str) -> None:
    wrong = credentials(mechanism, password="not-the-one")
    report = diagnose(secured, "sasl", "SASL_PLAINTEXT", **wrong)
    assert only_error(report) == ("credentials", "SASL", 7)
    assert "not-the-one" not in str(report)
    check(secured, f"wrong_password_{mechanism.lower()}", report)


def test_an_unsupported_mechanism(secured: SecuredKafka) -> None:
    report = diagnose(secured, "oauth", "SASL_PLAINTEXT", **credentials())
    assert only_error(report) == ("mechanism", "SASL", 7)
    assert "it offers OAUTHBEARER" in report.findings[0].summary
    check(secured, "mechanism_not_offered", report)


def test_a_deleted_user(secured: SecuredKafka) -> None:
    name = f"user-{uuid.uuid4().hex[:8]}"
    config = credentials("SCRAM-SHA-512", "p", name)

    def can_authenticate() -> bool:
        return diagnose(secured, "sasl", "SASL_PLAINTEXT", **config).ok

    secured.add_user(name, "p", ScramMechanism.SCRAM_SHA_512)
    wait_until(can_authenticate, lambda: "the user cannot authenticate")
    secured.revoke_user(name, ScramMechanism.SCRAM_SHA_512)
    wait_until(lambda: not can_authenticate(), lambda: "the user can still authenticate")
    report = diagnose(secured, "sasl", "SASL_PLAINTEXT", **config)
    assert only_error(report) == ("credentials", "SASL", 7)
    check(secured, "user_revoked", report)


def test_a_token_endpoint_that_is_not_trusted(
    secured: SecuredKafka, tokens: TokenServer, tmp_path: Path
) -> None:
    """The error is not a rejection by the broker: there was no token to send."""
    identity = Authority("tokens").issue("tokens", ["localhost"])
    with tokens.over_tls(identity, tmp_path) as url:
        config = {**endpoint(tokens), "sasl.oauthbearer.token.endpoint.url": url}
        report = diagnose(secured, "oidc", "SASL_SSL", **secured.tls(), **config)
    assert only_error(report) == ("no_token", "SASL", 7)
    check(secured, "token_endpoint_untrusted", report, TOKEN_URL=url)


def test_a_wrong_client_secret(secured: SecuredKafka, tokens: TokenServer) -> None:
    wrong = {"sasl.oauthbearer.client.credentials.client.secret": "not-the-one"}
    config = {**endpoint(tokens, **wrong), **secured.tls()}
    report = diagnose(secured, "oidc", "SASL_SSL", **config)
    assert only_error(report) == ("no_token", "SASL", 7)
    assert "not-the-one" not in str(report.to_dict())
    check(secured, "wrong_client_secret", report, TOKEN_URL=tokens.token_url)


def test_a_token_endpoint_that_is_down(secured: SecuredKafka, tokens: TokenServer) -> None:
    [closed] = free_ports(1)
    url = f"http://127.0.0.1:{closed}/token"
    config = {**endpoint(tokens), "sasl.oauthbearer.token.endpoint.url": url, **secured.tls()}
    report = diagnose(secured, "oidc", "SASL_SSL", **config)
    assert only_error(report) == ("no_token", "SASL", 7)
    check(secured, "token_endpoint_down", report, TOKEN_URL=url)


def test_tokens_of_an_endpoint(secured: SecuredKafka, tokens: TokenServer) -> None:
    config = {**endpoint(tokens), **secured.tls()}
    report = diagnose(secured, "oidc", "SASL_SSL", **config)
    assert report.ok, str(report)
    assert CLIENT_SECRET not in str(report.to_dict())
