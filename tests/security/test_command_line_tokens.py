"""``ottla tokens`` on a broker with SASL; Kafka's own tool shows the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mock import test_command_line_tokens as on_mock
from tests.mock.test_command_line_tokens import ME, Login, config_file
from tests.security.conftest import SecuredKafka
from tests.security.test_delegation_tokens import LOGIN, TOOL, broker

__all__ = ["broker"]

pytestmark = pytest.mark.cluster

test_a_token_lives = on_mock.test_a_token_lives
test_a_token_logs_in = on_mock.test_a_token_logs_in
test_only_clients_that_log_in_get_tokens = on_mock.test_only_clients_that_log_in_get_tokens


@pytest.fixture
def login(tmp_path: Path, broker: SecuredKafka) -> Login:
    return Login(broker.at("sasl"), broker.at("plaintext"), config_file(tmp_path))


@pytest.mark.deep
def test_kafkas_tool_shows_the_same_tokens(login: Login, broker: SecuredKafka) -> None:
    token = login.create("--renewer", "User:bob")
    shown = broker.run_tool(TOOL, LOGIN, "--describe", "--owner-principal", ME)
    [line] = [each for each in shown.splitlines() if each.startswith(token["token_id"])]
    assert token["hmac"] in line
    assert "User:bob" in line
    broker.run_tool(TOOL, LOGIN, "--expire", "--expiry-time-period", "-1", "--hmac", token["hmac"])
    done = login.run("expire", token["token_id"], "--yes")
    assert (done.code, done.out) == (1, b"")
    assert "DELEGATION_TOKEN_NOT_FOUND" in done.err
