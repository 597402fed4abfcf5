"""OAUTHBEARER on real listeners: tokens from a callback and from a token endpoint."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import ottla
from ottla import errors
from tests.security.certificates import Authority
from tests.security.conftest import USER, SecuredKafka
from tests.security.token_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    SCOPE,
    TokenServer,
    unsecured_token,
)

pytestmark = pytest.mark.cluster

# Of a token, in seconds: enough for a machine that pauses for a while.
LIFETIME = 6


def bearer(**more: Any) -> dict[str, Any]:
    return {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "OAUTHBEARER", **more}


def endpoint(tokens: TokenServer, **more: Any) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": tokens.token_url,
        "sasl.oauthbearer.token.endpoint.allow.http": True,
        "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
        "sasl.oauthbearer.scope": SCOPE,
        **more,
    }


def write(bootstrap: str, topic: str, config: dict[str, Any], **kwargs: Any) -> None:
    with ottla.Producer(bootstrap, config, timeout=60, **kwargs) as producer:
        producer.send(topic, b"x").result(timeout=60)


def test_unsecured_tokens_by_callback_are_renewed_with_the_session(secured: SecuredKafka) -> None:
    """The broker ends a session with its token."""
    topic = f"tokens-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    # The broker's first validation loads classes, which may take longer than a token lives.
    write(secured.at("oauth"), topic, bearer(), sasl_oauth_token=lambda: unsecured_token(USER))
    issued_tokens = []
    started = time.monotonic()

    def token() -> tuple[str, float]:
        issued_tokens.append(unsecured_token(USER, lifetime=LIFETIME))
        return issued_tokens[-1], time.time() + LIFETIME

    config = bearer(sasl_oauth_token=token)
    with ottla.Producer(secured.at("oauth"), **config, timeout=60) as producer:
        deadline = time.monotonic() + 120
        while len(issued_tokens) < 3 and time.monotonic() < deadline:
            producer.send(topic, b"x").result(timeout=60)
            time.sleep(0.02)
    assert len(issued_tokens) >= 3
    assert time.monotonic() - started > LIFETIME, "each token is used for most of its lifetime"


def test_signed_tokens_by_callback(secured: SecuredKafka, tokens: TokenServer) -> None:
    topic = f"tokens-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    config = {**secured.tls(), "security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}
    write(secured.at("oidc"), topic, config, sasl_oauth_token=lambda: tokens.issue(USER))

    def wrong_audience() -> str:
        return tokens.issue(USER, audience="another service")

    with pytest.raises(errors.AuthenticationError, match=r"OAUTHBEARER.*invalid_token"):
        ottla.Client(secured.at("oidc"), config, timeout=60, sasl_oauth_token=wrong_audience)


def test_client_credentials(secured: SecuredKafka, tokens: TokenServer) -> None:
    topic = f"tokens-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    before = tokens.issued
    write(secured.at("oidc"), topic, {**endpoint(tokens), **secured.tls()})
    assert tokens.issued == before + 1


def test_a_wrong_client_secret(secured: SecuredKafka, tokens: TokenServer) -> None:
    config = {**endpoint(tokens), **secured.tls()}
    config["sasl.oauthbearer.client.credentials.client.secret"] = "wrong-secret"
    started = time.monotonic()
    with pytest.raises(errors.AuthenticationError, match=r"401.*wrong client secret") as raised:
        ottla.Client(secured.at("oidc"), config, timeout=60)
    assert time.monotonic() - started < 25
    assert raised.value.context["phase"] == "SASL"
    assert "wrong-secret" not in str(raised.value)


def trusting(secured: SecuredKafka, *of_tokens: Authority) -> dict[str, Any]:
    """Trust the brokers' authority, and others for the token endpoint."""
    certificates = "".join(authority.certificate for authority in of_tokens)
    key = "sasl.oauthbearer.token.endpoint.ssl.truststore.certificates"
    return {**secured.tls(), key: certificates}


def test_client_credentials_over_https(
    secured: SecuredKafka, tokens: TokenServer, tmp_path: Path
) -> None:
    """The endpoint's authority differs from the brokers'."""
    topic = f"tokens-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    authority = Authority("tokens")
    before = tokens.issued
    with tokens.over_tls(authority.issue("tokens", ["localhost"]), tmp_path) as url:
        config = endpoint(tokens, **trusting(secured, authority))
        config |= {"sasl.oauthbearer.token.endpoint.url": url}
        del config["sasl.oauthbearer.token.endpoint.allow.http"]
        write(secured.at("oidc"), topic, config)
    assert tokens.issued == before + 1


@pytest.mark.parametrize("retriever", ["JwtBearerJwtRetriever", "ClientCredentialsJwtRetriever"])
def test_tokens_for_an_assertion(
    secured: SecuredKafka, tokens: TokenServer, retriever: str
) -> None:
    topic = f"tokens-{uuid.uuid4().hex[:8]}"
    secured.create_topic(topic)
    key = ec.generate_private_key(ec.SECP256R1())
    tokens.client_key = key.public_key()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    bearer = "sasl.oauthbearer."
    config = endpoint(
        tokens,
        **secured.tls(),
        **{
            f"{bearer}client.credentials.client.secret": "not-the-one",
            f"{bearer}jwt.retriever.class": retriever,
            f"{bearer}assertion.private.key.pem": pem,
            f"{bearer}assertion.algorithm": "ES256",
            f"{bearer}assertion.claim.iss": CLIENT_ID,
            f"{bearer}assertion.claim.sub": CLIENT_ID,
            f"{bearer}assertion.claim.aud": tokens.token_url,
        },
    )
    write(secured.at("oidc"), topic, config)


def test_the_brokers_authority_is_not_the_token_endpoints(
    secured: SecuredKafka, tokens: TokenServer, tmp_path: Path
) -> None:
    """Regression: an issuer of broker certificates could get the client's secret."""
    before = tokens.issued
    identity = secured.authority.issue("tokens", ["localhost"])
    with tokens.over_tls(identity, tmp_path) as url:
        config = endpoint(tokens, **secured.tls())
        config |= {"sasl.oauthbearer.token.endpoint.url": url}
        key = r"sasl\.oauthbearer\.token\.endpoint\.ssl\.truststore\.location"
        with pytest.raises(errors.AuthenticationError, match=key):
            ottla.Client(secured.at("oidc"), config, timeout=60)
    assert tokens.issued == before


@pytest.mark.parametrize(
    ("host", "known", "message"),
    [
        ("localhost", False, r'its issuer, "CN=tokens", is not among the trusted authorities'),
        ("elsewhere.ottla.test", True, r'for elsewhere\.ottla\.test, not for "localhost"'),
    ],
)
def test_a_token_endpoint_that_is_not_trusted_gets_no_secret(
    secured: SecuredKafka, tokens: TokenServer, tmp_path: Path, host: str, known: bool, message: str
) -> None:
    authority = Authority("tokens")
    before = tokens.issued
    with tokens.over_tls(authority.issue("tokens", [host]), tmp_path) as url:
        config = endpoint(tokens, **trusting(secured, *([authority] if known else [])))
        config |= {"sasl.oauthbearer.token.endpoint.url": url}
        started = time.monotonic()
        with pytest.raises(errors.AuthenticationError, match=message) as raised:
            ottla.Client(secured.at("oidc"), config, timeout=60)
        assert time.monotonic() - started < 25
    assert f"no token from {url}: the token server's certificate" in str(raised.value)
    assert raised.value.context["phase"] == "SASL"
    assert CLIENT_SECRET not in str(raised.value)
    assert tokens.issued == before
