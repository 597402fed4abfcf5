"""Every command with `--json`, in success and in failure, against the JSON Schemas."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import ottla
from ottla.admin import Acl, SetPassword
from ottla.cli import build_parser, waiting
from ottla.cli.schema_files import names
from ottla.testing import Fault, MockCluster
from tests.mock.test_command_line_refusals import COMMANDS as REFUSED
from tests.mock.test_command_line_refusals import run as run_text
from tests.mock.test_command_line_tokens import config_file, secured
from tests.support.command import CommandResult, ottla_here
from tests.support.command_schemas import (
    COMPARISONS,
    SYSTEM_TESTS,
    check_lines,
    check_result,
    commands,
    name_of,
)
from tests.support.ports import free_ports

__all__ = ["secured"]  # a fixture

# The command, its arguments, and its exit code.
DONE = [
    ("acls list", "", 0),
    ("acls create", "--principal User:bob --allow read --topic orders", 0),
    ("acls create", "--principal User:bob --allow read --topic orders --dry-run", 0),
    ("acls delete", "--principal User:alice --yes", 0),
    ("acls delete", "--principal User:alice", 1),
    ("acls delete", "--principal User:nobody --yes", 0),
    ("brokers", "", 0),
    ("configs describe", "topic orders --all", 0),
    ("configs set", "topic orders retention.ms=5", 0),
    ("configs set", "topic orders retention.ms=5 --dry-run", 0),
    ("configs unset", "topic orders retention.ms", 0),
    ("configs diff", "topic orders orders2", 0),
    ("console", "--for 0.1 --no-browser", 0),
    ("consume", "-t orders -e", 0),
    ("doctor", "--timeout 5", 0),
    ("features list", "", 0),
    ("features update", "transaction.version=1 --downgrade safe", 1),
    ("features update", "transaction.version=1 --downgrade safe --yes", 0),
    ("gateway", "--listen 127.0.0.1:0 --for 0.1", 0),
    ("groups list", "", 0),
    ("groups describe", "billing", 0),
    ("groups lag", "", 0),
    ("groups lag", "billing", 0),
    ("groups lag", "billing --for 50ms", 0),
    ("groups offsets", "billing", 0),
    ("groups reset", "billing --to latest", 1),
    ("groups reset", "billing --to latest --yes", 0),
    ("groups reset", "billing --to earliest --yes", 0),
    ("groups delete-offsets", "billing orders", 1),
    ("groups delete-offsets", "billing orders --yes", 0),
    ("groups remove-members", "billing --all", 0),
    ("groups clone", "billing copy", 0),
    ("groups delete", "billing", 1),
    ("groups delete", "billing --yes", 0),
    ("offsets", "orders --at earliest", 0),
    ("produce", "-t orders", 0),
    ("quorum describe", "", 0),
    ("quotas list", "", 0),
    ("quotas set", "--user alice consumer_byte_rate=9", 0),
    ("quotas set", "--user alice consumer_byte_rate=9 --dry-run", 0),
    ("quotas unset", "--user alice consumer_byte_rate", 0),
    ("topics list", "--internal", 0),
    ("topics describe", "orders", 0),
    ("topics create", "new newer -p 2", 0),
    ("topics create", "new orders --if-not-exists", 0),
    ("topics create", "new --dry-run", 0),
    ("topics add-partitions", "orders --total 5", 0),
    ("topics add-partitions", "orders --total 5 --dry-run", 0),
    ("topics clone", "orders copy", 0),
    ("topics clone", "orders copy --dry-run", 0),
    ("topics delete-records", "orders --before latest", 1),
    ("topics delete-records", "orders --before latest --yes", 0),
    ("topics elect-leaders", "orders", 0),
    ("topics elect-leaders", "orders --dry-run", 0),
    ("topics elect-leaders", "orders:0 --unclean", 0),
    ("topics reassign", "orders --to 3,2 -r 2", 1),
    ("topics reassign", "orders --to 3,2 -r 2 --yes --wait", 0),
    ("topics reassignments", "", 0),
    ("topics delete", "orders", 1),
    ("topics delete", "orders --yes", 0),
    ("topics top", "orders --for 50ms", 0),
    ("topics top", "orders --for 50ms --by partition", 0),
    ("topics top", "orders --for 50ms --by broker", 0),
    ("topology", "", 0),
    ("topology", "-t orders", 0),
    ("dead-letters list", "orders --records", 0),
    ("dead-letters replay", "orders --to orders2", 1),
    ("dead-letters replay", "orders --to orders2 --dry-run", 0),
    ("dead-letters replay", "orders --to orders2 --yes", 0),
    ("transactions list", "", 0),
    ("transactions describe", "-t orders", 0),
    ("transactions abort", "-t orders -p 1 --start-offset 0", 1),
    ("transactions abort", "-t orders -p 1 --start-offset 0 --yes", 0),
    ("users list", "", 0),
    ("users set-password", "bob --password-file password", 0),
    ("users set-password", "bob --password-file password --dry-run", 0),
    ("users delete-password", "alice", 1),
    ("users delete-password", "alice --yes", 0),
    ("watch", "--group billing --rates --interval 0.1 --for 0.3", 0),
]
WITHOUT_CLUSTER = [
    ("completion", "bash", 0),
    ("gateway-users", "alice --password-file password", 0),
    ("profiles", "", 0),
    ("schema", "", 0),
]
FAILED = [
    ("acls create", "--principal User:bob --allow read", 2, "ConfigError"),
    ("configs set", "topic orders bogus=1", 1, "INVALID_CONFIG"),
    ("configs diff", "topic orders missing", 2, "UNKNOWN_TOPIC_OR_PARTITION"),
    ("consume", "-t orders -o bogus -e", 2, "ConfigError"),
    ("groups describe", "nobody", 1, "GROUP_ID_NOT_FOUND"),
    ("groups delete", "nobody billing --yes", 1, "GROUP_ID_NOT_FOUND"),
    ("groups lag", "nobody", 1, "GROUP_ID_NOT_FOUND"),
    ("produce", "-t orders -p 77 -X max.block.ms=300", 1, None),
    ("quorum add-voter", "4 --endpoint CONTROLLER://kafka4:9093", 2, "ConfigError"),
    ("quorum remove-voter", "4", 2, "ConfigError"),
    ("topics create", "new orders", 1, "TOPIC_ALREADY_EXISTS"),
    ("topics create", "new -r 9", 1, "INVALID_REPLICATION_FACTOR"),
    ("topics describe", "missing", 1, "UNKNOWN_TOPIC_OR_PARTITION"),
    ("topics delete", "", 2, "ConfigError"),
    ("topics top", "missing --for 50ms", 1, "UNKNOWN_TOPIC_OR_PARTITION"),
    ("transactions abort", "--id nobody --yes", 1, None),
]
SECRET = "a password"


@pytest.fixture
def cluster(
    mock_cluster: MockCluster, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> MockCluster:
    """A cluster with something of everything; broker 2 leads all partitions."""
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("billing", {(topic, 0): 0})
        admin.create_acls([Acl("topic", topic, "User:alice", "read")])
        admin.alter_user_scram_credentials({"alice": [SetPassword(SECRET)]})
    mock_cluster.create_topic("orders2", partitions=1)
    mock_cluster.append(topic, 0, [b"a record"])
    mock_cluster.append_in_transaction(topic, 1, 99, [b"hanging"])
    for partition in range(3):
        mock_cluster.move_leader(topic, partition, 2)
    (tmp_path / "password").write_text(SECRET)
    monkeypatch.chdir(tmp_path)
    return mock_cluster


def run(command: str, arguments: str, *more: str) -> CommandResult:
    words = [*command.split(), *shlex.split(arguments), *more, "--json"]
    return ottla_here(*words, stdin=b"one\ntwo\n")


def parsed(command: str, done: CommandResult, code: int) -> tuple[Any, list[Any]]:
    """Check the streams; of the commands that print lines, return the lines."""
    if command in {"consume", "watch"}:
        errors = check_result(command, CommandResult(done.code, b"", done.err), code)[1]
        return check_lines(command, done.text), errors
    return check_result(command, done, code)


@pytest.mark.parametrize(("command", "arguments", "code"), DONE)
def test_a_command_that_works(
    cluster: MockCluster, command: str, arguments: str, code: int
) -> None:
    done = run(command, arguments, "-b", cluster.bootstrap)
    document, errors = parsed(command, done, code)
    assert document is not None
    assert SECRET not in done.text + done.err
    if code:
        assert (document["applied"], document["results"]) == (False, [])
        assert document["plan"]
        assert [each["name"] for each in errors] == ["NotConfirmed"]
    elif isinstance(document, dict) and "applied" in document:
        assert document["applied"] == any(r["outcome"] == "done" for r in document["results"])


@pytest.mark.parametrize(("command", "arguments", "code"), WITHOUT_CLUSTER)
def test_a_command_without_a_cluster(
    command: str, arguments: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "password").write_text(SECRET)
    monkeypatch.chdir(tmp_path)
    done = run(command, arguments)
    document, _ = parsed(command, done, code)
    assert document is not None
    assert SECRET not in done.text + done.err


@pytest.mark.parametrize(("command", "arguments", "code", "name"), FAILED)
def test_a_command_that_fails(
    cluster: MockCluster, command: str, arguments: str, code: int, name: str | None
) -> None:
    document, errors = parsed(command, run(command, arguments, "-b", cluster.bootstrap), code)
    assert name in {errors[0]["name"], None}
    if document is not None and "results" in document:
        failures = [each["failure"] for each in document["results"] if each["failure"]]
        assert failures == errors


@pytest.mark.parametrize(("command", "api", "error"), REFUSED, ids=[each[0] for each in REFUSED])
def test_a_refusal(cluster: MockCluster, command: str, api: str, error: str) -> None:
    cluster.inject(Fault.error(error), api=api)
    done = run_text(f"{command} --json", cluster.bootstrap)
    cluster.clear_faults()
    _, errors = check_result(name_of(command.split()), done, 1)
    assert error in {each["name"] for each in errors}
    assert all(each["code"] for each in errors)


@pytest.mark.parametrize("name", [n for n, _ in commands(build_parser()) if n not in SYSTEM_TESTS])
def test_wrong_arguments(name: str) -> None:
    document, errors = check_result(name, ottla_here(*name.split(), "--nonsense", "--json"), 2)
    assert document is None
    assert [each["name"] for each in errors] == ["ArgumentError"]


@pytest.mark.parametrize(
    ("command", "arguments"),
    # An unreachable cluster is no error of the first three; a record waits for its own deadline.
    [each[:2] for each in DONE if each[0] not in {"console", "doctor", "gateway", "produce"}],
)
def test_a_cluster_that_is_not_there(cluster: MockCluster, command: str, arguments: str) -> None:
    [closed] = free_ports(1)
    time = "" if command != "watch" else "-X default.api.timeout.ms=500"
    done = run(command, f"{arguments} {time}", "-b", f"127.0.0.1:{closed}")
    document, errors = check_result(command, done, 2 if command in COMPARISONS else 1)
    assert document is None
    assert "refused" in errors[-1]["cause"]
    assert "ottla doctor" in errors[-1]["remedy"]


def test_every_command_is_tested() -> None:
    tested = {each for each, *_ in [*DONE, *WITHOUT_CLUSTER, *FAILED]}
    tested |= {f"tokens {each}" for each in ("create", "list", "renew", "expire")}
    # The registry's have a file of their own.
    described = {each for each in names() if not each.startswith("registry-")} - {"error"}
    assert {str(each).replace(" ", "-") for each in tested} == described


def test_tokens(secured: MockCluster, tmp_path: Path) -> None:
    def token(command: str, arguments: str, code: int = 0) -> tuple[Any, list[Any], str]:
        to = ("-b", secured.bootstrap, "--config", str(config_file(tmp_path)))
        done = run(f"tokens {command}", arguments, *to)
        return *check_result(f"tokens {command}", done, code), done.text + done.err

    planned, _, _ = token("create", "--dry-run")
    assert (planned["applied"], len(planned["plan"])) == (False, 1)
    created, _, _ = token("create", "--renewer User:bob")
    secret, token_id = created["hmac"], created["token_id"]
    listed, _, said = token("list", "")
    assert [each["token_id"] for each in listed] == [token_id]
    for command, arguments, code in [
        ("renew", f"{token_id} --dry-run", 0),
        ("renew", token_id, 0),
        ("expire", token_id, 1),
        ("expire", f"{token_id} --yes", 0),
        ("expire", f"{token_id} --yes", 1),
    ]:
        _, errors, more = token(command, arguments, code)
        said += more
    assert [each["name"] for each in errors] == ["DELEGATION_TOKEN_NOT_FOUND"]
    assert secret not in said


def test_items_are_named_by_their_nouns(cluster: MockCluster) -> None:
    def items(command: str, arguments: str) -> list[Any]:
        document, _ = parsed(command, run(command, arguments, "-b", cluster.bootstrap), 0)
        return [each["item"] for each in document["results"]]

    assert items("topics create", "new") == [{"topic": "new"}]
    assert items("topics delete-records", "orders:0 --before latest --yes") == [
        {"topic": "orders", "partition": 0}
    ]
    assert items("configs set", "topic orders retention.ms=5") == [
        {"resource_type": "topic", "resource_name": "orders"}
    ]
    assert items("quotas set", "--user alice consumer_byte_rate=9") == [
        {"user": "alice", "client_id": None, "ip": None}
    ]
    assert items("features update", "transaction.version=1 --downgrade safe --yes") == [
        {"feature": "transaction.version"}
    ]
    assert items("users delete-password", "alice --yes") == [{"user": "alice"}]
    assert items("groups delete", "billing --yes") == [{"group_id": "billing"}]
    [acl] = items("acls delete", "--principal User:alice --yes")
    assert (acl["resource_name"], acl["permission"]) == ("orders", "allow")


def test_an_unchanged_item_is_no_change(cluster: MockCluster) -> None:
    done = run("topics create", "orders --if-not-exists", "-b", cluster.bootstrap)
    document, _ = parsed("topics create", done, 0)
    assert document["applied"] is False
    assert [each["outcome"] for each in document["results"]] == ["unchanged"]


def test_records_that_are_not_written(cluster: MockCluster) -> None:
    cluster.inject(Fault.error("MESSAGE_TOO_LARGE"), api="Produce")
    document, errors = parsed("produce", run("produce", "-t orders", "-b", cluster.bootstrap), 1)
    counts = {"written_count": 0, "failed_count": 2, "unknown_count": 0}
    assert document == {"topic": "orders", **counts}
    assert [each["name"] for each in errors] == ["MESSAGE_TOO_LARGE"] * 2
    assert errors[0]["item"]["topic"] == "orders"


def test_records_that_cannot_be_decoded(cluster: MockCluster) -> None:
    done = run("consume", "-t orders -p 0 -e --value-as integer", "-b", cluster.bootstrap)
    [record], [error] = parsed("consume", done, 1)
    assert record["error"]
    assert error["item"] == {"topic": "orders", "partition": 0, "offset": 0}


def test_what_was_changed_is_printed_if_the_command_fails_later(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ottla.errors.TimeoutError("the wait took too long")

    monkeypatch.setattr("ottla.cli.topics.reassignments._wait", fail)
    arguments = "orders --to 3,2 -r 2 --yes --wait"
    document, errors = parsed(
        "topics reassign", run("topics reassign", arguments, "-b", cluster.bootstrap), 1
    )
    assert document["applied"] is True
    assert {each["outcome"] for each in document["results"]} == {"done"}
    assert [each["name"] for each in errors] == ["TimeoutError"]


def test_a_change_of_unknown_outcome(cluster: MockCluster) -> None:
    cluster.inject(Fault.error("REQUEST_TIMED_OUT"), api="DeleteTopics")
    done = run(
        "topics delete", "orders --yes -X default.api.timeout.ms=600", "-b", cluster.bootstrap
    )
    document, [error] = parsed("topics delete", done, 1)
    assert error["maybe_done"] is True
    assert [each["outcome"] for each in document["results"]] == ["unknown"]
    assert document["applied"] is True


def test_progress_and_warnings_are_json(
    cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SECONDS", 0.1)
    cluster.inject(Fault.delay(1.3), api="DescribeCluster", times=1)
    done = run("brokers", "", "-b", cluster.bootstrap)
    check_result("brokers", done, 0)
    assert done.err == ""
    messages = check_lines("error", done.waits)
    assert {each["severity"] for each in messages} == {"info"}
