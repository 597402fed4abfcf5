"""The command line with texts that have no encoding, odd terminals, and closed streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import ottla
from ottla.admin import Acl
from ottla.testing import MockCluster
from tests.support.command import CommandResult, command_result, ottla_here
from tests.support.jars import REPOSITORY

# How Python reads an argument's byte 0xFF.
BAD = "\udcff"
COMMANDS = [
    f"topology -t {BAD}",
    f"doctor --topic {BAD}",
    f"doctor --group {BAD}",
    f"produce -t {BAD}",
    f"produce -t orders -k {BAD}",
    f"produce -t orders -H a={BAD}",
    f"produce -t orders -H {BAD}=a",
    f"produce -t orders -z {BAD}",
    f"consume -t {BAD} -e",
    f"consume -t orders -e -G {BAD}",
    f"consume -t orders -e -o {BAD}",
    f"consume -t orders -e --where id={BAD}",
    f"consume -t orders -e -X client.id={BAD}",
    f"watch --for 0 -t {BAD}",
    f"watch --for 0 --group {BAD}",
    f"console --for 0 --no-browser --allow-host {BAD}",
    f"topics describe {BAD}",
    f"topics create {BAD}",
    f"topics create new --set-config a={BAD}",
    f"topics list --match {BAD}",
    f"topics delete {BAD} --yes",
    f"topics delete-records {BAD} --before latest --yes",
    f"offsets {BAD}",
    f"groups describe {BAD}",
    f"groups lag {BAD}",
    f"groups offsets {BAD}",
    f"groups reset {BAD} --to latest --yes",
    f"groups delete {BAD} --yes",
    f"configs describe topic {BAD}",
    f"configs set topic orders retention.ms={BAD}",
    f"configs unset topic orders {BAD}",
    f"features update {BAD}=1 --yes",
    f"acls create --principal User:{BAD} --allow read --topic t",
    f"acls list --topic {BAD}",
    f"users set-password {BAD} --password-file -",
    f"users delete-password {BAD} --yes",
    f"quotas set --user {BAD} consumer_byte_rate=9",
    f"transactions describe {BAD}",
    f"tokens create --owner User:{BAD}",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_argument_that_is_no_text_is_a_usage_error(
    mock_cluster: MockCluster, topic: str, command: str
) -> None:
    done = ottla_here(*command.split(), "-b", mock_cluster.bootstrap, stdin=b"")
    assert done.code == 2, done.err
    assert done.out == b""
    lines = done.err.splitlines()
    assert lines[-1].startswith("ottla"), done.err
    assert "argument" in lines[-1], done.err


def run(
    *arguments: str | bytes,
    env: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
    stdin: bytes = b"",
) -> CommandResult:
    """Run a command in a process of its own, prepared before it starts."""
    done = subprocess.run(
        [sys.executable, "-m", "ottla", *arguments],
        input=stdin,
        capture_output=True,
        cwd=REPOSITORY,
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
        preexec_fn=prepare,
    )
    return command_result(done.returncode, done.stdout, done.stderr.decode())


def test_bytes_that_are_no_text_reach_the_arguments_that_take_them(
    mock_cluster: MockCluster, single: str
) -> None:
    at = mock_cluster.bootstrap
    assert run("produce", at, "-t", single, "-K", b"\xff", stdin=b"k\xfe\xffv\n").code == 0
    done = run("consume", at, "-t", single, "-e", "-f", b"\xff%k%s", "--key", b"\xfe")
    assert (done.code, done.out) == (0, b"\xffk\xfev")
    done = run("produce", at, "-t", single, "-k", b"\xff")
    assert (done.code, done.err) == (2, "ottla: argument key: expected UTF-8\n")


def test_arguments_are_utf8_in_every_locale(mock_cluster: MockCluster) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    arguments = ["--principal", "User:Jürgen", "--allow", "read", "--topic", "t"]
    at = ["-b", mock_cluster.bootstrap]
    done = run("acls", "create", *arguments, *at, env=ascii_only)
    assert (done.code, done.err) == (0, "")
    assert "J\\xfcrgen" in done.text
    done = run("acls", "list", "--json", *at, env=ascii_only)
    assert done.code == 0, done.err
    assert [each["principal"] for each in json.loads(done.out)] == ["User:Jürgen"]


def test_names_that_a_terminal_cannot_show_are_escaped(
    mock_cluster: MockCluster, topic: str
) -> None:
    for group in ("plain", "grün", "群"):
        mock_cluster.commit(group, topic, 0, 0)
    at = ["-b", mock_cluster.bootstrap]
    for encoding, shown in {
        "latin-1": ["grün", "\\u7fa4"],
        "ascii": ["gr\\xfcn", "\\u7fa4"],
    }.items():
        done = run("groups", "list", *at, env={"PYTHONIOENCODING": encoding})
        assert done.code == 1
        assert all(name in done.out.decode("latin-1") for name in ["plain", *shown])
        assert "printed as an escape" in done.err
        done = run("groups", "list", "--json", *at, env={"PYTHONIOENCODING": encoding})
        assert (done.code, done.err) == (0, "")
        assert {each["group_id"] for each in json.loads(done.out)} == {"plain", "grün", "群"}
    done = run("groups", "list", *at, env={"PYTHONIOENCODING": "utf-8"})
    assert (done.code, done.err) == (0, "")


def test_marks_of_the_command_line_have_a_plain_form(mock_cluster: MockCluster) -> None:
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.create_acls([Acl("topic", "logs-", "User:a", "read", pattern_type="prefixed")])
    done = run("acls", "list", "-b", mock_cluster.bootstrap, env={"PYTHONIOENCODING": "ascii"})
    assert (done.code, done.err) == (0, "")
    assert "logs-..." in done.text


HALVES = [
    b'{"id":1,"s":"ok"}',
    b'{"id":2,"s":"cut \\ud83d"}',
    b'"\\ud83d"',
    b'{"id":4,"\\ude00":1}',
    b'{"id":5,"s":"fine"}',
]


@pytest.mark.parametrize("arguments", [["-e"], ["--last", "5"], ["-e", "-G", "billing"]])
def test_half_of_a_surrogate_pair_in_json_is_printed(
    mock_cluster: MockCluster, single: str, arguments: list[str]
) -> None:
    mock_cluster.append(single, 0, HALVES)
    command = ["consume", mock_cluster.bootstrap, "-t", single, "--value-as", "json", *arguments]
    done = ottla_here(*command)
    assert done.code == 1
    lines = done.text.splitlines()
    assert lines[2] == "\\ud83d"
    values = [json.loads(line) for n, line in enumerate(lines) if n != 2]
    assert values == [json.loads(value) for n, value in enumerate(HALVES) if n != 2]
    assert "3 characters printed as an escape" in done.err
    if "-G" in arguments:
        assert mock_cluster.committed("billing") == {(single, 0): 5}


def test_half_of_a_surrogate_pair_is_json_in_lines_of_json(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.append(single, 0, HALVES)
    command = ["consume", mock_cluster.bootstrap, "-t", single, "-e", "-J"]
    done = ottla_here(*command, "--value-as", "json")
    assert done.code == 1
    values = [json.loads(line)["value"] for line in done.text.splitlines()]
    assert values == list(map(json.loads, HALVES))
    # As text they are what they were: escapes.
    done = ottla_here(*command)
    assert done.code == 0
    texts = [json.loads(line)["value"] for line in done.text.splitlines()]
    assert texts == [value.decode() for value in HALVES]


def test_a_record_that_is_something_else_stops_no_other(
    mock_cluster: MockCluster, single: str
) -> None:
    mock_cluster.append(single, 0, [b"1", b"\xff", b"3"])
    command = ["consume", mock_cluster.bootstrap, "-t", single, "-e", "--value-as", "string"]
    for more in ([], ["-G", "billing"]):
        done = ottla_here(*command, *more)
        assert (done.code, done.text) == (1, "1\n3\n")
        assert "single-0 at offset 1: the value is not a valid string" in done.err
    assert mock_cluster.committed("billing") == {(single, 0): 3}
    done = ottla_here(*command, "-J")
    assert done.code == 1
    found = [json.loads(line) for line in done.text.splitlines()]
    assert [each["value"] for each in found] == ["1", "�", "3"]
    assert "not a valid string" in found[1]["error"]
    assert "error" not in found[2]


def _close(descriptor: int) -> Callable[[], None]:
    return lambda: os.close(descriptor)


def error_of(text: str) -> str:
    """The message of an error that is one line, of text or of JSON."""
    [line] = text.splitlines()
    message = json.loads(line)["message"] if line.startswith("{") else line.removeprefix("ottla: ")
    return str(message)


def test_closed_streams_are_errors_of_one_line(mock_cluster: MockCluster, single: str) -> None:
    at, to = ["-b", mock_cluster.bootstrap], ["-t", single]
    for command in (["topics", "list"], ["topics", "list", "--json"], ["consume", *to, "-e"]):
        mock_cluster.append(single, 0, [b"value"])
        done = run(*command, *at, prepare=_close(1))
        assert (done.code, error_of(done.err)) == (1, "standard output is closed")
    done = run("produce", *to, *at, prepare=_close(0))
    assert (done.code, done.err) == (1, "ottla: standard input is closed\n")
    # What needs no output needs no stream for it.
    assert run("produce", *to, *at, prepare=_close(1), stdin=b"value\n").code == 0


def test_messages_never_go_to_standard_output(mock_cluster: MockCluster, single: str) -> None:
    """Regression: with standard error closed, Python's `print` writes to standard output."""
    mock_cluster.append(single, 0, [b"1", b"\xff", b"3"])
    command = ["consume", mock_cluster.bootstrap, "-t", single, "-e", "--value-as", "string"]
    done = run(*command, prepare=_close(2))
    assert (done.code, done.out) == (1, b"1\n3\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /dev/full")
def test_a_full_disk_is_an_error_of_one_line(mock_cluster: MockCluster) -> None:
    def fill() -> None:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)

    for command in (["topics", "list", "--json"], ["topics", "list"]):
        done = run(*command, "-b", mock_cluster.bootstrap, prepare=fill)
        assert (done.code, error_of(done.err)) == (1, "No space left on device")


def test_escapes_of_a_properties_file_are_characters(
    mock_cluster: MockCluster, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("client.id=\\ud83d\\ude00\n")
    assert ottla_here("topics", "list", mock_cluster.bootstrap, "--config", str(file)).code == 0
    file.write_text("client.id=\\ud83d\n")
    done = ottla_here("topics", "list", mock_cluster.bootstrap, "--config", str(file))
    assert done.code == 2
    assert "half of a surrogate pair" in done.err


def test_a_password_that_is_no_text_is_not_shown(mock_cluster: MockCluster) -> None:
    arguments = ["users", "set-password", "alice", "--password-file", "-"]
    done = ottla_here(*arguments, "-b", mock_cluster.bootstrap, stdin=b"secret\xff\n")
    assert (done.code, done.err) == (2, "ottla: --password-file -: the password is not UTF-8\n")
