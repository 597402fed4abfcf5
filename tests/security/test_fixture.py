"""The secured broker works with librdkafka: failures of other tests are not its fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.security.conftest import KEY_PASSWORD, PASSWORD, USER, SecuredKafka
from tests.security.token_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    SCOPE,
    TokenServer,
    unsecured_token,
)

pytestmark = pytest.mark.cluster


def members(bootstrap: str, config: dict[str, Any]) -> int:
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, **config})
    if "oauth_cb" in config:
        client.poll(0.5)  # requests tokens
    return len(client.list_topics(timeout=60).brokers)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("listener", ["sasl", "sasl_tls", "short_sessions"])
def test_users(secured: SecuredKafka, listener: str, mechanism: str) -> None:
    config = {
        "security.protocol": "sasl_plaintext" if listener == "sasl" else "sasl_ssl",
        "ssl.ca.pem": secured.authority.certificate,
        "sasl.mechanism": mechanism,
        "sasl.username": USER,
        "sasl.password": PASSWORD,
    }
    if listener == "sasl":
        del config["ssl.ca.pem"]
    assert members(secured.at(listener), config) == 1


def test_tls(secured: SecuredKafka, tmp_path: Path) -> None:
    trust = {"security.protocol": "ssl", "ssl.ca.pem": secured.authority.certificate}
    assert members(secured.at("tls"), trust) == 1
    for listener in ("mtls", "expired", "wrong_host"):
        with pytest.raises(KafkaException):
            AdminClient(
                {"bootstrap.servers": secured.at(listener), "log_level": 0, **trust}
            ).list_topics(timeout=1.5)
    shown = {
        "ssl.certificate.pem": secured.client_identity.certificate,
        "ssl.key.pem": secured.client_identity.key(KEY_PASSWORD),
        "ssl.key.password": KEY_PASSWORD,
    }
    assert members(secured.at("mtls"), {**trust, **shown}) == 1


def test_tokens(secured: SecuredKafka, tokens: TokenServer) -> None:
    def bearer(token: str) -> dict[str, Any]:
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _: (token, 2_000_000_000.0),
        }

    unsecured = {"security.protocol": "sasl_plaintext", **bearer(unsecured_token(USER))}
    assert members(secured.at("oauth"), unsecured) == 1
    signed = {
        "security.protocol": "sasl_ssl",
        "ssl.ca.pem": secured.authority.certificate,
        **bearer(tokens.issue(USER)),
    }
    assert members(secured.at("oidc"), signed) == 1


def test_token_server(secured: SecuredKafka, tokens: TokenServer) -> None:
    config = {
        "security.protocol": "sasl_ssl",
        "ssl.ca.pem": secured.authority.certificate,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": CLIENT_ID,
        "sasl.oauthbearer.client.secret": CLIENT_SECRET,
        "sasl.oauthbearer.token.endpoint.url": tokens.token_url,
        "sasl.oauthbearer.scope": SCOPE,
    }
    before = tokens.issued
    assert members(secured.at("oidc"), config) == 1
    assert tokens.issued > before
