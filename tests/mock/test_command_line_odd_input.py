"""Odd arguments: no traceback, no silence, no false success; the error says what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ottla
from ottla.admin import NewTopic
from ottla.errors import ConfigError
from ottla.testing import MockCluster
from tests.support.command import CommandResult, ottla_here

HUGE = "99999999999999999999"
EMPTY = "is empty: give a value, or check that the shell's variable is set"


@pytest.fixture
def run(mock_cluster: MockCluster, topic: str) -> str:
    """A cluster with a topic of one record, and a group."""
    mock_cluster.append(topic, 0, [b"a record"])
    mock_cluster.commit("billing", topic, 0, 0)
    return mock_cluster.bootstrap


def refused(address: str, *words: str) -> CommandResult:
    """Run a command that changes nothing and prints one error of its arguments."""
    done = ottla_here(*words, "-b", address, stdin=b"one\n")
    assert (done.code, done.out) == (2, b""), done
    assert "Traceback" not in done.err
    return done


@pytest.mark.parametrize(
    "words",
    [
        ("groups", "delete", "", "--yes"),
        ("groups", "clone", "billing", ""),
        ("groups", "describe", ""),
        ("groups", "remove-members", "billing", "--member", ""),
        ("groups", "list", "--match", ""),
        ("topics", "delete", "", "--yes"),
        ("offsets", "orders", "--at", ""),
        ("quotas", "set", "--user", "", "--client-id", "app", "consumer_byte_rate=9"),
        ("acls", "create", "--principal", "User:bob", "--allow", "", "--topic", "orders"),
        ("acls", "delete", "--topic", "", "--yes"),
        ("consume", "-t", "", "-e"),
        ("transactions", "describe", "--id", ""),
        ("users", "delete-password", "", "--yes"),
        ("tokens", "expire", "", "--yes"),
    ],
)
def test_an_empty_name_is_a_variable_that_is_not_set(run: str, words: tuple[str, ...]) -> None:
    assert EMPTY in refused(run, *words).err


@pytest.mark.parametrize("words", [("topics", "list", "-b", ""), ("topology", "")])
def test_an_empty_address_is_not_that_of_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: str, words: tuple[str, ...]
) -> None:
    profiles = tmp_path / "profiles.ini"
    profiles.write_text(f"[default]\nbootstrap.servers = {run}\n")
    monkeypatch.setenv("OTTLA_PROFILES", str(profiles))
    assert ottla_here("topics", "list").code == 0
    done = ottla_here(*words)
    assert (done.code, EMPTY in done.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ("topics", "create", "new", "-p", HUGE),
        ("topics", "add-partitions", "orders", "--total", HUGE),
        ("transactions", "abort", "-t", "orders", "-p", HUGE, "--start-offset", "0"),
        ("quorum", "remove-voter", HUGE, "--directory", "x"),
    ],
)
def test_a_number_that_is_out_of_range(run: str, words: tuple[str, ...]) -> None:
    assert f"{HUGE} is out of range" in refused(run, *words).err


def test_admin_refuses_a_number_that_is_out_of_range(run: str) -> None:
    with (
        ottla.Admin(run) as admin,
        pytest.raises(ConfigError, match="CreateTopics: a number is out of range"),
    ):
        admin.create_topics([NewTopic("new", int(HUGE))])


@pytest.mark.parametrize("value", ["nan", "-1", "inf"])
@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("watch", "--for", "1"), "--interval"),
        (("watch",), "--for"),
        (("console", "--no-browser"), "--for"),
        (("topics", "top"), "--interval"),
        (("transactions", "list"), "--longer-than"),
    ],
)
def test_a_time_that_never_ends_or_comes(
    run: str, command: tuple[str, ...], option: str, value: str
) -> None:
    done = refused(run, *command, f"{option}={value}")
    assert "expected seconds" in done.err
    assert repr(value) in done.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("produce", "-t", "orders", "-F", "/"), "-F /: this is a directory"),
        (("produce", "-t", "orders", "-F", "none"), "-F none: there is no such file"),
        (("produce", "-t", "orders", "-K", ""), "-K: the delimiter must not be empty"),
        (("produce", "-t", "orders", "-H", "=x"), "-H '=x': expected NAME=VALUE"),
        (("quotas", "set", "--user", "a", "consumer_byte_rate=nan"), "expected a number"),
        (("quotas", "unset", "--user", "a", "producer_rate"), "did you mean"),
        (("acls", "create", "--principal", "bob", "--allow", "read", "--topic", "t"), "User:alice"),
        (("acls", "delete", "--principal", "bob", "--yes"), "expected a principal"),
        (("acls", "list", "--principal", "bob"), "expected a principal"),
    ],
)
def test_an_argument_without_effect_is_refused(
    run: str, words: tuple[str, ...], expected: str
) -> None:
    assert expected in refused(run, *words).err


def test_no_file_is_written_if_another_one_is_missing(
    mock_cluster: MockCluster, run: str, tmp_path: Path
) -> None:
    (tmp_path / "good").write_text("value")
    refused(run, "produce", "-t", "orders", "-F", str(tmp_path / "good"), "-F", "none")
    assert sum(mock_cluster.end_offset("orders", each) for each in range(3)) == 1


def test_a_misspelt_key_is_not_said_to_be_unset(run: str) -> None:
    assert ottla_here("configs", "set", "topic", "orders", "retention.ms=7", "-b", run).code == 0
    words = ("configs", "unset", "topic", "orders", "retention.mss", "retention.ms", "-b", run)
    done = ottla_here(*words)
    assert (done.code, "retention.mss" in done.text) == (1, False)
    assert "has no key retention.mss; did you mean retention.ms?" in done.err
    assert "retention.ms" in done.text


def test_an_argument_cannot_control_the_terminal(run: str) -> None:
    hostile = "transaction.version=\x1b[2J\u202e"
    done = refused(run, "features", "update", hostile)
    assert "transaction.version=\\x1b[2J\\u202e" in done.err


def test_a_connection_that_may_have_no_tokens_is_told_how_to_log_in(run: str) -> None:
    done = ottla_here("tokens", "list", "-b", run)
    assert (done.code, done.out) == (1, b"")
    assert "use SASL, but not with a token, or TLS with a client certificate" in done.err


@pytest.mark.parametrize(
    ("words", "item", "cause", "remedy"),
    [
        (
            ("groups", "describe", "biling"),
            {"group_id": "biling"},
            "no such group",
            "use billing, or check the id: ottla groups list",
        ),
        (
            ("topics", "describe", "ordres"),
            {"topic": "ordres"},
            "the broker does not host this topic or partition",
            "use orders, or check the name: ottla topics list",
        ),
        (
            ("transactions", "describe", "--id", "unknown"),
            {"transactional_id": "unknown"},
            "no such transactional id",
            None,
        ),
    ],
)
def test_an_error_for_programs_names_the_item_the_cause_and_the_remedy(
    run: str, words: tuple[str, ...], item: dict[str, str], cause: str, remedy: str | None
) -> None:
    done = ottla_here(*words, "-b", run, "--json")
    error = json.loads(done.err)
    assert done.code == 1
    assert (item.items() <= error["item"].items(), error["cause"]) == (True, cause)
    assert error["remedy"] == remedy


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("topics", "list", "--config", "/"), "--config /: Is a directory"),
        (("users", "set-password", "a", "--password-file", "/none"), "/none: No such file"),
        (("groups", "reset", "billing", "--from-file", "/"), "--from-file /: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read(run: str, words: tuple[str, ...], message: str) -> None:
    done = refused(run, *words)
    assert message in done.err
    assert "Errno" not in done.err
