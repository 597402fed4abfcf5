"""``ottla acls``, ``users`` and ``quotas``: on the mock and on Kafka."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.cluster.conftest import Brokers, controllers_of
from tests.cluster.test_admin_users import brokers
from tests.cluster.test_command_line_topics import lines, run, run_well
from tests.support.command import ottla_here
from tests.support.kafka_admin import wait_until
from tests.support.kafka_cluster import KafkaCluster

__all__ = ["brokers"]


def test_acls(brokers: Brokers) -> None:
    entry = ("--topic", "orders", "--principal", "User:alice", "--allow", "read,describe")
    planned = run_well(brokers, "acls", "create", *entry, "--dry-run")
    assert planned == (
        "create ACL: allow User:alice to read topic orders from *\n"
        "create ACL: allow User:alice to describe topic orders from *\n"
    )
    assert json.loads(run_well(brokers, "acls", "list", "--json")) == []
    run_well(brokers, "acls", "create", *entry)
    prefixed = ("--group", "team-", "--principal", "User:bob", "--deny", "all", "--prefixed")
    assert run_well(brokers, "acls", "create", *prefixed).startswith("created: deny User:bob")

    def listed(*arguments: str) -> int:
        return len(json.loads(run_well(brokers, "acls", "list", *arguments, "--json")))

    wait_until(lambda: listed() == 3, lambda: "the entries are there")
    table = lines(run_well(brokers, "acls", "list"))
    assert ["User:bob", "deny", "all", "group", "team-…", "*"] in table
    assert listed("--topic", "orders") == 2
    assert listed("--group", "team-7") == 0
    assert listed("--group", "team-7", "--affecting") == 1
    assert listed("--principal", "User:alice", "--operation", "read") == 1

    shown = run(brokers, "acls", "delete", "--principal", "User:alice")
    assert (shown.code, len(shown.text.splitlines())) == (1, 2)
    assert listed() == 3
    deleted = run_well(brokers, "acls", "delete", "--principal", "User:alice", "--yes")
    assert len(deleted.splitlines()) == 2
    wait_until(lambda: listed() == 1, lambda: "entries are gone")
    run_well(brokers, "acls", "delete", "--all", "--yes")
    wait_until(lambda: listed() == 0, lambda: "all entries are gone")
    assert run_well(brokers, "acls", "delete", "--all", "--yes") == "nothing to change\n"
    for arguments, message in (
        (("create", "--principal", "User:a", "--allow", "read"), "name the resource, such as"),
        (("create", *entry[:4], "--allow", "reed"), "operation is 'reed'"),
        (("delete",), "name the entries to delete"),
        (("delete", "--all", "--topic", "orders"), "name the entries to delete"),
        (("list", "--affecting"), "name a resource"),
    ):
        done = run(brokers, "acls", *arguments)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err


@pytest.mark.cluster
def test_acls_over_controllers(authorizing_kafka: KafkaCluster) -> None:
    """Also when no broker runs, the controllers keep the entries."""
    where = ("--bootstrap-controller", controllers_of(authorizing_kafka))

    def run_directly(*arguments: str) -> str:
        done = ottla_here("acls", *arguments, *where)
        assert (done.code, done.err) == (0, "")
        return done.text

    entry = ("--topic", "payments", "--principal", "User:carol", "--allow", "read")
    planned = run_directly("create", *entry, "--dry-run")
    assert planned == "create ACL: allow User:carol to read topic payments from *\n"
    run_directly("create", *entry)
    mine = ("--principal", "User:carol")
    over_brokers = ("acls", "list", *mine, "--json", "-b", authorizing_kafka.bootstrap)

    def listed() -> tuple[int, int]:
        """Return how many entries controllers and brokers list."""
        direct = json.loads(run_directly("list", *mine, "--json"))
        return len(direct), len(json.loads(ottla_here(*over_brokers).text))

    wait_until(lambda: listed() == (1, 1), lambda: "the entry is there")
    shown = ottla_here("acls", "delete", *mine, *where)
    assert (shown.code, shown.err) == (1, "ottla: nothing was changed; repeat with --yes\n")
    assert "delete ACL: allow User:carol to read topic payments" in shown.text
    run_directly("delete", *mine, "--yes")
    wait_until(lambda: listed() == (0, 0), lambda: "the entry is gone")


def test_users(brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    file.write_text("a secret\nrest")
    password = ("users", "set-password", "alice")
    shown = run(brokers, *password, "--password-file", str(file), "--dry-run")
    creation = "create password of alice: SCRAM-SHA-512 (none -> 4096 iterations)\n"
    assert (shown.code, shown.text) == (0, creation)
    assert "alice" not in run_well(brokers, "users", "list")
    text = run_well(brokers, *password, "--password-file", str(file), "--iterations", "8192")
    assert text == "set the password of alice (SCRAM-SHA-512)\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"another\n")))
    run_well(brokers, *password, "--password-file", "-", "--mechanism", "SCRAM-SHA-256")

    def listed() -> list[list[str]]:
        return lines(run_well(brokers, "users", "list"))

    rows = [["alice", "SCRAM-SHA-256", "4096"], ["alice", "SCRAM-SHA-512", "8192"]]
    wait_until(lambda: all(row in listed() for row in rows), lambda: "passwords are listed")
    delete = ("users", "delete-password", "alice")
    shown = run(brokers, *delete, "--mechanism", "SCRAM-SHA-256")
    deletion = "delete password of alice: SCRAM-SHA-256 (4096 iterations -> none)\n"
    assert (shown.code, shown.text) == (1, deletion)
    run_well(brokers, *delete, "--mechanism", "SCRAM-SHA-256", "--yes")
    wait_until(lambda: rows[0] not in listed(), lambda: "the password is gone")
    assert rows[1] in listed()
    run_well(brokers, *delete, "--yes")
    wait_until(lambda: rows[1] not in listed(), lambda: "the password is gone")
    file.write_text("")
    for arguments, code, message in (
        ((*password, "--password-file", str(file)), 2, "the password is empty"),
        ((*password, "--password-file", str(tmp_path / "none")), 2, "none"),
        (password, 2, "no terminal to ask"),
        ((*delete, "--yes"), 1, "RESOURCE_NOT_FOUND"),
    ):
        done = run(brokers, *arguments)
        assert (done.code, done.out) == (code, b"")
        assert message in done.err
        assert "secret" not in done.err


def test_quotas(brokers: Brokers) -> None:
    limit = ("quotas", "set", "--user", "alice", "--client-id", "reports")
    planned = run_well(brokers, *limit, "consumer_byte_rate=1000000", "--dry-run")
    name = "user alice, client-id reports"
    assert planned == f"alter quota of {name}: consumer_byte_rate (none -> 1000000)\n"
    assert run_well(brokers, "quotas", "list").endswith("no quotas\n")
    run_well(brokers, *limit, "consumer_byte_rate=1000000")
    run_well(brokers, "quotas", "set", "--user", "default", "request_percentage=12.5")

    def listed(*arguments: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(
            run_well(brokers, "quotas", "list", *arguments, "--json")
        )
        return found

    wait_until(lambda: len(listed()) == 2, lambda: "quotas are listed")
    assert listed("--user", "default") == [
        {"user": "", "client_id": None, "ip": None, "quotas": {"request_percentage": 12.5}}
    ]
    assert "1000000" in run_well(brokers, "quotas", "list")
    run_well(brokers, "quotas", "unset", *limit[2:], "consumer_byte_rate")
    run_well(brokers, "quotas", "unset", "--user", "default", "request_percentage")
    wait_until(lambda: not listed(), lambda: "no quotas are left")
    for arguments, message in (
        (("set", "consumer_byte_rate=1"), "give the owner of the quota"),
        (("set", "--user", "a", "consumer_byte_rate=much"), "expected a number"),
        (("set", "--user", "a", "consumer_byte_rate"), "expected QUOTA=NUMBER"),
        (("set", "--user", "a", "--ip", "127.0.0.1", "x=1"), "a quota is for"),
    ):
        done = run(brokers, "quotas", *arguments)
        assert (done.code, done.out) == (2, b"")
        assert message in done.err
    done = run(brokers, "quotas", "set", "--user", "a", "no_such_quota=1")
    assert (done.code, done.out) == (1, b"")
    assert "no_such_quota" in done.err
