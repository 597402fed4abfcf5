"""The doctor at every kind of secured listener: each failure has its phase and its name."""

from __future__ import annotations

from typing import Any

import pytest

import ottla
from ottla.doctor import Report
from tests.security.conftest import PASSWORD, USER, SecuredKafka

pytestmark = pytest.mark.cluster


def credentials(mechanism: str = "PLAIN", password: str = PASSWORD) -> dict[str, Any]:
    return {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": password}


def diagnose(secured: SecuredKafka, listener: str, protocol: str, **config: Any) -> Report:
    given = {"security.protocol": protocol, **config}
    return ottla.diagnose(secured.at(listener), given, timeout=40)


def only_error(report: Report) -> tuple[str, str, int]:
    """The one error of a report: its code, its phase, and the exit code."""
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


def test_tls_to_a_port_with_plaintext(secured: SecuredKafka) -> None:
    report = diagnose(secured, "plaintext", "SSL", **secured.tls())
    assert only_error(report) == ("speaks_plaintext", "TLS", 5)


@pytest.mark.parametrize(
    ("listener", "words"), [("expired", "expired on"), ("wrong_host", "elsewhere.ottla.test")]
)
def test_certificates_that_cannot_be_trusted(
    secured: SecuredKafka, listener: str, words: str
) -> None:
    report = diagnose(secured, listener, "SSL", **secured.tls())
    assert only_error(report) == ("certificate", "TLS", 5)
    assert words in report.findings[0].summary
    tls = report.facts.bootstrap[0].addresses[0].tls
    assert tls is not None
    assert tls.subject


def test_an_issuer_that_is_not_trusted(secured: SecuredKafka) -> None:
    report = diagnose(secured, "tls", "SSL")
    assert only_error(report) == ("certificate", "TLS", 5)
    assert "not among the trusted authorities" in report.findings[0].summary


def test_a_client_certificate_that_is_missing(secured: SecuredKafka) -> None:
    report = diagnose(secured, "mtls", "SSL", **secured.tls())
    assert only_error(report) == ("certificate", "TLS", 5)
    assert "wants a client certificate" in report.findings[0].summary
    assert diagnose(secured, "mtls", "SSL", **secured.mutual_tls(secured.client_identity)).ok


def test_no_credentials_where_they_are_wanted(secured: SecuredKafka) -> None:
    report = diagnose(secured, "sasl", "PLAINTEXT")
    assert only_error(report) == ("wants_sasl", "SASL", 7)
    assert "it offers" in report.findings[0].summary
    assert "SCRAM-SHA-256" in report.findings[0].summary


def test_credentials_where_there_is_no_sasl(secured: SecuredKafka) -> None:
    report = diagnose(secured, "plaintext", "SASL_PLAINTEXT", **credentials())
    assert only_error(report) == ("without_sasl", "SASL", 7)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password(secured: SecuredKafka, mechanism: str) -> None:
    wrong = credentials(mechanism, password="not-the-one")
    report = diagnose(secured, "sasl", "SASL_PLAINTEXT", **wrong)
    assert only_error(report) == ("credentials", "SASL", 7)
    assert "not-the-one" not in str(report)


def test_a_mechanism_that_is_not_offered(secured: SecuredKafka) -> None:
    report = diagnose(secured, "oauth", "SASL_PLAINTEXT", **credentials())
    assert only_error(report) == ("mechanism", "SASL", 7)
    assert "it offers OAUTHBEARER" in report.findings[0].summary
