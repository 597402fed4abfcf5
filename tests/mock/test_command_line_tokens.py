"""``ottla tokens`` on the mock; tests/security runs the same tests on Kafka.

Invariant: the HMAC of a token is on the standard output of ``create``, and nowhere else.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ottla.testing import Fault, MockCluster
from tests.support.command import CommandResult, ottla_here
from tests.support.kafka_admin import wait_until

NAME, PASSWORD = "tina", "a-password"
ME = f"User:{NAME}"


@dataclass
class Login:
    """A cluster, and the file with the configuration of a client that logs in.

    Attributes:
        address: the listener of the cluster that requires a login.
        open_address: another one that does not, or another cluster.
        config: the file.
    """

    address: str
    open_address: str
    config: Path

    def run(self, *arguments: str) -> CommandResult:
        """Run a subcommand of ``tokens``."""
        return ottla_here("tokens", *arguments, "-b", self.address, "--config", str(self.config))

    def run_well(self, *arguments: str) -> str:
        """Run a subcommand that succeeds, and return its output."""
        done = self.run(*arguments)
        assert (done.code, done.err) == (0, ""), done
        return done.text

    def create(self, *arguments: str) -> dict[str, str]:
        """Create a token; return it when the brokers know it."""
        token: dict[str, str] = json.loads(self.run_well("create", *arguments, "--json"))
        wait_until(lambda: token["token_id"] in self.ids(), lambda: "the token is listed")
        return token

    def ids(self, *arguments: str) -> list[str]:
        """Return the ids of the tokens."""
        listed = json.loads(self.run_well("list", *arguments, "--json"))
        assert all("hmac" not in each for each in listed)
        return [each["token_id"] for each in listed]


def config_file(directory: Path) -> Path:
    """Write the configuration of a client that logs in."""
    file = directory / "client.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.username={NAME}\nsasl.password={PASSWORD}\n"
    )
    return file


@pytest.fixture
def secured() -> Iterator[MockCluster]:
    """A cluster that requires a login."""
    with MockCluster(users={NAME: PASSWORD}) as cluster:
        yield cluster


@pytest.fixture
def login(tmp_path: Path, mock_cluster: MockCluster, secured: MockCluster) -> Login:
    return Login(secured.bootstrap, mock_cluster.bootstrap, config_file(tmp_path))


def test_a_token_lives(login: Login, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    before = login.ids()
    options = ("--renewer", "User:bob", "--max-lifetime", "3h")
    planned = login.run_well("create", *options, "--dry-run")
    assert planned.startswith(
        "create delegation token of the principal of this client: renewers User:bob, "
        "expires for good after 3:00:00"
    )
    assert login.ids() == before
    text = login.run_well("create", *options)
    created = re.fullmatch(
        r"created token (\S{22})\n"
        rf"owner     {ME}\nrenewers  User:bob\n"
        r"expires   in (2 h 59 min|3 h 0 min); if it is renewed, at the latest in \1?.*\n"
        r"hmac      (\S{88})\n",
        text,
    )
    assert created is not None, text
    token, secret = created[1], created[3]
    wait_until(lambda: token in login.ids(), lambda: "the token is listed")
    said = [login.run_well("list"), login.run_well("list", "--json")]
    [row] = [line.split() for line in said[0].splitlines() if token in line]
    assert row[:3] == [token, ME, "User:bob"]
    assert all(len(line) <= 80 for line in said[0].splitlines())
    assert token in login.ids("--owner", ME)
    assert login.ids("--owner", "User:nobody") == []

    said.append(login.run_well("renew", token, "--for", "1h", "--dry-run"))
    assert said[-1].startswith(f"renew delegation token {token}: of {ME} (")
    said.append(login.run_well("renew", token, "--for", "1h"))
    assert re.fullmatch(rf"renewed token {token}: it expires in (59|60|1 h 0) min\n", said[-1])
    said.append(login.run_well("renew", token))
    said.append(login.run_well("expire", token, "--in", "2h", "--yes"))
    assert re.fullmatch(rf"changed token {token}: it expires in (1 h 59|2 h 0) min\n", said[-1])
    shown = login.run("expire", token)
    said += [shown.text, shown.err]
    assert (shown.code, len(shown.text.splitlines())) == (1, 1)
    assert f"expire delegation token {token}: of {ME}" in shown.text
    assert "-> at once)" in shown.text
    assert token in login.ids()
    said.append(login.run_well("expire", token, "--yes"))
    assert said[-1] == f"expired token {token}\n"
    wait_until(lambda: token not in login.ids(), lambda: "the token is gone")
    for command in (("renew", token), ("expire", token, "--yes")):
        done = login.run(*command)
        assert (done.code, done.out) == (1, b"")
        assert "DELEGATION_TOKEN_NOT_FOUND" in done.err
        assert token in done.err
        said.append(done.err)
    assert not any(secret in each for each in (*said, caplog.text))


def test_a_token_logs_in(login: Login) -> None:
    token = login.create()
    assert token["owner"] == ME
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": token["token_id"],
        "sasl.scram.tokenauth": "true",
    }
    given = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
    file = login.config.with_name("token.properties")
    file.write_text(f"sasl.password={token['hmac']}\n")
    command = ("topics", "list", "-b", login.address, "--config", str(file), *given)
    assert ottla_here(*command).code == 0
    login.run_well("expire", token["token_id"], "--yes")
    wait_until(lambda: ottla_here(*command).code != 0, lambda: "the login is refused")
    refused = ottla_here(*command)
    assert (refused.code, refused.out) == (1, b"")
    assert "check that the delegation token has not expired" in refused.err
    assert token["hmac"] not in refused.err


def test_several_tokens_change_together(login: Login) -> None:
    tokens = sorted(login.create()["token_id"] for _ in range(2))
    planned = login.run_well("renew", *tokens, tokens[0], "--dry-run")
    assert [line.split()[3].rstrip(":") for line in planned.splitlines()] == tokens
    missing = login.run("expire", tokens[0], "nonsense", "--yes")
    assert (missing.code, missing.text) == (1, f"expired token {tokens[0]}\n")
    assert "token nonsense" in missing.err
    rest = [login.create()["token_id"], tokens[1]]
    expired = login.run_well("expire", *rest, "--yes")
    assert expired == "".join(f"expired token {each}\n" for each in rest)


def test_wrong_arguments(login: Login) -> None:
    for arguments, code, message in (
        (("create", "--owner", NAME), 2, "is not a principal"),
        (("create", "--renewer", "bob"), 2, "is not a principal"),
        (("create", "--max-lifetime", "soon"), 2, "is not a duration"),
        (("create", "--max-lifetime", "0s"), 2, "expected a time that is not over"),
        (("renew", "x", "--for", "never"), 2, "is not a duration"),
        (("expire", "x", "--in", "-1s"), 2, "expected one argument"),
        (("list", "--owner", "nobody"), 2, "is not a principal"),
        (("renew",), 2, "required: TOKEN"),
    ):
        done = login.run(*arguments)
        assert (done.code, done.out) == (code, b""), done
        assert message in done.err


def test_only_clients_that_log_in_get_tokens(login: Login) -> None:
    for command in (("list",), ("create",), ("create", "--dry-run"), ("renew", "x")):
        done = ottla_here("tokens", *command, "-b", login.open_address)
        assert (done.code, done.out) == (1, b"")
        assert "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED" in done.err
        assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("command", "api"),
    [
        ("list", "DescribeDelegationToken"),
        ("create", "CreateDelegationToken"),
        ("renew TOKEN", "RenewDelegationToken"),
        ("expire TOKEN --yes", "ExpireDelegationToken"),
    ],
)
def test_a_refusal_is_clear_and_changes_nothing(
    login: Login, secured: MockCluster, command: str, api: str
) -> None:
    token = login.create()
    before = login.run_well("list", "--json")
    secured.inject(Fault.error("DELEGATION_TOKEN_AUTHORIZATION_FAILED"), api=api)
    done = login.run(*command.replace("TOKEN", token["token_id"]).split())
    secured.clear_faults()
    assert (done.code, done.out) == (1, b"")
    assert "DELEGATION_TOKEN_AUTHORIZATION_FAILED" in done.err
    assert token["hmac"] not in done.err
    assert login.run_well("list", "--json") == before


def test_a_lost_response_leaves_doubt(login: Login, secured: MockCluster) -> None:
    """Regression: the token was looked for again, and the error of that left no doubt."""
    token = login.create()["token_id"]
    secured.inject(Fault.disconnect("after"), api="ExpireDelegationToken", times=1)
    done = login.run("expire", token, "--yes")
    assert (done.code, done.out) == (1, b"")
    assert "the change may have been made nevertheless" in done.err
    assert token not in login.ids()
