"""Admin's calls about delegation tokens, on a broker with SASL; its own tool shows the same."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

import pyarrow as pa
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    ScramMechanism,
)

import ottla
from ottla import errors
from ottla.admin import DelegationToken
from tests.security.conftest import SecuredKafka
from tests.support.admins import admin_of_kind
from tests.support.kafka_admin import wait_until

pytestmark = pytest.mark.cluster

TOOL = "org.apache.kafka.tools.DelegationTokenCommand"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
NAME, PASSWORD = "tina", "a-password"
ME = f"User:{NAME}"
HOUR_MS = 3_600_000


def login(user: str, password: str, option: str = "") -> dict[str, str]:
    """Return the configuration of a client that logs in by SCRAM."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM} required username="{user}" password="{password}"{option};',
    }


LOGIN = login(NAME, PASSWORD)


def token_login(token: DelegationToken, mechanism: str = "SCRAM-SHA-256") -> dict[str, str]:
    """Return the configuration of a client that logs in with a token."""
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": token.token_id,
        "sasl.password": token.password,
        "sasl.scram.tokenauth": "true",
    }


@pytest.fixture(scope="module")
def broker(secured: SecuredKafka) -> SecuredKafka:
    secured.add_user(NAME, PASSWORD, ScramMechanism.SCRAM_SHA_256)
    return secured


@pytest.fixture(params=["sync", "asyncio"])
def admin(request: pytest.FixtureRequest, broker: SecuredKafka) -> Iterator[ottla.Admin]:
    with admin_of_kind(request.param, broker.at("sasl"), LOGIN) as admin:
        yield admin


def described(admin: ottla.Admin, token: DelegationToken) -> list[DelegationToken]:
    return [each for each in admin.describe_delegation_token() if each.token_id == token.token_id]


