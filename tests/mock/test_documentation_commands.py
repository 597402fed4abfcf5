"""Every command line of README.md and the documentation: parsed by the real parser, and run.

A line runs as it is printed, in bash, on the mock cluster, unless it ends only by Ctrl-C or needs a
secured listener: of these the arguments, and the configuration that they make, are checked. A
console and a gateway run for a moment.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ottla
from ottla._internal.extras import PACKAGES
from ottla.admin import SetPassword
from ottla.cli import build_parser
from ottla.cli.options import configuration
from ottla.testing import MockCluster, MockRegistry
from tests.security.certificates import Authority
from tests.support.command import ottla_here
from tests.support.jars import REPOSITORY
from tests.support.payments import create_payments
from tests.support.snippets import Snippet, snippets

LINES = [
    (snippet, line)
    for snippet in snippets("sh")
    for line in snippet.text.splitlines()
    if line.strip()
]
COMMANDS = [
    (snippet, line)
    for snippet, line in LINES
    if line.startswith("ottla ") and not snippet.of_tutorial
]
# The one of the documentation.
TOKEN = "bLvCGj8iQFSM4WPUZ0wVxA"
# Of a gateway's users file, with keys of zeros.
KEYS = {
    name: f"{name} = salt=c2FsdA==,stored_key={key},server_key={key}"
    for name, key in [("SCRAM-SHA-256", "A" * 43 + "="), ("SCRAM-SHA-512", "A" * 86 + "==")]
}
# The files of INI in the documentation.
PROFILES, USERS = ("docs/reference/cli.md", 0), ("docs/guides/gateway.md", 0)
SERVER = Authority("documentation").issue("gateway", ["*.kafka.example.com"])
LAST_ARGUMENT = re.compile(r"[|<>]")
# Built once: every worker of pytest parses every line to collect the tests.
PARSER = build_parser()


def arguments_of(line: str) -> argparse.Namespace:
    """Parse the line's command, without its comment and what comes after a pipe."""
    words = shlex.split(line, comments=True)
    ends = [index for index, word in enumerate(words) if LAST_ARGUMENT.fullmatch(word)]
    return PARSER.parse_args(words[1 : ends[0] if ends else None])


def command_of(line: str) -> str:
    """The name of the line's command, which may stand behind a profile."""
    return re.sub(r"--profile \S+ ", "", line).split()[1]


def ends_by_itself(line: str) -> bool:
    """Whether the command ends within seconds on a cluster that is well."""
    arguments = arguments_of(line)
    command = command_of(line)
    if command == "consume":
        return arguments.exit or arguments.count is not None or arguments.last is not None
    if command == "watch":
        return arguments.seconds is not None
    return True


def ending(line: str) -> str:
    """The line of a command that serves, so that it ends and takes a port that is free."""
    command = re.sub(r"--port \d+", "--port 0", line.partition("  #")[0])
    if command_of(line) == "gateway":
        command = re.sub(r"--listen \S+", "", command)
        return f"{command} --listen 127.0.0.1:0 --for 0.3"
    return f"{command} --for 0.3 --no-browser"


def may_print_nothing(line: str) -> bool:
    """Whether the command writes elsewhere, or only what a filter keeps."""
    return bool(re.search(r"\| jq| produce | > |--key |--where ", line))


def is_secured(line: str) -> bool:
    """Whether the line needs a listener that the mock does not have."""
    return "security.protocol" in line


def needs_kafka(line: str) -> bool:
    """Whether the line needs controllers, or a quorum that can change, which the mock has not."""
    return "-voter" in line or "--bootstrap-controller" in line


