"""Completion in real shells: bash, zsh and fish run the script that `ottla completion` prints."""

from __future__ import annotations

import os
import pty
import re
import select
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.testing import MockCluster, MockRegistry
from tests.support.command import ottla_here

SHELLS = ["bash", "zsh", "fish"]
SECRET = "not for others"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, with `ottla` in the path."""
    program = tmp_path / "bin" / "ottla"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ottla "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    # A busy machine starts Python in more than the second that a prompt waits for.
    monkeypatch.setenv("OTTLA_COMPLETION_TIMEOUT", "30")
    for name in ("OTTLA_PROFILE", "OTTLA_PROFILES"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def cluster(mock_cluster: MockCluster) -> MockCluster:
    """A cluster with topics and a group."""
    for name in ("orders", "orders.dlq", "payments"):
        mock_cluster.create_topic(name, partitions=3)
    mock_cluster.commit("billing", "orders", 0, 0)
    return mock_cluster


@pytest.fixture
def script(home: Path, request: pytest.FixtureRequest) -> Path:
    """The script of the shell that the test is for."""
    return write_script(home, request.node.callspec.params["shell"])


def write_script(home: Path, shell: str) -> Path:
    """Write the script of a shell."""
    done = ottla_here("completion", shell)
    assert (done.code, done.err) == (0, "")
    file = home / f"ottla.{shell}"
    file.write_text(done.text)
    return file


def in_bash(home: Path, line: str) -> list[str]:
    """Return what bash would complete at the end of a line; nothing may be printed."""
    text = (
        'source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; _python_argcomplete ottla; '
        r'(( ${#COMPREPLY[@]} )) && printf "%s\n" "${COMPREPLY[@]}"; true'
    )
    script = home / "ottla.bash"
    if not script.exists():
        write_script(home, "bash")
    done = subprocess.run(
        ["bash", "-c", text, "_", str(script), line],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return [each.strip() for each in done.stdout.splitlines()]


@contextmanager
def terminal(*command: str) -> Iterator[int]:
    """Run a shell on a terminal, and yield the terminal's descriptor."""
    descriptor, of_shell = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        command,
        stdin=of_shell,
        stdout=of_shell,
        stderr=of_shell,
        env=environment,
        start_new_session=True,
    ) as shell:
        os.close(of_shell)
        try:
            yield descriptor
        finally:
            shell.kill()
            os.close(descriptor)


