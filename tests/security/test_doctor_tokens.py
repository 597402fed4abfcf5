"""The doctor with a token that is expired: a broker with a validator of tokens."""

from __future__ import annotations

import pytest

import ottla
from tests.doctor.verdicts import check_verdict
from tests.security.conftest import USER, SecuredKafka
from tests.security.token_server import unsecured_token
from tests.support.golden import Replacements

pytestmark = pytest.mark.cluster


def test_an_expired_token(secured: SecuredKafka) -> None:
    expired = unsecured_token(USER, lifetime=-3600)
    report = ottla.diagnose(
        secured.at("oauth", "127.0.0.1"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token=lambda: expired,
        timeout=60,
    )
    ports = {port: 9092 + i for i, port in enumerate(secured.ports.values())}
    check_verdict("sasl/token_expired", report, Replacements(ports), exact=False)
