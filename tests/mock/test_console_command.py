"""``ottla console`` as a command: its address, its options, and what is missing."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from ottla.testing import MockCluster
from tests.support.command import ottla, ottla_here, running_command
from tests.unit.test_missing_extras import BLOCK

ADDRESS = re.compile(r"ottla console: (http://127\.0\.0\.1:(\d+)/\?token=([\w-]+))\n")
PLAIN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "SSH_CONNECTION": ""}


@contextmanager
def running(*arguments: str, env: Mapping[str, str] = PLAIN) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command, until Ctrl-C after the block; its first line of output is not read yet."""
    with running_command("console", *arguments, env=env) as process:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)


def output_of(process: subprocess.Popen[bytes]) -> tuple[str, str]:
    """Return the rest of what the command prints until it ends, and its errors."""
    out, errors = process.communicate(timeout=60)
    return out.decode(), errors.decode()


def address_of(process: subprocess.Popen[bytes]) -> tuple[str, int, str]:
    """Return the URL that the command prints, its port and its token."""
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    found = ADDRESS.fullmatch(line)
    assert found is not None, line
    return found[1], int(found[2]), found[3]


def fetch(port: int, token: str) -> bytes:
    request = Request(f"http://127.0.0.1:{port}/api/about")
    request.add_header("Authorization", f"Bearer {token}")
    with urlopen(request, timeout=30) as response:
        body: bytes = response.read()
        return body


def test_it_serves_until_ctrl_c(mock_cluster: MockCluster) -> None:
    with running(mock_cluster.bootstrap) as process:
        _, port, token = address_of(process)
        assert b'"kind":"client"' in fetch(port, token)
        # It follows the address: an earlier Ctrl-C would come before it.
        assert process.stderr is not None
        hint = process.stderr.readline().decode()
        assert "there is no display for a browser" in hint
        process.send_signal(signal.SIGINT)
        _, errors = output_of(process)
        assert process.returncode == 130
        # The token stays out of the log.
        assert token not in hint + errors


def test_it_explains_a_session_over_ssh(mock_cluster: MockCluster) -> None:
    environment = {**PLAIN, "SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 22"}
    with running(mock_cluster.bootstrap, "--for", "0.2", env=environment) as process:
        _, port, _ = address_of(process)
        _, errors = output_of(process)
        assert process.returncode == 0
        assert f"ssh -L {port}:127.0.0.1:{port} " in errors


def test_it_opens_the_browser(mock_cluster: MockCluster, tmp_path: Path) -> None:
    """By a page that leads to the address: everybody may read the arguments of a process."""
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1"\nf=${1#file://}\nstat -c %a "$f"\ncat "$f"\n')
    browser.chmod(0o755)
    environment = {**PLAIN, "DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    with running(mock_cluster.bootstrap, "--for", "0.5", env=environment) as process:
        url, _, token = address_of(process)
        out, errors = output_of(process)
        page, mode, content = out.splitlines()
        assert token not in page
        assert mode == "600"
        assert f"0;url={url}" in content
        assert not Path(page.removeprefix("file://")).exists()
        assert errors == ""
    arguments = [mock_cluster.bootstrap, "--for", "0.2"]
    with running(*arguments, "--no-browser", env=environment) as process:
        address_of(process)
        assert output_of(process) == ("", "")
    nothing = {**environment, "BROWSER": "", "PATH": "/nonexistent"}
    with running(*arguments, env=nothing) as process:
        address_of(process)
        _, errors = output_of(process)
        assert "no browser could be started" in errors


def test_a_taken_port_is_an_error(mock_cluster: MockCluster) -> None:
    with running(mock_cluster.bootstrap) as process:
        _, port, token = address_of(process)
        taken = ottla("console", mock_cluster.bootstrap, "--port", str(port))
        assert taken.code == 2
        assert f"cannot listen at 127.0.0.1:{port}" in taken.err
        assert "choose another port" in taken.err
        assert fetch(port, token)


def test_without_the_extra_it_names_it(mock_cluster: MockCluster) -> None:
    for package in ["starlette", "uvicorn"]:
        program = BLOCK.format(names={package}) + (
            f"from ottla.cli import main\nsys.exit(main(['console', '{mock_cluster.bootstrap}']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 2
        assert done.stderr == (
            f"ottla: ottla console needs {package}, which is not installed: "
            "pip install 'ottla[console]'\n"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "port: expected a number from 0 to 65535"),
        (["--host", "0.0.0.0", "--no-token"], "without a token the console listens on loopback"),
        (["--host", "no-such-host.invalid"], "cannot listen at no-such-host.invalid"),
        (["-X", "no.such.key=1"], "no.such.key"),
        (["--simulate"], "--simulate"),
        (["--tls-cert", "/no/such.pem"], "tls_cert: /no/such.pem cannot be read: No such file"),
        (["--tls-key", "key.pem"], "tls_key has no effect without tls_cert"),
    ],
)
def test_wrong_arguments(mock_cluster: MockCluster, arguments: list[str], message: str) -> None:
    found = ottla_here("console", mock_cluster.bootstrap, "--for", "1", *arguments)
    assert found.code == 2
    assert message in found.err


def test_an_address_for_other_machines_is_warned_about(mock_cluster: MockCluster) -> None:
    arguments = ["console", mock_cluster.bootstrap, "--no-browser", "--for", "0.2"]
    found = ottla_here(*arguments, "--host", "0.0.0.0")
    assert found.code == 0
    assert "without encryption" in found.err
    assert "ssh -L" in found.err
    assert "--tls-cert FILE, --tls-key FILE" in found.err
    assert "token=" not in found.err
    assert ottla_here(*arguments).err == ""


def test_an_unreachable_cluster_is_served(mock_cluster: MockCluster) -> None:
    with running("127.0.0.1:1", "--no-browser") as process:
        _, port, token = address_of(process)
        assert b'"kind":"client"' in fetch(port, token)


def test_secrets_of_the_command_are_in_no_command_to_copy(mock_cluster: MockCluster) -> None:
    mock_cluster.create_topic("orders", partitions=1)
    secret = ["-X", "sasl.password=secret", "-X", "client.id=console"]
    with running(mock_cluster.bootstrap, "--no-browser", *secret) as process:
        _, port, token = address_of(process)
        request = Request(f"http://127.0.0.1:{port}/api/messages?topic=orders")
        request.add_header("Authorization", f"Bearer {token}")
        with urlopen(request, timeout=30) as response:
            body = response.read().decode()
        assert f"ottla consume -b {mock_cluster.bootstrap} --topic=orders" in body
        assert "secret" not in body