def runs(line: str) -> bool:
    """Whether the line runs here."""
    return ends_by_itself(line) and not is_secured(line) and not needs_kafka(line)


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiles `default`, `prod` and `staging`, for lines without an address."""
    file = tmp_path / "profiles.ini"
    servers = f"bootstrap.servers = {mock_cluster.bootstrap}"
    names = ("default", "prod", "staging")
    sections = "".join(f"[{name}]\n{servers}\n" for name in names)
    file.write_text(sections, encoding="utf-8")
    monkeypatch.setenv("OTTLA_PROFILES", str(file))


@pytest.fixture
def directory(tmp_path: Path, mock_cluster: MockCluster) -> Iterator[Path]:
    """Where the lines run: the files that they name, and an `ottla` on the path.

    In the topic, a transaction of billing-1 is open, and another one hangs. The group billing has
    committed offsets, and alice has a password.
    """
    files = {
        "lines.txt": "a:1\nb:2\n",
        "payments.json": '{"id": 4, "amount": "9.95", "customer": {"name": "Zoe"}}\n',
        "a.png": "image a",
        "b.png": "image b",
        "client.properties": f"bootstrap.servers={mock_cluster.bootstrap}\n",
        "password.txt": "a password\n",
        "users.ini": f"[alice]\n{KEYS['SCRAM-SHA-256']},iterations=4096\n",
        "chain.pem": SERVER.certificate,
        "key.pem": SERVER.key(),
        "bin/ottla": f'#!/bin/sh\nexec "{sys.executable}" -m ottla "$@"\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "bin" / "ottla").chmod(0o755)
    mock_cluster.create_topic("orders", partitions=3)
    mock_cluster.create_topic("orders.dead-letters", partitions=1)
    for partition in range(3):
        mock_cluster.append("orders", partition, [b"%d" % n for n in range(100)])
    mock_cluster.append_in_transaction("orders", 2, 99, [b"hanging"])
    with ottla.Admin(mock_cluster.bootstrap) as admin:
        admin.alter_group_offsets("billing", {("orders", 0): 5, ("orders", 2): 7})
        admin.alter_user_scram_credentials({"alice": [SetPassword("a password")]})
    producer = ottla.Producer(mock_cluster.bootstrap, transactional_id="billing-1")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("orders", b"open", partition=1).result(timeout=10)
    yield tmp_path
    # The command may have fenced it.
    with contextlib.suppress(ottla.errors.FencedError):
        producer.close()


@pytest.fixture
def token(tmp_path: Path) -> Iterator[str]:
    """The id of a token of alice, who logs in with the profile `prod`."""
    with MockCluster(users={"alice": "a password"}) as secured:
        login = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": "alice",
            "sasl.password": "a password",
        }
        keys = [f"bootstrap.servers = {secured.bootstrap}"]
        keys += [f"{key} = {value}" for key, value in login.items()]
        file = tmp_path / "profiles.ini"
        file.write_text("\n".join(["[prod]", *keys, ""]), encoding="utf-8")
        file.chmod(0o600)
        with ottla.Admin(secured.bootstrap, login) as admin:
            yield admin.create_delegation_token().token_id


@pytest.mark.parametrize("line", [line for _, line in COMMANDS], ids=command_of)
def test_a_command_is_as_its_parser_wants_it(line: str, tmp_path: Path) -> None:
    arguments = arguments_of(line)
    command = command_of(line).replace("-", "_").replace("profiles", "profile_list")
    # A command with subcommands is a package.
    assert command in arguments.run.__module__.removeprefix("ottla.cli.").split(".")
    if hasattr(arguments, "settings") and arguments.config is None:
        config = {key: value for key, value in configuration(arguments).items() if "." in key}
        # The file that it names is not there.
        assert config.pop("ssl.truststore.location", None) in (None, "ca.pem")
        with ottla.Client(config=config, connect=False):
            pass


@pytest.mark.parametrize(
    ("snippet", "line"),
    [(s, line) for s, line in COMMANDS if runs(line)],
    ids=lambda value: value.id if isinstance(value, Snippet) else command_of(value),
)
def test_a_command_runs_as_printed(
    snippet: Snippet,
    line: str,
    mock_cluster: MockCluster,
    mock_registry: MockRegistry,
    directory: Path,
    request: pytest.FixtureRequest,
) -> None:
    if "payments" in line:
        create_payments(mock_cluster, mock_registry)
    if command_of(line) == "tokens":
        line = line.replace(TOKEN, request.getfixturevalue("token"))
    if shutil.which("jq") is None:
        # It belongs to the reader's machine; what it would read has to be there all the same.
        line = line.replace("| jq", "| grep -o under_replicated #")
    if command_of(line) in {"console", "gateway"}:
        line = ending(line)
    printed = Snippet(snippet.page, "sh", 0, 1, line)
    text = printed.text_for(mock_cluster.bootstrap, directory, mock_registry.url)
    path = os.pathsep.join((str(directory / "bin"), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=directory,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    if not may_print_nothing(line):
        assert done.stdout
    assert b"Traceback" not in done.stderr


def test_each_ini_file_is_checked() -> None:
    assert {snippet.key for snippet in snippets("ini")} == {PROFILES, USERS}


def test_files_of_profiles_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [snippet] = [each for each in snippets("ini") if each.key == PROFILES]
    file = tmp_path / "as-printed.ini"
    file.write_text(snippet.text, encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("OTTLA_PROFILES", str(file))
    for profile in ("default", "prod"):
        arguments = PARSER.parse_args(["--profile", profile, "topics", "list"])
        with ottla.Client(config=configuration(arguments), connect=False):
            pass


def test_a_gateway_accepts_the_users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [snippet] = [each for each in snippets("ini") if each.key == USERS]
    text = snippet.text
    for name, keys in KEYS.items():
        text = text.replace(f"{name} = salt=...,stored_key=...,server_key=...", keys)
    monkeypatch.setenv("ORDERS_PASSWORD", "a password")
    file = tmp_path / "users.ini"
    file.write_text(text, encoding="utf-8")
    login = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512"]
    login += ["sasl.username=gateway", "sasl.password=a password"]
    options = ["--listen", "127.0.0.1:0", "--for", "0", *(f"-X{each}" for each in login)]
    with MockCluster(users={"gateway": "a password"}) as cluster:
        done = ottla_here("gateway", cluster.bootstrap, *options, "--users", str(file))
    assert (done.code, done.err) == (0, "")


def test_other_lines_are_targets_of_make() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for snippet, line in LINES:
        command, *words = shlex.split(line, comments=True)
        if command == "ottla":
            continue
        if command == "pip":
            install, package = words
            assert install == "install"
            assert package in {"ottla", *(f"ottla[{extra}]" for extra in PACKAGES)}
            continue
        assert command == "make", f"{snippet.page}:{snippet.line}: nothing checks {line!r}"
        targets = [word for word in words if "=" not in word]
        for target in targets:
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_hardly_any_line_is_only_parsed() -> None:
    parsed = [line for _, line in COMMANDS if not runs(line)]
    assert len(COMMANDS) >= 18
    assert len(parsed) <= 9, parsed