def read_until(terminal: int, pattern: str) -> str:
    """Return the terminal's output when it matches a pattern."""
    shown, deadline = "", time.monotonic() + 30
    while not re.search(pattern, shown):
        ready, _, _ = select.select([terminal], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"{pattern} is not in {shown!r}"
        shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_a_name(cluster: MockCluster, shell: str, script: Path) -> None:
    line = f"ottla topics describe -b {cluster.bootstrap} pay"
    if shell == "fish":
        program = f"source {script}; complete -C '{line}'"
        done = subprocess.run(
            ["fish", "-c", program], capture_output=True, text=True, check=True, timeout=60
        )
        assert (done.stdout.split(), done.stderr) == (["payments"], "")
        return
    options = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    begin = "" if shell == "bash" else "autoload -U compinit; compinit -u -D; "
    with terminal(shell, *options) as screen:
        os.write(screen, f"{begin}source {script}; echo rea''dy\n".encode())
        read_until(screen, r"ready\r?\n")
        os.write(screen, f"{line}\t".encode())
        shown = read_until(screen, "ments")
        assert "ottla:" not in shown


def test_tcsh_has_a_script() -> None:
    done = ottla_here("completion", "tcsh")
    assert (done.code, done.err) == (0, "")
    assert "ottla" in done.text


def test_commands_and_options(home: Path) -> None:
    assert in_bash(home, "ottla top") == ["topology", "topics"]
    assert "delete-records" in in_bash(home, "ottla topics de")
    assert in_bash(home, "ottla topics create --if") == ["--if-not-exists"]


def test_names_of_each_kind(cluster: MockCluster, home: Path) -> None:
    b = f"-b {cluster.bootstrap}"
    assert in_bash(home, f"ottla consume {cluster.bootstrap} -t ord") == ["orders", "orders.dlq"]
    assert in_bash(home, f"ottla consume {b} -t orders -p ") == ["0", "1", "2"]
    # bash splits words at colons, so that the script returns what follows them.
    assert in_bash(home, f"ottla topics delete-records {b} orders:") == ["0", "1", "2"]
    assert in_bash(home, f"ottla groups lag {b} ") == ["billing"]
    assert in_bash(home, f"ottla configs describe {b} broker ") == ["1", "2", "3", "default"]
    keys = ["retention.bytes", "retention.ms"]
    assert in_bash(home, f"ottla configs unset {b} topic orders retention.") == keys
    assert in_bash(home, f"ottla topics create x {b} -c retention.m") == ["retention.ms="]
    assert in_bash(home, f"ottla topics reassign {b} orders --to 1,") == ["1,2", "1,3"]


def test_the_cluster_of_a_profile_and_of_a_file(cluster: MockCluster, home: Path) -> None:
    profiles = home / "config" / "ottla" / "profiles.ini"
    profiles.parent.mkdir(parents=True)
    # Others can read it, which a command warns about.
    profiles.write_text(
        f"[prod]\nbootstrap.servers={cluster.bootstrap}\nsasl.password={SECRET}\n[test]\n"
    )
    (home / "client.properties").write_text(f"bootstrap.servers={cluster.bootstrap}\n")
    assert in_bash(home, "ottla --profile ") == ["prod", "test"]
    assert in_bash(home, "ottla console --profile prod --profile ") == ["prod", "test"]
    assert in_bash(home, "ottla --profile prod topics describe pay") == ["payments"]
    assert in_bash(home, "ottla topics describe --profile prod pay") == ["payments"]
    config = home / "client.properties"
    assert in_bash(home, f"ottla topics describe --config {config} pay") == ["payments"]
    assert in_bash(home, f"ottla topics describe -X bootstrap.servers={cluster.bootstrap} p") == [
        "payments"
    ]
    files = list((home / "cache" / "ottla" / "completion").iterdir())
    assert files
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert SECRET not in file.read_text()
    assert stat.S_IMODE(files[0].parent.stat().st_mode) == 0o700


def test_old_names_while_the_cluster_does_not_respond(home: Path) -> None:
    with MockCluster() as cluster:
        cluster.create_topic("payments")
        line = f"ottla topics describe -b {cluster.bootstrap} p"
        assert in_bash(home, line) == ["payments"]
    [file] = (home / "cache" / "ottla" / "completion").iterdir()
    hour_ago = time.time() - 3600
    os.utime(file, (hour_ago, hour_ago))
    assert in_bash(home, line) == ["payments"]
    days_ago = time.time() - 3 * 86400
    os.utime(file, (days_ago, days_ago))
    assert in_bash(home, line) == []


@pytest.mark.parametrize("seconds", [None, "0.5", "soon"])
def test_a_broker_that_never_responds(
    home: Path, monkeypatch: pytest.MonkeyPatch, seconds: str | None
) -> None:
    if seconds is None:
        monkeypatch.delenv("OTTLA_COMPLETION_TIMEOUT")
    else:
        monkeypatch.setenv("OTTLA_COMPLETION_TIMEOUT", seconds)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        started = time.monotonic()
        assert in_bash(home, f"ottla topics describe -b {address} p") == []
        # A second, and the start of two processes on a busy machine. A client waits for 60 s.
        assert time.monotonic() - started < 20


def test_arguments_that_no_command_would_accept(home: Path) -> None:
    for line in (
        "ottla topics describe --profile gone o",
        "ottla topics describe -X nonsense o",
        "ottla consume -b 127.0.0.1:1 -p ",
        "ottla nonsense o",
        "ottla 'topics",
    ):
        in_bash(home, line)


def test_subjects_are_those_of_the_registry(home: Path, mock_registry: MockRegistry) -> None:
    for subject in ("orders-value", "orders-key", "views-value"):
        mock_registry.register(subject, '"int"')
    line = f"ottla registry show --schema-registry {mock_registry.url} or"
    assert in_bash(home, line) == ["orders-key", "orders-value"]
    # Without a registry there is nothing to ask, and nothing to show.
    assert in_bash(home, "ottla registry show or") == []