def test_a_token_lives(
    admin: ottla.Admin, broker: SecuredKafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = time.time() * 1000
    tokens = admin.describe_delegation_token()
    plan = admin.create_delegation_token(renewers=["User:bob"], dry_run=True)
    [line] = str(plan).splitlines()
    assert line.startswith("create delegation token of the principal of this client: renewers")
    assert admin.describe_delegation_token() == tokens
    token = admin.create_delegation_token(
        renewers=["User:bob", "User:carol"], max_lifetime=timedelta(hours=3)
    )
    assert (token.owner, token.requester) == (ME, ME)
    assert token.renewers == ["User:bob", "User:carol"]
    assert before - 60_000 < token.issue_timestamp_ms < before + 60_000
    assert token.max_timestamp_ms == token.issue_timestamp_ms + 3 * HOUR_MS
    assert token.expiry_timestamp_ms <= token.max_timestamp_ms
    wait_until(lambda: described(admin, token) == [token], lambda: "the token is described")
    assert admin.describe_delegation_token(["User:nobody"]) == []
    plans = [
        admin.renew_delegation_token(token.hmac, dry_run=True),
        admin.renew_delegation_token(token.hmac, period=timedelta(hours=1), dry_run=True),
        admin.expire_delegation_token(token.hmac, dry_run=True),
        admin.expire_delegation_token(token.hmac, period=timedelta(days=9), dry_run=True),
    ]
    assert [len(plan) for plan in plans] == [1] * 4
    assert plans[2][0].after == "at once"
    # No later than it expires for good.
    assert plans[3][0].after == plans[3][0].before
    for plan in plans:
        assert token.token_id in str(plan)
        assert token.password not in str(plan) + repr(plan)
    assert described(admin, token) == [token]
    rows = admin.describe_delegation_token([ME])
    assert token in rows
    assert "hmac" not in rows.to_arrow().column_names

    # With the token, a client logs in as its owner.
    by_jaas = login(token.token_id, token.password, ' tokenauth="true"')
    with ottla.Admin(broker.at("sasl"), by_jaas) as as_owner:
        assert as_owner.list_topics() is not None
        with pytest.raises(errors.BrokerError) as raised:
            as_owner.create_delegation_token()
        assert raised.value.name == "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"

    soon = admin.renew_delegation_token(token.hmac, period=timedelta(hours=1))
    assert before < soon < token.issue_timestamp_ms + 2 * HOUR_MS
    assert admin.renew_delegation_token(token.hmac) == token.max_timestamp_ms
    later = admin.expire_delegation_token(token.hmac, period=timedelta(hours=2))
    wait_until(
        lambda: [each.expiry_timestamp_ms for each in described(admin, token)] == [later],
        lambda: "the new expiry is described",
    )
    shown = broker.run_tool(TOOL, LOGIN, "--describe", "--owner-principal", ME)
    [line] = [each for each in shown.splitlines() if each.startswith(token.token_id)]
    assert token.password in line
    assert "User:bob" in line
    assert "User:carol" in line

    assert admin.expire_delegation_token(token.hmac) < later
    wait_until(lambda: described(admin, token) == [], lambda: "the token is gone")
    for dry_run in (True, False):
        with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_NOT_FOUND") as gone:
            admin.renew_delegation_token(token.hmac, dry_run=dry_run)
    with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_NOT_FOUND"):
        admin.expire_delegation_token(token.hmac, dry_run=True)
    for text in (repr(token), str(token), repr(rows), str(gone.value), caplog.text):
        for secret in (token.password, token.hmac.hex(), repr(token.hmac)[2:-1]):
            assert secret not in text


@pytest.mark.parametrize(
    "mechanism", ["SCRAM-SHA-256", pytest.param("SCRAM-SHA-512", marks=pytest.mark.deep)]
)
def test_clients_log_in_until_the_token_expires(
    broker: SecuredKafka, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    topic, address = f"token-{mechanism.lower()}", broker.at("sasl")
    broker.create_topic(topic)
    with ottla.Admin(address, LOGIN) as admin:
        token = admin.create_delegation_token(max_lifetime=timedelta(hours=1))
        wait_until(lambda: described(admin, token) == [token], lambda: "the token is described")
        config = token_login(token, mechanism)
        with ottla.Producer(address, config) as producer:
            producer.send(topic, b"by token", partition=0).result(timeout=60)
        table = pa.table(ottla.scan(topic, address, config=config))
        assert table["value"].to_pylist() == [b"by token"]

        admin.expire_delegation_token(token.hmac)

    def refusal() -> errors.AuthenticationError | None:
        try:
            ottla.Client(address, config).close()
        except errors.AuthenticationError as error:
            return error
        return None

    # The broker learns of it a moment later.
    wait_until(lambda: refusal() is not None, lambda: "the login is refused")
    error = refusal()
    assert error is not None
    assert not error.retriable
    assert error.context["phase"] == "SASL"
    assert "check that the delegation token has not expired" in str(error)
    for secret in (token.password, token.hmac.hex(), repr(token.hmac)[2:-1]):
        assert secret not in repr(error) + str(error) + caplog.text


def test_an_expired_token_can_be_deleted_only(admin: ottla.Admin) -> None:
    """Regression: the plan of a deletion was an error, and the deletion was not."""
    token = admin.create_delegation_token(max_lifetime=timedelta(milliseconds=1))
    wait_until(lambda: described(admin, token) == [token], lambda: "the token is described")
    hour = timedelta(hours=1)
    for dry_run in (True, False):
        with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_EXPIRED"):
            admin.renew_delegation_token(token.hmac, dry_run=dry_run)
        with pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_EXPIRED"):
            admin.expire_delegation_token(token.hmac, period=hour, dry_run=dry_run)
    [change] = admin.expire_delegation_token(token.hmac, dry_run=True)
    assert change.after == "at once"
    admin.expire_delegation_token(token.hmac)
    wait_until(lambda: described(admin, token) == [], lambda: "the token is gone")


def test_a_token_of_another(admin: ottla.Admin) -> None:
    token = admin.create_delegation_token(owner="User:dave", renewers=[ME])
    assert (token.owner, token.requester) == ("User:dave", ME)
    wait_until(lambda: described(admin, token) == [token], lambda: "the token is described")
    assert admin.describe_delegation_token(["User:dave"]) == [token]
    admin.expire_delegation_token(token.hmac)


def test_mistakes(admin: ottla.Admin, broker: SecuredKafka) -> None:
    for call in (
        lambda: admin.create_delegation_token(owner=NAME),
        lambda: admin.create_delegation_token(renewers=["User:"]),
        lambda: admin.create_delegation_token(max_lifetime=timedelta()),
        lambda: admin.renew_delegation_token(b"x", period=timedelta(hours=-1)),
        lambda: admin.describe_delegation_token(["nobody"]),
    ):
        with pytest.raises(errors.ConfigError):
            call()
    with (
        ottla.Admin(broker.at("plaintext")) as nobody,
        pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
    ):
        nobody.create_delegation_token()
    with (
        ottla.Admin(broker.at("plaintext")) as nobody,
        pytest.raises(errors.BrokerError, match="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
    ):
        nobody.create_delegation_token(dry_run=True)
