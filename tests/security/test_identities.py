"""Named identities on a real listener that validates signed tokens."""

from __future__ import annotations

import logging
import time
import uuid
from pathlib import Path

import pytest

import ottla
from ottla import errors
from tests.security.certificates import Authority
from tests.security.conftest import USER, SecuredKafka
from tests.security.test_tokens import write
from tests.security.token_server import TokenServer
from tests.support.identity_endpoints import Answer, Seen, identity_endpoint

pytestmark = pytest.mark.cluster

LIFETIME = 6
PROVIDER = "sasl.oauthbearer.token.provider"
VARIABLE = "OTTLA_TOKEN_PROVIDERS"


def config_for(secured: SecuredKafka, provider: str) -> dict[str, str]:
    protocol = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    return {**secured.tls(), **protocol, PROVIDER: provider}


@pytest.fixture
def topic(secured: SecuredKafka) -> str:
    name = f"identities-{uuid.uuid4().hex[:8]}"
    secured.create_topic(name)
    return name


def test_a_projected_token(
    secured: SecuredKafka,
    tokens: TokenServer,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"kubernetes?file={tmp_path / 'token'}"
    monkeypatch.setenv(VARIABLE, name)
    config = config_for(secured, name)
    (tmp_path / "token").write_text(tokens.issue(USER))
    write(secured.at("oidc"), topic, config)
    # A token for another service, as that for the cluster's API server.
    (tmp_path / "token").write_text(tokens.issue(USER, audience="kubernetes.default.svc"))
    with pytest.raises(errors.AuthenticationError, match=r"OAUTHBEARER.*invalid_token"):
        ottla.Client(secured.at("oidc"), config, timeout=60)
    report = ottla.diagnose(secured.at("oidc"), config, timeout=60)
    subject = f"the token was for {USER} for kubernetes.default.svc, from {tmp_path / 'token'}"
    assert any(finding.summary.endswith(subject) for finding in report.findings), str(report)


def test_entra_id(
    secured: SecuredKafka,
    tokens: TokenServer,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority = Authority("a public one")
    (tmp_path / "authorities.pem").write_text(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities.pem"))
    name = "entra-id?audience=api://kafka"
    for variable, value in {
        VARIABLE: name,
        "AZURE_TENANT_ID": "shop.example.com",
        "AZURE_CLIENT_ID": "billing",
        "AZURE_CLIENT_SECRET": "hunter2",
    }.items():
        monkeypatch.setenv(variable, value)

    def respond(seen: Seen) -> Answer:
        assert seen.form["scope"] == "api://kafka/.default"
        return 200, {"access_token": tokens.issue(USER), "expires_in": 60}

    with identity_endpoint(respond, authority, tmp_path) as endpoint:
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", endpoint.url)
        write(secured.at("oidc"), topic, config_for(secured, name))
        assert len(endpoint.requests) == 1


@pytest.mark.deep
def test_a_token_that_is_rotated_is_used_before_the_old_one_expires(
    secured: SecuredKafka,
    tokens: TokenServer,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The broker ends a session with its token."""
    file = tmp_path / "token"
    name = f"kubernetes?file={file}"
    monkeypatch.setenv(VARIABLE, name)
    file.write_text(tokens.issue(USER, lifetime=LIFETIME))
    deadline = time.monotonic() + 120

    def lines() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.name == "ottla.identities"]

    with (
        caplog.at_level(logging.INFO, "ottla.identities"),
        ottla.Producer(secured.at("oidc"), config_for(secured, name), timeout=60) as producer,
    ):
        while len(lines()) < 3 and time.monotonic() < deadline:
            producer.send(topic, b"x").result(timeout=60)
            # As the kubelet does: in place of the old one, at any time.
            (tmp_path / "new").write_text(tokens.issue(USER, lifetime=LIFETIME))
            (tmp_path / "new").replace(file)
            time.sleep(0.1)
    assert set(lines()) == {f"kubernetes: a token for {USER} for kafka, from {file}"}
    assert len(lines()) >= 3
